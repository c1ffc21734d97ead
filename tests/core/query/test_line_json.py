"""A saved line of steps keeps steps that are off, drafts, and joined datasets."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from lamella import col
from lamella.core.errors import BadQuery, StoreProblem
from lamella.core.query import agg
from lamella.core.query.line import Line, LineStep
from lamella.core.query.line_json import line_from_json, line_to_json
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Compute, Group, Join, Limit, Pipeline, Sort, Where
from lamella.core.scan.snapshot import SortKey, snapshot_of_rows

ADDRESS = ["/data/airlines.parquet"]


def airlines() -> SnapshotSource:
    return SnapshotSource(snapshot_of_rows(pa.table({"carrier": ["AA"]}), "airlines"))


def line() -> Line:
    join = Join(Pipeline("airlines", ()), ("carrier",), ("carrier",), "left", "_other")
    draft = {"all": [{"column": "delay", "operator": "gt", "values": ["6"], "on": False}]}
    steps = (
        LineStep(Where, Where(col("delay") > 60), draft=draft),
        LineStep(Compute, Compute((("hours", col("delay") / 60),)), on=False),
        LineStep(Join, join),
        LineStep(Group, Group(("carrier",), (("n", agg.count()),))),
        LineStep(Sort, Sort((SortKey("n", True),))),
        LineStep(Limit, None, draft={"count": "1O"}),
    )
    return Line(steps, {"airlines": airlines()})


def through_text(item: object) -> object:
    return json.loads(json.dumps(item))


def test_line_comes_back_with_steps_that_are_off_and_with_drafts():
    before, source = line(), airlines()
    after, problems = line_from_json(through_text(line_to_json(before, lambda _: ADDRESS)), lambda _: source)
    assert after.steps == before.steps and problems == []
    assert [step.draft for step in after.steps] == [step.draft for step in before.steps]
    assert [step.on for step in after.steps] == [True, False, True, True, True, True]
    assert after.sources == {"airlines": source}


def test_joined_dataset_that_cannot_be_opened_is_left_out_and_said():
    def gone(address: object) -> SnapshotSource:
        assert address == ADDRESS
        raise StoreProblem("airlines cannot be opened", "it is gone")

    after, (problem,) = line_from_json(through_text(line_to_json(line(), lambda _: ADDRESS)), gone)
    assert after.sources == {} and len(after.steps) == 6 and "airlines" in str(problem)


def test_joined_dataset_without_an_address_is_not_named():
    assert "sources" not in line_to_json(line(), lambda _: None)


@pytest.mark.parametrize(
    "item",
    [
        None,
        [],
        {"steps": 3},
        {"steps": ["where"]},
        {"steps": [{"kind": "wher"}]},
        {"steps": [{"kind": ["where"]}]},
        {"steps": [{"kind": "where", "step": {"nothing": 1}}]},
        {"steps": [], "sources": ["airlines"]},
    ],
)
def test_anything_else_is_refused(item):
    with pytest.raises(BadQuery):
        line_from_json(item, lambda _: airlines())
