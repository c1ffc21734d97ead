"""The page about changes holds from top to bottom, and its table is that of the program."""

from __future__ import annotations

import ast
import re
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lamella.app import cli
from lamella.core.store.acts import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "changes.md").read_text(encoding="utf8")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the examples were run in, each of which gives what is written below it."""
    folder = tmp_path_factory.mktemp("page")
    names: dict[str, Any] = {}
    count = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            lines = block.splitlines()
            for node in ast.parse(block).body:
                code = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                expected = _comment_below(lines[node.end_lineno :])
                if not expected:
                    exec(code, names)
                    continue
                assert eval(code, names) == eval(expected, {"Decimal": Decimal}), code
                count += 1
    names["store"].close()
    assert count > 6
    return folder


def _comment_below(lines: list[str]) -> str:
    comment = []
    for line in lines:
        if not line.startswith("# "):
            break
        comment.append(line[2:])
    return "\n".join(comment)


def test_its_commands_run(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop)
    (shop / "prices.csv").write_text("code,price\nA1,3\nA1,4\n")
    commands = re.findall(r"^lamella (change .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert cli.main(shlex.split(command, comments=True)) == cli.OK, capsys.readouterr().err


def test_it_names_every_kind_of_act() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert rows[1:] == [kind.label for kind in KINDS]
    assert len(PAGE.splitlines()) <= 200
