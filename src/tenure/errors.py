"""Every error that a caller may meet.

    TenureError
    ├── RequestError              the caller can mend it
    │   ├── InvalidValue          a value is malformed or outside its bounds
    │   ├── NotFound              the thing named is not here
    │   ├── NotPermitted          this actor may not do this here
    │   └── Conflict              true, but not now: something stands in the way
    │       ├── AlreadyAllocated  the wanted address belongs to another handle
    │       ├── InUse             the thing to delete still holds something
    │       ├── Overlap           the prefix or range crosses one that is here
    │       ├── StaleRevision     the thing changed since the caller read it
    │       └── EpochChanged      the ledger started a new epoch: start over
    ├── Exhausted                 well asked, and there is no room here
    ├── OutcomeUnknown            it may or may not have happened
    └── StoreUnavailable          ask again later; nothing was changed

A message is one sentence, written where the error is raised. The facts
behind it travel as values, so that every surface can put them in its own
protocol's words (each has one table from error to word, and nothing else).
"""

import re
from typing import Any, ClassVar


def _code_of(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class TenureError(Exception):
    """The root of all errors that leave a room.

    Args:
        message: One sentence that says what is wrong and, where possible, what to do.
        facts: Plain values (strings, numbers, lists and dicts of them) that a program can read.
    """

    code: ClassVar[str] = "tenure_error"

    def __init_subclass__(cls) -> None:
        cls.code = _code_of(cls.__name__)

    def __init__(self, message: str, /, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class RequestError(TenureError):
    """The caller can mend it."""


class InvalidValue(RequestError):
    """A value is malformed or outside its bounds; fact `pointer` names the field (RFC 6901)."""


class NotFound(RequestError):
    """The thing named is not here; facts `kind` and `name`, and `pointer` where a field named it."""


class NotPermitted(RequestError):
    """This actor may not do this here."""


class Conflict(RequestError):
    """True, but not now: something stands in the way."""


class AlreadyAllocated(Conflict):
    """The wanted address belongs to another handle; fact `address`."""


class InUse(Conflict):
    """The thing still holds something; facts `holders` (the first 20) and `count`."""


class Overlap(Conflict):
    """The prefix or range crosses one that is here; fact `with`."""


class StaleRevision(Conflict):
    """The thing changed since the caller read it; fact `revision`."""


class EpochChanged(Conflict):
    """The ledger started a new epoch; fact `epoch`. Start over from the present."""


class KeyReused(RequestError):
    """An idempotency key came again with another body."""


class Exhausted(TenureError):
    """Well asked, and there is no room here; facts say where there is."""


class OutcomeUnknown(TenureError):
    """It may or may not have happened: repeat it under the same handle or key."""


class StoreUnavailable(TenureError):
    """Ask again later; nothing was changed."""


def error_classes() -> dict[str, type[TenureError]]:
    """Every error class by its code, for whoever carries errors across a process border."""
    found: dict[str, type[TenureError]] = {}
    queue: list[type[TenureError]] = [TenureError]
    while queue:
        cls = queue.pop()
        found[cls.code] = cls
        queue.extend(cls.__subclasses__())
    return found
