"""Bugs are counted, and logged once each."""

import asyncio
from collections import Counter

import pytest

from tenure.surfaces.dns.bugs import Bugs


def raised(many: int) -> list[Exception]:
    found: list[Exception] = []
    for at in range(many):
        try:
            int("x") if at % 2 else [][at]
        except (ValueError, IndexError) as error:
            found.append(error)
    return found


def test_each_place_is_logged_once_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    counters = Counter[str]()
    bugs = Bugs(counters)
    for error in raised(100):
        bugs.note(error, "a test")
    bugs.note(KeyError("x"), "a test")
    assert counters == {"bugs": 101}
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == ["a bug ended a test"] * 2
    assert all(record.exc_info for record in caplog.records)


def test_what_a_callback_raises_is_a_bug_and_what_the_system_lacks_is_not(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(bugs.handle)
        loop.call_soon(raises, ValueError("x"))
        loop.call_soon(raises, OSError("no more files"))
        loop.call_exception_handler({"message": "something else"})
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def raises(error: Exception) -> None:
        raise error

    counters = Counter[str]()
    bugs = Bugs(counters)
    asyncio.run(body())
    assert counters == {"bugs": 1}
    assert "no more files" in caplog.text and "something else" in caplog.text
