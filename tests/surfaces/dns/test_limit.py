"""Token buckets for prefixes."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.surfaces.dns.limit import RateLimit, prefix_of


def test_a_burst_then_the_rate() -> None:
    limit = RateLimit(rate=10, burst=5)
    assert [limit.permit("a", 100.0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [limit.permit("a", 100.15) for _ in range(2)] == [True, False]
    assert [limit.permit("a", 200.0) for _ in range(7)] == [True] * 5 + [False] * 2


def test_prefixes_do_not_share() -> None:
    limit = RateLimit(rate=1, burst=1)
    assert limit.permit("a", 1.0)
    assert limit.permit("b", 1.0)
    assert not limit.permit("a", 1.0)


def test_what_was_heard_longest_ago_is_forgotten() -> None:
    limit = RateLimit(rate=1, burst=1, prefixes=2)
    assert all(limit.permit(prefix, 1.0) for prefix in "ab")
    assert not limit.permit("a", 1.0)
    assert limit.permit("c", 1.0)
    assert not limit.permit("a", 1.0)
    assert limit.permit("b", 1.0)


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 20), st.integers(1, 10))
def test_never_more_than_burst_and_rate_allow(steps: list[int], rate: int, burst: int) -> None:
    limit = RateLimit(rate=rate, burst=burst)
    now, permitted = 0.0, 0
    for step in steps:
        now += step / 16
        permitted += limit.permit("a", now)
    assert permitted <= burst + now * rate + 1e-6


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_loopback_has_no_prefix(peer: str) -> None:
    assert prefix_of(peer) is None


@given(st.ip_addresses(v=4), st.integers(0, 255))
def test_ipv4_by_24(address: object, last: int) -> None:
    peer = str(address)
    assert prefix_of(peer) == prefix_of(f"::ffff:{peer}") == prefix_of(f"{peer.rpartition('.')[0]}.{last}")


def test_ipv6_by_56() -> None:
    assert prefix_of("2001:db8:0:ff::1") == prefix_of("2001:db8::2")
    assert prefix_of("2001:db8:0:100::1") != prefix_of("2001:db8::2")
    assert prefix_of("fe80::1%eth0") == prefix_of(str(ip_address("fe80::2")))
