"""The plug-in that forbids skips, run on small suites of its own."""

import os

import pytest

SUITES = {
    "skip": "import pytest\ndef test_it(): pytest.skip('no such luck')",
    "mark": "import pytest\n@pytest.mark.skipif(True, reason='no such luck')\ndef test_it(): pass",
    "xfail": "import pytest\n@pytest.mark.xfail(reason='no such luck')\ndef test_it(): assert False",
    "module": "import pytest\npytest.skip('no such luck', allow_module_level=True)",
}


def _run(pytester: pytest.Pytester, suite: str) -> pytest.RunResult:
    pytester.makepyfile(SUITES[suite])
    return pytester.runpytest_inprocess("-p", "tests.lab.no_skips", "-p", "no:cacheprovider")


@pytest.mark.parametrize("suite", SUITES)
def test_as_root_in_ci_what_is_left_out_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, suite: str
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    result = _run(pytester, suite)
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*left out under CI:*no such luck*"])


@pytest.mark.parametrize("suite", ["skip", "mark", "xfail"])
@pytest.mark.parametrize(("ci", "user"), [("", 0), ("true", 1000)])
def test_elsewhere_it_is_only_left_out(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, suite: str, ci: str, user: int
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert _run(pytester, suite).ret == pytest.ExitCode.OK


def test_in_ci_a_suite_that_passes_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile("def test_it(): pass")
    assert pytester.runpytest_inprocess("-p", "tests.lab.no_skips").ret == pytest.ExitCode.OK
