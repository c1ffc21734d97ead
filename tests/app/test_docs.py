"""The README and the pages in docs are true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pictures
import pytest

from lamella.app import __version__, cli
from lamella.core.datasets.delta import READER_FEATURES
from lamella.core.datasets.text.blocks import LONGEST_ROW
from lamella.core.datasets.text.json_lines import MOST_LEVELS
from lamella.core.settings import SETTINGS
from lamella.ui.actions import ACTIONS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf8")
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf8")


def _commands(page: str) -> list[str]:
    return [line.partition(" #")[0].strip() for line in page.splitlines() if line.startswith("lamella ")]


COMMANDS = _commands(COMMAND_LINE)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_described(setting):
    assert f"| `{setting.name}` | `{json.dumps(setting.default)}` | {setting.help} |" in COMMAND_LINE


@pytest.mark.parametrize("command", [*COMMANDS, *_commands(README), *_commands(GUIDE)])
def test_every_command_shown_is_understood(command):
    words = shlex.split(command)[1:]
    if words[0] in cli.COMMANDS:
        parser, words = cli.command_parser(words[0]), words[1:]
    else:
        parser = cli.window_parser()
    parser.parse_intermixed_args(words)


def test_every_command_is_shown():
    assert set(cli.COMMANDS) <= {shlex.split(command)[1] for command in COMMANDS}


PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    *("docs/" + page.name for page in (ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf8")
    links = [to for to in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in to]
    assert [to for to in links if not (ROOT / page).parent.joinpath(to).exists()] == []


TRIPS = "vendor,fare,tip\nCMT,12.5,1\nCMT,63.5,\nVTS,70.0,5\nVTS,-3.0,\n"


def test_the_guide_and_the_readme_hold_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trips.csv").write_text(TRIPS)
    for command in _commands(GUIDE):
        words = shlex.split(command)[1:]
        if words[0] in cli.COMMANDS:
            assert cli.main(words) == cli.OK, capsys.readouterr().err
    for page in (GUIDE, README):
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        exec(compile("\n".join(blocks), "a page", "exec"), {})


def test_the_guide_names_actions_and_their_keys_as_the_window_does():
    named = re.findall(r"\*\*([^*]+)\*\* \(([^)]+)\)", GUIDE)
    known = {(action.text, action.keys.partition(";")[0]) for action in ACTIONS}
    assert len(named) > 8 and set(named) <= known


def test_the_readme_names_the_packages_as_they_are_built():
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf8")
    installer = (ROOT / "packaging" / "windows" / "lamella.nsi").read_text("utf8")
    for name in (f"lamella_{__version__}_amd64.deb", f"lamella-{__version__}-linux-x86_64.tar.xz"):
        assert f"`{name}`" in README
    assert f"`lamella-{__version__}-windows-setup.exe`" in README and "-windows-setup.exe" in installer
    assert f"`lamella-{__version__}-macos-arm64.dmg`" in README and "-macos-arm64.dmg" in workflow


SIGNS = re.compile(r"[\u201c\u201d\u201e\u2018\u201a]")
DATA = {Path("core/datasets/text/encodings.py")}
"""Modules in which curly quotes are signs of users' texts."""


def test_only_straight_quotes_are_used():
    modules = [path for room in ("app", "core", "ui") for path in (ROOT / room).rglob("*.py")]
    files = {path.relative_to(ROOT) for path in [*modules, *map(ROOT.joinpath, PAGES)]} - DATA
    curly = {path for path in files if SIGNS.search((ROOT / path).read_text(encoding="utf8"))}
    escaped = {path for path in files if re.search(r"\\u201[cdeCDE8aA]", (ROOT / path).read_text("utf8"))}
    assert not curly | escaped


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_pictures_are_those_that_pages_show_and_small():
    files = {path.stem: path for path in (ROOT / "docs" / "pictures").iterdir()}
    names = {name for page in PAGES for name in _pictures(ROOT / page)}
    assert set(files) == {*pictures.SHOWN, *pictures.SCREENS} == names
    assert {path.suffix for path in files.values()} == {".png"}
    assert max(path.stat().st_size for path in files.values()) <= 150_000


def _pictures(page: Path) -> list[str]:
    return re.findall(r"!\[[^\]]+\]\([\w/]*pictures/([\w-]+)\.png\)", page.read_text(encoding="utf8"))


def test_the_page_about_text_files_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "text-files.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(blocks), "docs/text-files.md", "exec"), {})
    assert f"more than {LONGEST_ROW >> 20} MB" in page
    assert f"more than {MOST_LEVELS} lists and objects" in page


def test_the_page_about_files_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(blocks), "docs/files.md", "exec"), {})


def test_the_page_about_lake_tables_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "lake.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(blocks), "docs/lake.md", "exec"), {})
    features = page.partition("Supported reader features:")[2].partition(".")[0]
    assert set(re.findall(r"`(\w+)`", features)) == {name for name in READER_FEATURES if "-" not in name}


def test_the_page_about_the_store_holds_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "store.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) > 8
    exec(compile("\n".join(blocks), "docs/store.md", "exec"), {})
