from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from tenure.surfaces.dhcp.frames import checksum, frame

addresses = st.integers(0, 2**32 - 1)


@given(st.binary(max_size=1472), addresses, addresses)
def test_scapy_makes_the_same_frame(payload: bytes, source: int, destination: int) -> None:
    ours = frame(payload, hardware=(b"\x02" * 6, b"\x04" * 6), addresses=(source, destination), ports=(67, 68))
    theirs = (
        Ether(src="02:02:02:02:02:02", dst="04:04:04:04:04:04")
        / IP(src=_dotted(source), dst=_dotted(destination), id=0, flags="DF")
        / UDP(sport=67, dport=68)
        / Raw(payload)
    )
    assert ours == bytes(theirs)


@given(st.binary(max_size=100).filter(lambda octets: len(octets) % 2 == 0))
def test_octets_with_their_checksum_sum_to_nothing(octets: bytes) -> None:
    assert checksum(octets + checksum(octets).to_bytes(2)) == 0


def _dotted(address: int) -> str:
    return ".".join(str(octet) for octet in address.to_bytes(4))
