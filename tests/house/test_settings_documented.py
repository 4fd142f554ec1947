"""Every setting has its row in docs/reference/settings.md, with its true names and default."""

from pathlib import Path

from tenure.settings import SETTINGS, Settings, read

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def _rows() -> dict[str, list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert list(_rows()) == [setting.name for setting in SETTINGS] == list(Settings.__struct_fields__)


def test_the_documented_names_and_defaults_are_the_real_ones() -> None:
    rows = _rows()
    for setting in SETTINGS:
        flag, variable, default, text = rows[setting.name]
        assert (flag, variable) == (setting.flag, setting.variable)
        expected = getattr(Settings(), setting.name)
        given = {} if default == "none" else {setting.name: default}
        assert getattr(read(given, {}), setting.name) == expected
        assert (default == "none") == (expected in (None, ()))
        assert text


def test_the_example_file_is_read(tmp_path: Path) -> None:
    example = PAGE.read_text().split("```toml\n")[1].split("```")[0]
    file = tmp_path / "tenure.toml"
    file.write_text(example)
    assert read({"config": file}, {}).dhcp4 == ("eno2", "eno3")
