"""docs/compare.md holds from top to bottom."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from lamella.app import cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "compare.md").read_text(encoding="utf8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the examples were run, each of which gives the text written below it."""
    place = tmp_path_factory.mktemp("page")
    names: dict[str, Any] = {}
    count = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            lines = block.splitlines()
            for node in ast.parse(block).body:
                code, below = "\n".join(lines[node.lineno - 1 : node.end_lineno]), lines[node.end_lineno :]
                if not below or not below[0].startswith("# "):
                    exec(code, names)
                    continue
                assert eval(code, names) == ast.literal_eval(below[0][2:]), code
                count += 1
    names["store"].close()
    assert count > 8
    return place


def test_its_commands_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "new.csv").write_text("id,name,price\n1,pen,1.5\n4,cap,2\n")
    for year in (2013, 2014):
        (folder / f"planes_{year}.csv").write_text(f"tailnum,year\nN1,{year}\nN2,1998\n")
    commands = re.findall(r"^lamella (compare .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert cli.main(shlex.split(command, comments=True)) == cli.OK, capsys.readouterr().err
