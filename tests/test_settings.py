"""Settings: where they come from, which place wins, what is refused."""

from pathlib import Path

import pytest

from tenure.errors import InvalidValue
from tenure.settings import SETTINGS, Endpoint, Listener, Settings, read


def test_without_anything_the_defaults_hold() -> None:
    assert read({}, {}) == Settings()
    assert read({"data": "x"}, {}).store == Path("x/tenure.sqlite")


def test_the_nearest_place_wins(tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text('api = "127.0.0.1:1"\ndns = "127.0.0.1:2"\ndhcp4 = ["eth0", "eth1"]\nclock_margin = 7\n')
    environ = {"TENURE_CONFIG": str(file), "TENURE_API": "[::1]:3", "TENURE_DNS": "localhost:4", "TENURE_DATA": ""}
    settings = read({"dns": "10.0.0.1:53", "config": None}, environ)
    assert settings.dns == (Listener(Endpoint("10.0.0.1", 53)),)
    assert settings.api == Endpoint("::1", 3) and str(settings.api) == "[::1]:3"
    assert settings.dhcp4 == ("eth0", "eth1")
    assert settings.clock_margin == 7
    assert settings.data == "tenure-data"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", ""),
        ("data", "a\0b"),
        ("data", "x" * 5000),
        ("database", "mysql://here/x"),
        ("api", "8080"),
        ("api", "127.0.0.1:65536"),
        ("api", "example.org:80"),
        ("dns", "[::1]"),
        ("dns", "127.0.0.1:-1"),
        ("dns", "127.0.0.1:53="),
        ("dns", ""),
        ("dns", "127.0.0.1:53,127.0.0.1:53=blue"),
        ("transfer_from", "10.0.0.1/8"),
        ("transfer_from", "here"),
        ("dhcp4", "a-name-that-is-far-too-long"),
        ("dhcp4", "eth0/1"),
        ("roles", "api,writer"),
        ("clock_margin", "3601"),
        ("clock_margin", "-1"),
        ("clock_margin", True),
        ("queue", "99"),
        ("log_level", "loud"),
    ],
)
def test_what_is_out_of_bounds_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidValue) as refused:
        read({name: value}, {})
    assert refused.value.facts["setting"] == name


def test_every_setting_refuses_nonsense() -> None:
    for setting in SETTINGS:
        with pytest.raises(InvalidValue, match=setting.flag):
            read({setting.name: "\0"}, {})


def test_listeners_may_be_of_one_vrf_each(tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text('dns = ["127.0.0.1:53", "[::1]:53=blue"]\ntransfer_from = ["127.0.0.1", "2001:db8::/32"]\n')
    settings = read({"config": str(file)}, {})
    assert [str(each) for each in settings.dns] == ["127.0.0.1:53", "[::1]:53=blue"]
    assert settings.transfer_from == ("127.0.0.1/32", "2001:db8::/32")
    assert read({"dns": "127.0.0.1:0=a,127.0.0.1:0=b"}, {}).dns[1].vrf == "b"


@pytest.mark.parametrize("written", ['colour = "red"', "api = ", "\xff"])
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, written: str) -> None:
    file = tmp_path / "tenure.toml"
    file.write_bytes(written.encode("latin-1"))
    with pytest.raises(InvalidValue, match="configuration file"):
        read({"config": file}, {})


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"missing\.toml"):
        read({}, {"TENURE_CONFIG": str(tmp_path / "missing.toml")})
