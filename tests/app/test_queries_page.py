"""The page about queries holds from top to bottom, and its tables are the tables of the program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lamella.app import cli
from lamella.core.query.functions.aggregates import AGGREGATES
from lamella.core.query.functions.table import FUNCTIONS
from lamella.core.query.mongo.expressions import ACCUMULATORS, CONDITIONS, OPERATORS, RAW
from lamella.core.query.mongo.stages import LOOKUP, STAGES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "queries.md").read_text(encoding="utf8")


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """The folder that the examples were run in."""
    folder = tmp_path_factory.mktemp("page")
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) > 6
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile("\n".join(blocks), "docs/queries.md", "exec"), names := {})
    names["store"].close()
    return folder


@pytest.mark.parametrize("command", re.findall(r"^lamella .*", PAGE, re.MULTILINE))
def test_commands_do_what_the_page_says(air, command, monkeypatch, capsys):
    monkeypatch.chdir(air)
    assert cli.main(shlex.split(command)[1:]) == 0
    assert re.search(r"AA|rows +4", capsys.readouterr().out)


def test_every_function_is_in_its_table():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", PAGE.partition("| function |")[2], re.MULTILINE)
    assert rows == [(function.id, function.takes) for function in FUNCTIONS.values()]


def test_every_aggregate_is_in_its_table():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert rows == [(aggregate.id, aggregate.label, aggregate.takes) for aggregate in AGGREGATES.values()]


@pytest.mark.parametrize(
    ("what", "functions"),
    [
        ("stages", [*STAGES, LOOKUP]),
        ("accumulators", ACCUMULATORS),
        ("operators", [*OPERATORS, *CONDITIONS, *RAW]),
    ],
    ids=["stages", "accumulators", "operators"],
)
def test_everything_of_mongodb_is_in_its_table(what, functions):
    (row,) = re.findall(rf"^\| {what} \| (.*) \|$", PAGE, re.MULTILINE)
    assert row == ", ".join(f"`{name}`" for name in functions)
