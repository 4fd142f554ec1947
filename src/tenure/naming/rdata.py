"""Data of records: from the text of a zone file to the wire and back.

What is plain is read here; TXT, CAA, SSHFP and the parameters of SVCB and HTTPS are dnspython's, which is imported
when the first of them comes, not before. Text has one spelling: what `parse` gave is read to the same again.
"""

import re
from collections.abc import Callable
from typing import Final

from tenure.errors import InvalidValue
from tenure.model.dnsdata import TYPES
from tenure.model.policy import RecordType
from tenure.naming import bindings
from tenure.naming.hostnames import absolute, from_wire, parse_hostname, parse_name, wire
from tenure.naming.records import AAAA, CNAME, NS, PTR, A
from tenure.net.addresses import address_of, parse_address

LONGEST_TEXT: Final = 4096
LONGEST_RDATA: Final = 65535
POINTER: Final = "/data"

MX: Final = TYPES["MX"]
SRV: Final = TYPES["SRV"]
SVCB: Final = TYPES["SVCB"]
HTTPS: Final = TYPES["HTTPS"]

_PLAIN: Final = re.compile(r'(?:[^"\\;()]|\\.|"(?:[^"\\]|\\.)*")*')
_NUMBER: Final = re.compile(r"[0-9]{1,5}")
_TAG: Final = re.compile(rb"[0-9a-z]{1,15}")  # NSD takes no more; RFC 8659 section 4.1 sets no bound
_FINGERPRINTS: Final = {1: 20, 2: 32}  # octets of SHA-1 and SHA-256
_NAME_AT: Final = {NS: 0, CNAME: 0, PTR: 0, MX: 2, SRV: 6, SVCB: 2, HTTPS: 2}
_NOWHERE: Final = "."
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^\s"\\]|\\.)+')
_CHARACTER: Final = re.compile(r"\\[0-9]{3}|\\.|.")
_LONGEST_STRING: Final = 255
_GENERIC: Final = "\\#"


def parse(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    """Read the data of a record as a zone file has it, on one line, without comments and brackets.

    Args:
        text: Names in it are relative to `origin` unless they end with a dot; `@` is `origin` itself. At most
            4,096 characters, in its one spelling too.
        origin: Absolute, lower case.

    Returns:
        Its one spelling, names absolute and in lower case; and the wire form.

    Raises:
        InvalidValue: It is no data of this type, or longer than 65,535 octets; pointer `/data`.

    Source: RFC 1035 sections 3.3, 3.4 and 5.1; RFC 2782, 3596, 4255, 7505, 8659, 9460, 9461; and what BIND 9.18,
    Knot 3.2, NSD 4.6 and PowerDNS 4.7 take.
    """
    if len(text) > LONGEST_TEXT or not text.replace("\t", " ").isprintable():
        raise _refusal(type_, text, f"is one line of at most {LONGEST_TEXT} printable characters")
    if not _PLAIN.fullmatch(text):
        raise _refusal(type_, text, "has each quote closed, and ; ( ) only in quotes or after a backslash")
    spelling, packed = _PARSERS[type_](type_, text.strip(), origin)
    if len(packed) > LONGEST_RDATA or len(spelling) > LONGEST_TEXT:
        raise _refusal(type_, text, f"has at most {LONGEST_TEXT} characters and {LONGEST_RDATA} octets")
    return spelling, packed


def text(number: int, rdata: bytes) -> str:
    """The text that a zone file has for data of any type; what has none is written as RFC 3597 says.

    Args:
        number: The type's.

    Cost: under 2 µs for addresses and names, 30 µs else.
    """
    if number == A and len(rdata) == 4:
        return ".".join(map(str, rdata))
    if number == AAAA and len(rdata) == 16:
        return str(address_of(6, int.from_bytes(rdata)))
    if number in (NS, CNAME, PTR):
        return from_wire(rdata)
    return _foreign_text(number, rdata)


def targets(number: int, rdata: bytes) -> tuple[str, ...]:
    """The names that data of a type points to, absolute; the root, which is nowhere, is none. Cost: under 2 µs."""
    at = _NAME_AT.get(number)
    if at is None:
        return ()
    end = at
    while rdata[end]:
        end += 1 + rdata[end]
    name = from_wire(rdata[at : end + 1])
    return () if name == _NOWHERE else (name,)


def _refusal(type_: str, text: str, rule: str) -> InvalidValue:
    return InvalidValue(f"data of type {type_} {rule}", pointer=POINTER, value=text[:256])


def _fields(type_: RecordType, text: str, form: str) -> list[str]:
    """The words of a text that is to have as many as its form."""
    found = text.split()
    if len(found) != len(form.split()):
        raise _refusal(type_, text, f"is written as {form}")
    return found


def _number(type_: RecordType, word: str, what: str) -> int:
    if not _NUMBER.fullmatch(word) or int(word) > 65535:
        raise _refusal(type_, word, f"has a {what} of 0 to 65535")
    return int(word)


def _address(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    found = parse_address(text, POINTER)
    if found.version != (4 if type_ == "A" else 6):
        raise _refusal(type_, text, f"is an IPv{4 if type_ == 'A' else 6} address")
    return str(found), found.packed


def _host(text: str, origin: str) -> str:
    """A target that must be a host's name."""
    return origin if text == "@" else absolute(parse_hostname(text, POINTER), origin, POINTER)


def _any_name(text: str, origin: str) -> str:
    """A target that need not be a host's name."""
    return origin if text == "@" else absolute(parse_name(text, POINTER), origin, POINTER)


def _server(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    (host,) = _fields(type_, text, "NAME")
    name = _host(host, origin)
    return name, wire(name)


def _target(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    (target,) = _fields(type_, text, "NAME")
    name = _any_name(target, origin)
    return name, wire(name)


def _exchange(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    preference, host = _fields(type_, text, "PREFERENCE NAME")
    level = _number(type_, preference, "preference")
    name = _NOWHERE if host == _NOWHERE else _host(host, origin)
    if name == _NOWHERE and level:
        raise _refusal(type_, text, "says with `0 .` that no mail is taken: its preference is 0")
    return f"{level} {name}", level.to_bytes(2) + wire(name)


def _service(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    *words, host = _fields(type_, text, "PRIORITY WEIGHT PORT NAME")
    numbers = [_number(type_, word, what) for word, what in zip(words, ("priority", "weight", "port"), strict=True)]
    name = _NOWHERE if host == _NOWHERE else _host(host, origin)
    return " ".join([*map(str, numbers), name]), b"".join(number.to_bytes(2) for number in numbers) + wire(name)


def _binding(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    priority, target, *parameters = (*text.split(None, 2), "", "")[:3] if text else ("", "", "")
    name = _NOWHERE if target == _NOWHERE else _any_name(target, origin)
    level = _number(type_, priority, "priority")
    _, packed = _foreign(type_, " ".join([str(level), name, *parameters]).strip(), origin)
    fault = bindings.fault(packed)
    if fault is not None:
        raise _refusal(type_, text, fault)
    return bindings.spelling(packed), packed


def _authority(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    _, packed = _foreign(type_, text, origin)
    end = 2 + packed[1]
    tag = packed[2:end].lower()  # NSD reads no capitals
    if not _TAG.fullmatch(tag):
        raise _refusal(type_, text, "has a tag of 1 to 15 letters and digits")
    packed = packed[:2] + tag + packed[end:]
    return _foreign_text(TYPES[type_], packed), packed


def _fingerprint(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    spelling, packed = _foreign(type_, text, origin)
    needed = _FINGERPRINTS.get(packed[1])
    if len(packed) == 2:
        raise _refusal(type_, text, "has a fingerprint")
    if needed is not None and len(packed) != 2 + needed:
        raise _refusal(type_, text, f"has a fingerprint of {needed} octets where its second number is {packed[1]}")
    return spelling, packed


def _strings(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    """One word, or strings in quotes: words are strings of their own too, which readers join without the spaces."""
    found = _STRING.findall(text)
    if found[:1] != [_GENERIC]:
        if len(found) > 1 and any(not string.startswith('"') for string in found):
            raise _refusal(type_, text, 'with spaces is put in quotes: "v=spf1 mx -all"; several strings are, each')
        if any(_octets(string.strip('"')) > _LONGEST_STRING for string in found):
            rule = f'has at most {_LONGEST_STRING} octets in a string: split it into several in quotes, "..." "..."'
            raise _refusal(type_, text, rule)
    return _foreign(type_, text, origin)


def _octets(string: str) -> int:
    return sum(1 if found[0] == "\\" else len(found.encode()) for found in _CHARACTER.findall(string))


def _foreign(type_: RecordType, text: str, origin: str) -> tuple[str, bytes]:
    """What dnspython reads."""
    import dns.exception
    import dns.name
    import dns.rdata
    import dns.rdataclass

    try:
        found = dns.rdata.from_text(dns.rdataclass.IN, type_, text, dns.name.root, relativize=False)
        packed = found.to_wire() or b""
    except (dns.exception.DNSException, ValueError) as error:
        raise _refusal(type_, text, f"cannot be read so: {error}") from None
    return _foreign_text(TYPES[type_], packed), packed


def _foreign_text(number: int, packed: bytes) -> str:
    import dns.exception
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype

    type_ = dns.rdatatype.RdataType.make(number)
    try:
        read = dns.rdata.from_wire(dns.rdataclass.IN, type_, packed, 0, len(packed))
        return bindings.spelling(packed) if number in (SVCB, HTTPS) else read.to_text()
    except (dns.exception.DNSException, ValueError):
        return f"\\# {len(packed)} {packed.hex()}".rstrip()


_Parser = Callable[[RecordType, str, str], tuple[str, bytes]]

_PARSERS: Final[dict[RecordType, _Parser]] = {
    "A": _address,
    "AAAA": _address,
    "CAA": _authority,
    "CNAME": _target,
    "HTTPS": _binding,
    "MX": _exchange,
    "NS": _server,
    "PTR": _target,
    "SRV": _service,
    "SSHFP": _fingerprint,
    "SVCB": _binding,
    "TXT": _strings,
}
