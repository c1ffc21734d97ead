"""What the README says is so."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from lamella.app import cli
from lamella.app.settings import SETTINGS
from lamella.core.datasets.text.blocks import LONGEST_ROW
from lamella.core.datasets.text.json_lines import MOST_LEVELS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf8")
COMMANDS = [line.partition(" #")[0].strip() for line in README.splitlines() if line.startswith("lamella ")]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_described(setting):
    assert f"| `{setting.name}` | `{json.dumps(setting.default)}` | {setting.help} |" in README


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_is_understood(command):
    words = shlex.split(command)[1:]
    if words[0] in cli.COMMANDS:
        parser, words = cli._command_parser(words[0]), words[1:]
    else:
        parser = cli._window_parser()
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


def test_the_page_about_text_files_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "text-files.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile("\n".join(blocks), "docs/text-files.md", "exec"), {})
    assert f"more than {LONGEST_ROW >> 20} MB" in page
    assert f"more than {MOST_LEVELS} lists and objects" in page


def test_the_page_about_the_store_holds_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "store.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) > 8
    exec(compile("\n".join(blocks), "docs/store.md", "exec"), {})
