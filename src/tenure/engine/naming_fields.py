"""Fields that say how things are called: one rule for vrfs, networks, subnets and zones."""

from typing import Final

from tenure.errors import InvalidValue
from tenure.naming.hostnames import parse_domain
from tenure.naming.templates import parse_template

MOST_SERVERS: Final = 16


def server_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of servers in their one spelling.

    Raises:
        InvalidValue: More than 16; one is no absolute host name, or stands twice.
    """
    if len(names) > MOST_SERVERS:
        raise InvalidValue(f"name_servers are at most {MOST_SERVERS}", pointer="/name_servers", maximum=MOST_SERVERS)
    found: dict[str, None] = {}
    for at, text in enumerate(names):
        name = parse_domain(text, f"/name_servers/{at}")
        if name in found:
            raise InvalidValue(f"{name} stands twice", pointer=f"/name_servers/{at}", value=text)
        found[name] = None
    return tuple(found)


def name_template(text: str | None) -> str | None:
    """A template in its one spelling.

    Raises:
        InvalidValue: It is none, or not ASCII: what is computed is never converted.
    """
    if text is None:
        return None
    if not text.isascii():
        raise InvalidValue(
            "a template is written in ASCII (xn-- for other letters)", pointer="/name_template", value=text[:256]
        )
    parse_template(text)
    return text.lower()
