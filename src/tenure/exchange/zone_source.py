"""Where a zone is imported from: a master file, or a server that transfers it; record by record."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import dns.exception
import dns.name
import dns.query
import dns.rdata
import dns.rdatatype
import dns.tokenizer
import dns.tsig
import dns.zonefile

from tenure.errors import InvalidValue
from tenure.net.addresses import parse_address

SCHEME: Final = "axfr://"
ALGORITHMS: Final = ("hmac-sha256", "hmac-sha512")
MOST_GENERATED: Final = 65_536
"""Records of all $GENERATE of a file, those of refused ones too: as many as a /16 has."""
MOST_UNREADABLE: Final = 1000
"""What cannot be read of a file before the rest is not looked at."""
_LARGEST: Final = 256 * 2**20
_LONGEST: Final = 1000
"""Lines of one record."""
_WIDEST: Final = 2**18
"""Characters of one record: its 65,535 octets, each written in four characters."""
_SHOWN: Final = 200
"""Characters of what cannot be read that are told."""
_PATIENCE: Final = 30.0
"""Seconds between two messages of a transfer."""
_MARKS: Final = re.compile(r'\\.|"(?:\\.|[^"\\])*"?|;.*|([()])')
_PLACE: Final = re.compile(r"^<string>:\d+: ")
_DIRECTIVES: Final = ("$TTL", "$ORIGIN", "$GENERATE")

Key = tuple[str, str, bytes]
"""Owner, type and data of a record, such that the same one has the same key however it is written."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A record as its source has it.

    Attributes:
        owner: Absolute, lower case.
        type: `A`, `MX`, `TYPE65280`.
        ttl: Seconds.
        data: As a zone file has it, names absolute.
        line: In the file; None of a transfer.
        rdata: The same as dnspython has it.
    """

    owner: str
    type: str
    ttl: int
    data: str
    line: int | None
    rdata: dns.rdata.Rdata

    @property
    def key(self) -> Key:
        """By which it is known."""
        return key_of(self.owner, self.rdata)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Lines of a file that are no record, and why not."""

    line: int
    text: str
    why: str


class TransferKey(NamedTuple):
    """A TSIG key: its name, one of `ALGORITHMS`, and its secret in base64."""

    name: str
    algorithm: str
    secret: str


def key_of(owner: str, rdata: dns.rdata.Rdata) -> Key:
    """What a record is known by."""
    return owner, dns.rdatatype.to_text(rdata.rdtype), rdata.to_digestable()


def file_text(path: Path) -> str:
    """All of a zone file.

    Raises:
        InvalidValue: It cannot be read, is over 256 MiB, or is no text in UTF-8.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidValue(f"{path} is larger than {_LARGEST // 2**20} MiB")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidValue(f"{path} is no text in UTF-8") from None


def origin_name(name: str) -> dns.name.Name:
    """The name of a zone.

    Raises:
        InvalidValue: It is none, or the root.
    """
    try:
        found = dns.name.from_text(name, idna_codec=dns.name.IDNA_2008_Practical).canonicalize()
    except dns.exception.DNSException as error:
        raise InvalidValue(f"{name!r} is no name of a zone: {error}", value=name) from None
    if found == dns.name.root:
        raise InvalidValue("the root is no zone that Tenure can have", value=name)
    return found


def file_records(text: str, origin: dns.name.Name) -> Iterator[SourceRecord | Unreadable]:
    """The records of a master file, and what in it is none; whatever is wrong, the rest is read.

    $INCLUDE is refused: what it names may be anything on this machine. Records outside the zone are given too.
    After `MOST_UNREADABLE` entries that cannot be read, the last one tells how many lines were not looked at.

    Cost: linear in the text, and in what $GENERATE makes, which is bounded for a file.

    Source: RFC 1035 section 5; $TTL of RFC 2308 section 4; $GENERATE as BIND has it.
    """
    reader, unreadable = _Lines(origin), 0
    lines = text.replace("\r\n", "\n").split("\n")
    for number, entry in _entries(lines):
        if unreadable == MOST_UNREADABLE:
            rest = len(lines) - number + 1
            yield Unreadable(
                number, _shown(entry), f"{unreadable:,} could not be read; {rest:,} lines are not looked at"
            )
            return
        for found in reader.read(number, entry):
            unreadable += isinstance(found, Unreadable)
            yield found


def _entries(lines: list[str]) -> Iterator[tuple[int, str]]:
    """What parentheses hold together, with the number of its first line; a parenthesis that never closes, alone."""
    at, ends = 0, _ends(lines)
    while at < len(lines):
        end = ends.get(at, at + 1)
        yield at + 1, "\n".join(lines[at:end])
        at = end


def _ends(lines: list[str]) -> dict[int, int]:
    """Behind which line everything is closed that was opened from a line on; without those that it is not for.

    Cost: linear, for each line waits and is taken once, however many are open.
    """
    ends, waiting, depth = {}, [], 0  # those that wait are ever deeper
    for at, line in enumerate(lines):
        waiting.append((depth, at))
        depth += _opened(line)
        while waiting and waiting[-1][0] >= depth:
            begun = waiting.pop()[1]
            if 1 < at + 1 - begun <= _LONGEST:
                ends[begun] = at + 1
    return ends


def _opened(line: str) -> int:
    """How many more parentheses open than close in a line, outside of strings and comments."""
    marks = [found[1] for found in _MARKS.finditer(line)]
    return marks.count("(") - marks.count(")")


def _shown(entry: str) -> str:
    """As much of an entry as is told."""
    bare = entry.strip()
    return bare if len(bare) <= _SHOWN else bare[:_SHOWN] + "..."


class _Sink:
    """What dnspython takes for a transaction: it keeps what is added, and never drops what is outside the zone."""

    def __init__(self) -> None:
        self.manager = self
        self.added: list[tuple[dns.name.Name, int, dns.rdata.Rdata]] = []
        self._generated = 0

    def origin_information(self) -> tuple[dns.name.Name, bool, dns.name.Name]:
        return dns.name.root, False, dns.name.root

    def check_put_rdataset(self, check: object) -> None:
        """A CNAME beside others is for those to refuse who know all of the zone."""

    def _set_origin(self, origin: dns.name.Name) -> None:
        """The zone's name is known."""

    def add(self, name: dns.name.Name, ttl: int, rdata: dns.rdata.Rdata) -> None:
        if self.added and self._generated == MOST_GENERATED:
            raise ValueError(f"the file has $GENERATE make more than {MOST_GENERATED:,} records")
        self._generated += bool(self.added)
        self.added.append((name.canonicalize(), ttl, rdata))


class _Lines:
    """Reads entry by entry; what a line that cannot be read would have said, no later line assumes."""

    def __init__(self, origin: dns.name.Name) -> None:
        self._sink = _Sink()
        self._reader = dns.zonefile.Reader(
            dns.tokenizer.Tokenizer(""),
            dns.rdataclass.IN,
            cast(Any, self._sink),
            allow_directives=_DIRECTIVES,
        )
        self._reader.current_origin = self._reader.last_name = origin

    def read(self, number: int, entry: str) -> Iterator[SourceRecord | Unreadable]:
        reader, self._sink.added = self._reader, []
        if entry[:1].strip() and entry[0] not in "$;":
            reader.last_name = None
        try:
            if len(entry) > _WIDEST:
                raise ValueError(f"no record is longer than {_WIDEST:,} characters")
            reader.tok = dns.tokenizer.Tokenizer(entry, "<string>", idna_codec=dns.name.IDNA_2008_Practical)
            reader.read()
        except (dns.exception.DNSException, ValueError, OverflowError) as error:
            self._forget(entry)
            yield Unreadable(number, _shown(entry), _PLACE.sub("", str(error)) or type(error).__name__)
            return
        for name, ttl, rdata in self._sink.added:
            yield record_of(name, ttl, rdata, number)

    def _forget(self, entry: str) -> None:
        directive = entry.split(None, 1)[0].upper() if entry.strip() else ""
        if directive == "$ORIGIN":
            self._reader.current_origin = None
        elif directive == "$TTL":
            self._reader.default_ttl_known = self._reader.last_ttl_known = False


def record_of(name: dns.name.Name, ttl: int, rdata: dns.rdata.Rdata, line: int | None = None) -> SourceRecord:
    """A record as dnspython has it, as one of a source."""
    return SourceRecord(name.to_text(), dns.rdatatype.to_text(rdata.rdtype), ttl, rdata.to_text(), line, rdata)


def primary_of(source: str) -> tuple[str, int]:
    """The server that `axfr://ADDR[:PORT]` names, and its port.

    Raises:
        InvalidValue: It is not so written.
    """
    said = re.fullmatch(r"axfr://(?:\[([^]]+)\]|([^:\]]+))(?::(\d{1,5}))?/?", source)
    port = int(said[3] or 53) if said else 0
    if not said or not 0 < port < 65536:
        raise InvalidValue(f"{source} is not axfr://ADDRESS or axfr://ADDRESS:PORT (IPv6 in brackets)", value=source)
    return str(parse_address(said[1] or said[2])), port


def transferred(source: str, zone: dns.name.Name, key: TransferKey | None = None) -> Iterator[SourceRecord]:
    """The records of a zone as a server transfers it (AXFR); its SOA comes once.

    Raises:
        InvalidValue: The source is not so written, the server refuses, is silent, or ends too early.
    """
    address, port = primary_of(source)
    try:
        ring = {dns.name.from_text(key.name): dns.tsig.Key(key.name, key.secret, key.algorithm)} if key else None
        soas = 0
        for message in dns.query.xfr(address, zone, port=port, keyring=ring, relativize=False, timeout=_PATIENCE):
            for found in message.answer:
                soas += found.rdtype == dns.rdatatype.SOA
                if found.rdtype != dns.rdatatype.SOA or soas == 1:
                    yield from (record_of(found.name.canonicalize(), found.ttl, rdata) for rdata in found)
    except (dns.exception.DNSException, OSError, ValueError, EOFError) as error:
        said = str(error) or type(error).__name__
        raise InvalidValue(f"{source} does not transfer {zone}: {said}", source=source) from None
