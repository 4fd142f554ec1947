"""Whatever data is accepted, BIND, Knot, NSD and PowerDNS load a zone with it."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.model.policy import RecordType
from tenure.naming import bindings, rdata

ZONE: Final = "z.test."
HEAD: Final = f"{ZONE} 300 IN SOA a. b. 1 2 3 4 5\n{ZONE} 300 IN NS a.\n"
TYPES: Final[tuple[RecordType, ...]] = get_args(RecordType)

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("named-checkzone", "knotc", "nsd-checkzone", "pdnsutil"))),
    reason="needs bind9-utils, knot, nsd and pdns-server",
)


class Checker(NamedTuple):
    """A server's own program that says whether it loads a zone file: what to write for it, and how it is asked."""

    files: dict[str, str]
    command: tuple[str, ...]
    fault: Callable[[int, str], bool] = lambda code, said: code != 0


CHECKERS: Final = {
    "BIND": Checker({}, ("named-checkzone", "-i", "local", ZONE, "zone")),
    "NSD": Checker({}, ("nsd-checkzone", ZONE, "zone")),
    "Knot": Checker(
        {"k": 'server:\n  rundir: "."\ndatabase:\n  storage: "."\nzone:\n  - domain: z.test.\n    file: "DIR/zone"\n'},
        ("knotc", "-c", "k", "zone-check", ZONE),
    ),
    "PowerDNS": Checker(
        {
            "pdns.conf": "launch=bind\nbind-config=DIR/named.conf\n",
            "named.conf": 'zone "z.test" { type master; file "DIR/zone"; };\n',
        },
        ("pdnsutil", "--config-dir=.", "check-zone", ZONE),
        lambda _, said: "record had a problem" in said,  # its other errors are of what records lead to
    ),
}


def refusals(directory: Path, records: list[tuple[str, RecordType, str]]) -> dict[str, str]:
    """Which servers do not load a zone of these records, and what they say."""
    zone = HEAD + "".join(f"{owner}.{ZONE} 300 IN {type_} {text}\n" for owner, type_, text in records)
    (directory / "zone").write_text(zone)
    found = {}
    for server, checker in CHECKERS.items():
        for name, text in checker.files.items():
            (directory / name).write_text(text.replace("DIR", str(directory)))
        done = subprocess.run(
            checker.command, cwd=directory, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
        if checker.fault(done.returncode, done.stdout):
            found[server] = done.stdout + done.stderr
    return found


# Text that is nearly or wholly data

_NUMBER = st.integers(-1, 65537).map(str) | st.sampled_from(["0", "1", "255", "256"])
_NAME = st.sampled_from(["@", ".", "a", "a.b.", "_x._y", "1.0/25", "*.x", "xn--4ca", "ü", "A.B", "a" * 63, "a" * 64])
_OCTETS = st.binary(max_size=12).map(lambda octets: "".join(f"\\{octet:03}" for octet in octets))
_WORD = st.text(alphabet='abz019-_/{}?,.;:=&+*%#@$()\\" üß\\', max_size=12) | _OCTETS
_QUOTED = _WORD.map(lambda word: f'"{word}"')
_IPV4 = st.ip_addresses(v=4).map(str)
_IPV6 = st.ip_addresses(v=6).map(str)
_PATHS = st.lists(st.sampled_from(["/", "a", "{?dns}", "{dns}", "{&x,dns}", "{#dns}", "%2f", "%", "{", "}", "é", "^"]))
_KEYS = st.sampled_from(["alpn", "port", "ipv4hint", "ohttp", "docpath", "mandatory", "ech"]) | st.integers(
    0, 65536
).map(lambda key: f"key{key}")


def listed(each: st.SearchStrategy[str], least: int = 1) -> st.SearchStrategy[str]:
    return st.lists(each, min_size=least, max_size=5).map(",".join)


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(" ".join)


_PARAMETER = st.one_of(
    st.sampled_from(["no-default-alpn", "ohttp", "key2", 'key2=""', "key8", "alpn=h2", "ech=AAQAAAAA", 'key5="\\000"']),
    st.builds("{}={}".format, _KEYS, _WORD | _QUOTED),
    listed(_KEYS).map("mandatory={}".format),
    listed(st.sampled_from(["h2", "h3-19", "\\\\,", "\\\\\\\\", "\\000", "a b"]) | _WORD).map('alpn="{}"'.format),
    _NUMBER.map("port={}".format),
    listed(_IPV4).map("ipv4hint={}".format),
    listed(_IPV6).map('ipv6hint="{}"'.format),
    st.builds('{}="{}"'.format, st.sampled_from(["dohpath", "key7", "docpath"]), _PATHS.map("".join) | _WORD),
    st.integers(0, 6).map(lambda key: f'key{key}="\\000\\001"'),
)
_BINDING = joined(_NUMBER, _NAME, st.lists(_PARAMETER, max_size=6).map(" ".join))
_DATA: Final[dict[RecordType, st.SearchStrategy[str]]] = {
    "A": _IPV4,
    "AAAA": _IPV6,
    "CAA": joined(_NUMBER, st.sampled_from(["issue", "Issue", "iodef", "a" * 15, "a" * 16, "1"]) | _WORD, _QUOTED),
    "CNAME": _NAME,
    "HTTPS": _BINDING,
    "MX": joined(_NUMBER, _NAME),
    "NS": _NAME,
    "PTR": _NAME,
    "SRV": joined(_NUMBER, _NUMBER, _NUMBER, _NAME),
    "SSHFP": joined(_NUMBER, _NUMBER, st.binary(max_size=40).map(bytes.hex) | st.sampled_from(["0" * 40, "0" * 64])),
    "SVCB": _BINDING,
    "TXT": st.lists(_WORD | _QUOTED, max_size=4).map(" ".join),
}


def accepted(said: tuple[RecordType, str]) -> tuple[RecordType, str] | None:
    try:
        return said[0], rdata.parse(*said, ZONE)[0]
    except InvalidValue:
        return None


_UNKNOWN = st.binary(max_size=20).map(lambda octets: f"\\# {len(octets)} {octets.hex()}")  # RFC 3597 section 5
_ONE = st.sampled_from(TYPES).flatmap(lambda type_: st.tuples(st.just(type_), _DATA[type_] | _UNKNOWN))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(said=st.lists(_ONE, max_size=60))
def test_what_is_accepted_is_loaded_by_every_server(tmp_path: Path, said: list[tuple[RecordType, str]]) -> None:
    read = list(filter(None, map(accepted, said)))
    records = [
        (f"{'_' if type_ in ('TXT', 'SVCB') else 'r'}{at}", type_, text) for at, (type_, text) in enumerate(read)
    ]
    assert not refusals(tmp_path, records)


@pytest.mark.parametrize(
    ("type_", "text", "servers"),
    [
        ("SVCB", '1 . key7="/x"', {"BIND"}),
        ("SVCB", '1 . key7=""', {"BIND", "NSD"}),
        ("SVCB", '1 . key7="\\255{?dns}"', {"BIND"}),
        ("SVCB", '1 . key7="{?dns}"', {"BIND"}),
        ("SVCB", "1 . " + " ".join(f"key{at}=x" for at in range(100, 163)), {"NSD"}),
        ("CAA", f'0 {"a" * 16} "x"', {"NSD"}),
        ("SVCB", "1 . no-default-alpn", {"BIND"}),
    ],
)
def test_what_a_server_would_not_load_is_refused(
    tmp_path: Path, type_: RecordType, text: str, servers: set[str]
) -> None:
    assert refusals(tmp_path, [("x", type_, text)]).keys() >= servers
    with pytest.raises(InvalidValue):
        rdata.parse(type_, text, ZONE)


@pytest.mark.parametrize(
    ("type_", "text", "spelling"),
    [
        ("SVCB", "1 . ohttp alpn=h2", '1 . alpn="h2" key8=""'),
        ("SVCB", "1 . docpath=a,b", '1 . key10="\\001a\\001b"'),
        ("SVCB", "1 . mandatory=ohttp ohttp", '1 . mandatory=key8 key8=""'),
        ("HTTPS", '1 . dohpath="/q{?dns}"', '1 . key7="/q{?dns}"'),
        ("SVCB", '1 . port="53"', "1 . port=53"),
        ("SVCB", '1 . alpn="\\\\,"', '1 . key1="\\001,"'),
        ("SVCB", '1 . alpn="a,h2"', '1 . key1="\\001a\\002h2"'),
        ("SVCB", '1 . alpn="h2;"', '1 . alpn="h2\\;"'),
        ("CAA", '0 Issue "x"', '0 issue "x"'),
    ],
)
def test_what_a_server_may_not_know_by_name_is_spelled_for_all(
    tmp_path: Path, type_: RecordType, text: str, spelling: str
) -> None:
    assert rdata.parse(type_, text, ZONE)[0] == spelling
    assert refusals(tmp_path, [("x", type_, text)]) and not refusals(tmp_path, [("x", type_, spelling)])


def test_as_many_parameters_as_every_server_takes(tmp_path: Path) -> None:
    text = "1 . " + " ".join(f'key{at}="x"' for at in range(100, 100 + bindings.MOST_PARAMETERS))
    assert rdata.parse("SVCB", text, ZONE)[0] == text
    assert not refusals(tmp_path, [("x", "SVCB", text)])
