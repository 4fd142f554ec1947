"""`/etc/hosts`: an address and its names a line (hosts(5))."""

from tenure.errors import InvalidValue
from tenure.exchange.reading import Reading, Row
from tenure.net.addresses import Address, parse_address


def read(name: str, text: str) -> Reading:
    """Read a hosts file. What every such file says of the machine itself (loopback, multicast) is passed over."""
    reading = Reading()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            _read_line(reading, f"{name}, line {number}", words)
    return reading


def _read_line(reading: Reading, where: str, words: list[str]) -> None:
    try:
        address = parse_address(words[0])
    except InvalidValue as error:
        reading.faults.append(f"{where}: {error.message}.".replace("..", "."))
        return
    if _is_local(address):
        return
    if len(words) == 1:
        reading.faults.append(f"{where}: {address} has no name.")
        return
    reading.rows.append(Row(where, str(address), names=tuple(words[1:])))


def _is_local(address: Address) -> bool:
    broadcast = str(address) == "255.255.255.255"
    legacy = str(address) == "fe00::"  # `ip6-localnet` of Debian
    return (
        broadcast
        or legacy
        or bool(address.is_loopback or address.is_multicast or address.is_unspecified or address.is_link_local)
    )
