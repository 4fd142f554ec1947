"""Our own checks of a zone file, beside those of BIND's named-checkzone."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tenure.errors import InvalidValue
from tenure.exchange.zone_check import problems

ORIGIN = "example."
START = "$TTL 300\n@ SOA ns admin 1 3600 600 1209600 60\n@ NS ns\nns A 192.0.2.1\n"
SOUND = [
    "",
    'www A 192.0.2.2\nwww AAAA 2001:db8::2\nwww TXT "a; b" ( "c"\n "d" )\n',
    "alias CNAME www\nwww A 192.0.2.3\n",
    "@ MX 10 mail\nmail A 192.0.2.4\n_sip._tcp SRV 0 0 5060 mail\n",
    '@ MX 10 mail.other.\n@ CAA 0 issue "ca.example"\n',
    "@ MX 0 .\n",
    "* A 192.0.2.5\n@ MX 5 any\n",
    "sub NS ns.sub\nns.sub A 192.0.2.6\n",
    "sub NS ns.other.\nsub DS 1 8 2 0000000000000000000000000000000000000000000000000000000000000000\n",
    "@ MX 10 mail.sub\nsub NS ns.other.\n",
    "$GENERATE 1-20 h$ A 10.0.0.$\n",
    "$ORIGIN deep.example.\nx 60 A 192.0.2.7\n",
    "x A 192.0.2.8\nx A 192.0.2.9\nx A 192.0.2.8\n",
]
FAULTY = [
    ("www A 192.0.2.300\n", "line 5: "),
    ("www A 192.0.2.2\nwww CNAME ns\n", "has a CNAME and others beside it"),
    ("www CNAME ns\nwww CNAME ns2.other.\n", "more than one CNAME"),
    ("@ MX 10 mail\n", "names mail.example., which has no address"),
    ("@ MX 10 alias\nalias CNAME ns\n", "names alias.example., which is a CNAME"),
    ("_x._tcp SRV 0 0 1 alias\nalias CNAME ns\n", "which is a CNAME"),
    ("_x._tcp SRV 0 0 1 none\n", "which has no address"),
    ("@ NS other\n", "names other.example., which has no address"),
    ("sub NS ns.sub\n", "names ns.sub.example., which has no address"),
    ("x 60 A 192.0.2.2\nx 90 A 192.0.2.3\n", "x.example. A has the TTLs 60 and 90"),
    ("x.other. A 192.0.2.2\n", "x.other. is not in the zone example."),
    ("a_b A 192.0.2.2\n", "is no host name"),
    ("@ MX 10 a_b.other.\n", "names a_b.other., which is no host name"),
    (f"{'a' * 64} A 192.0.2.2\n", "line 5: "),
    ("a..b A 192.0.2.2\n", "line 5: "),
    (f"{'.'.join(['a' * 60] * 5)} A 192.0.2.2\n", "line 5: "),
    ('x TXT (\n"a"\n', "line 5: "),
    ("sub SOA ns admin 1 2 3 4 5\n", "sub.example. has an SOA"),
    ("x NONSENSE 1\n", "unknown rdatatype"),
    ('x TXT "never closed\n', "line 5: "),
]
WITHOUT = [
    ("$TTL 300\n@ NS ns.other.\n", "there is no SOA at example."),
    ("$TTL 300\n@ SOA ns admin 1 3600 600 1209600 60\n", "there are no name servers (NS) at example."),
    ("@ SOA ns.other. admin 1 3600 600 1209600 60\nx TXT a\n$INCLUDE /etc/passwd\n", "$INCLUDE' is not allowed"),
]


def _said(text: str) -> str:
    return "\n".join(problems(text, ORIGIN))


@pytest.mark.parametrize("more", SOUND)
def test_a_sound_zone_has_no_problem(more: str) -> None:
    assert problems(START + more, ORIGIN) == []


@pytest.mark.parametrize(("more", "said"), FAULTY)
def test_a_fault_is_told_with_its_line(more: str, said: str) -> None:
    assert said in _said(START + more)


@pytest.mark.parametrize(("text", "said"), WITHOUT)
def test_what_a_zone_must_have_and_must_not(text: str, said: str) -> None:
    assert said in _said(text)


def test_a_reverse_zone_names_hosts() -> None:
    start = "$TTL 1\n@ SOA ns.x. a.x. 1 2 3 4 5\n@ NS ns.x.\n"
    assert problems(start + "7 PTR vm-7.x.\n", "2.0.192.in-addr.arpa.") == []
    assert "is no host name" in problems(start + "7 PTR vm_7.x.\n", "2.0.192.in-addr.arpa.")[0]


def test_the_name_of_the_zone_is_looked_at() -> None:
    for name in ("", "a..b", "."):
        with pytest.raises(InvalidValue):
            problems(START, name)


def _complains(text: str, file: Path) -> bool:
    """Whether BIND has anything against it, a warning too."""
    file.write_text(text)
    done = subprocess.run(
        ["named-checkzone", "-i", "local", ORIGIN, file], capture_output=True, text=True, timeout=20, check=False
    )
    lines = (done.stdout + done.stderr).splitlines()
    return any(not line.endswith("OK") and "loaded serial" not in line for line in lines)


@pytest.mark.skipif(not shutil.which("named-checkzone"), reason="needs bind9-utils")
def test_bind_agrees(tmp_path: Path, rng: random.Random) -> None:
    """Each of these zones, and many put together of their lines."""
    lines = [*SOUND, *(more for more, _ in FAULTY)]
    zones = [START + more for more in lines] + [text for text, _ in WITHOUT if "$INCLUDE" not in text]
    zones += [START + "".join(rng.sample(SOUND[1:8], 2)) + rng.choice(lines) for _ in range(60)]
    for text in zones:
        assert bool(problems(text, ORIGIN)) == _complains(text, tmp_path / "zone"), text
