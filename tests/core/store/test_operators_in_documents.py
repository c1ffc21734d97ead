"""Operators change a key of a document whether it is stored as a field or as JSON among the rarer keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store
from lamella.core.arrow.documents import whole
from lamella.core.arrow.from_python import to_table
from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column
from lamella.core.store import Table
from lamella.core.store.operators import apply_assignments, assignments
from lamella.core.store.operators.rows import RowContext

MIXED = [{"d": {"x": 1, "y": "s"}}, {"d": {"x": "t", "y": "u"}}, {"d": None}]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        yield store.create_table("t", MIXED)


def documents(table: Table) -> list[Any]:
    return [(table.get(i) or {})["d"] for i in range(table.count())]


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ({"$set": {"d.x": 5}}, {"x": 5, "y": "s"}),
        ({"$set": {"d.x": [1, "a"]}}, None),
        ({"$set": {"d.x": {"deep": [1]}}}, {"x": {"deep": [1]}, "y": "s"}),
        ({"$set": {"d.y": 7}}, {"x": 1, "y": 7}),
        ({"$set": {"d.z": 2}}, {"x": 1, "y": "s", "z": 2}),
        ({"$inc": {"d.x": 5}}, {"x": 6, "y": "s"}),
        ({"$max": {"d.x": 5}}, {"x": 5, "y": "s"}),
        ({"$unset": {"d.x": 1}}, {"y": "s"}),
        ({"$rename": {"d.x": "d.z"}}, {"y": "s", "z": 1}),
        ({"$rename": {"d.y": "d.x"}}, {"x": "s"}),
        ({"$push": {"d.x": 5}}, None),
        ({"$set": {"d.x": dt.date(2024, 1, 1)}}, None),
        ({"$set": {"d._rest": "junk"}}, None),
    ],
)
def test_an_operator_changes_the_document_or_is_refused(
    table: Table, operators: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    if expected is None:
        with pytest.raises(BadData, match=r"column 'd\.|'d\._rest' cannot be changed"):
            table.update_where([0], operators)
        assert documents(table) == [row["d"] for row in MIXED]
        return
    assert table.update_where([0], operators).updated == 1
    assert documents(table) == [expected, MIXED[1]["d"], None]


def test_what_is_set_can_be_set_again_and_read_as_a_field(table: Table) -> None:
    table.update_where(None, {"$set": {"d.x": 1}})
    table.update_where(None, {"$inc": {"d.x": 1}})
    assert documents(table) == [{"x": 2, "y": "s"}, {"x": 2, "y": "u"}, {"x": 2}]
    table.update_where([1], {"$set": {"d.y": "new"}})
    assert table.read(["d.y"]).column(0).to_pylist() == ["s", "new", None]


def test_keys_beyond_the_most_fields_are_changed_too(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("wide", [{"d": {f"k{i}": i for i in range(250)}}])
        table.update_where(None, {"$inc": {"d.k1": 1, "d.k249": 1}, "$set": {"d.other": 3}})
        assert documents(table) == [{f"k{i}": i + (i in (1, 249)) for i in range(250)} | {"other": 3}]


VALUES = st.integers(-9, 9) | st.text("ab", max_size=2) | st.dictionaries(st.sampled_from("xy"), st.integers(0, 9), min_size=1)  # fmt: skip # noqa: E501
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from("xyz"), VALUES, min_size=1), min_size=1, max_size=6)


@given(DOCUMENTS, st.sampled_from("xyzw"), st.none() | VALUES)
def test_a_key_is_set_in_documents_of_any_shape(
    given_documents: list[dict[str, Any]], key: str, value: Any
) -> None:
    mixed = [*given_documents, {"m": 1}, {"m": "t"}]
    column = to_table([{"d": document} for document in mixed]).column("d").combine_chunks()
    assigned = assignments({"$set": {f"d.{key}": value}}, [Column("d", column.type, 1)], "t")
    context = RowContext("t", np.arange(len(column)), {"d": column}, Job())
    new = apply_assignments(assigned, {"d": column}, len(column), context)["d"].to_pylist()
    given_value = {} if value is None else {key: value}
    expected = [{k: v for k, v in document.items() if k != key} | given_value for document in mixed]
    assert [without_nulls(whole(document)) for document in new] == expected


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value
