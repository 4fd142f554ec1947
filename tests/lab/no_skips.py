"""Pytest plug-in: where everything is installed, a test that is left out is a failure.

As root under `CI=true` nothing can be missing, so a skipped test, a skipped module or an expected failure
would hide that something was not proved. Elsewhere they are what they are.
"""

import os
from collections.abc import Generator

import pytest


def strict() -> bool:
    """True where nothing may be left out: as root under `CI=true`."""
    return os.environ.get("CI") == "true" and os.geteuid() == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip, an expected failure or an unexpected pass into a failure."""
    report = yield
    left_out = report.skipped or hasattr(report, "wasxfail")
    if strict() and left_out:
        report.longrepr = f"left out under CI: {_reason(report)}"
        report.outcome = "failed"
        report.__dict__.pop("wasxfail", None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that skips itself into a failure."""
    report = yield
    if strict() and report.skipped:
        report.longrepr = f"left out under CI: {_reason(report)}"
        report.outcome = "failed"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return f"expected to fail: {expected}"
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
