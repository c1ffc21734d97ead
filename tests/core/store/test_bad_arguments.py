"""Meaningless arguments are refused with a way out and change nothing; empty requests do nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, LamellaError, StoreProblem

HALF = "\ud800"
Ask = Callable[[Any], Any]


@pytest.fixture
def table(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "s") as store:
        yield store.create_table("t", [{"a": i, "b": str(i)} for i in range(10)])


def refused(table: Any, ask: Ask, said: str) -> None:
    version, tables = table.version, table.store.tables
    with pytest.raises(BadData, match=said) as refusal:
        ask(table)
    assert refusal.value.fix
    assert (table.version, table.store.tables) == (version, tables)


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("value", [1.5, "3", None, True, 10**30, -(2**63) - 1, dt.date(2020, 1, 1)])
@pytest.mark.parametrize(
    "ask",
    [
        lambda t, i: t.get(i),
        lambda t, i: t.read(ids=[i]),
        lambda t, i: t.delete(ids=[0, i]),
        lambda t, i: t.update_where([i], {"$set": {"a": 1}}),
    ],
)
def test_an_id_is_a_whole_number(table: Any, ask: Callable[[Any, Any], Any], value: Any) -> None:
    refused(table, lambda t: ask(t, value), "is not an _id")


@pytest.mark.parametrize("row_id", [-1, 10, 2**63 - 1, -(2**63)])
def test_an_id_that_no_row_has_gets_none(table: Any, row_id: int) -> None:
    assert table.get(row_id) is None


ROW = [{"a": 1, "b": "x"}]
KEYS: list[tuple[str, Ask]] = [
    ("no key columns", lambda t: t.update(ROW, on=[])),
    ("no key columns", lambda t: t.upsert(ROW, on=[])),
    ("'a' is named twice", lambda t: t.update(ROW, on=["a", "a"])),
    ("'a' is named twice", lambda t: t.upsert(ROW, on=["b", "a", "a"])),
    ("an upsert takes no _id", lambda t: t.upsert(ROW, on="a", set_on_insert={"_id": 500})),
]
COUNTS: list[tuple[str, Ask]] = [
    ("limit '3' is not a whole number", lambda t: t.read(limit="3")),
    ("limit 1.0 is not a whole number", lambda t: t.read(limit=1.0)),
    ("offset None is not a whole number", lambda t: t.read(offset=None)),
    ("limit True is not a whole number", lambda t: t.read(limit=True)),
    ("offset -1 is negative", lambda t: t.read(offset=-1)),
    ("a page of 0 is less than 1", lambda t: t.page(0)),
    ("a page of '5' is not a whole number", lambda t: t.page("5")),
]
TEXTS: list[tuple[str, Ask]] = [
    ("the table name", lambda t: t.store.create_table(HALF, ROW)),
    ("the table name", lambda t: t.store.rename_table("t", HALF)),
    ("the column name", lambda t: t.insert([{HALF: "x"}])),
    ("the column name", lambda t: t.insert([{HALF: 1, "a": 2}])),
    ("the column name", lambda t: t.insert({HALF: [1]})),
    ("the column name", lambda t: t.columns.add(HALF, "int64")),
    ("the column name", lambda t: t.columns.rename("a", HALF)),
    ("the column name", lambda t: t.update_where(None, {"$set": {HALF: 1}})),
    ("the column name", lambda t: t.upsert([{"a": 99}], on="a", set_on_insert={HALF: 1})),
    ("the message", lambda t: t.insert(ROW, message=HALF)),
    ("the message", lambda t: t.insert(ROW * 5_000, message=HALF)),
    ("the message", lambda t: t.store.create_table("u", ROW, message=HALF)),
    ("the message", lambda t: t.store.transaction(HALF).__enter__()),
    ("the version name", lambda t: t.history.name_version(HALF)),
    ("the version", lambda t: t.as_of(HALF)),
    ("the metadata", lambda t: t.set_metadata({"k": HALF})),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("said", "ask"), [*KEYS, *COUNTS, *TEXTS])
def test_what_means_nothing_is_refused(table: Any, said: str, ask: Ask) -> None:
    refused(table, ask, said)
    assert table.store.maintenance.verify().problems == ()


def test_the_message_of_a_restore_is_refused_like_others(table: Any) -> None:
    table.insert(ROW)
    refused(table, lambda t: t.history.restore(1, message=HALF), "the message")


def test_a_limit_may_be_larger_than_any_table(table: Any) -> None:
    for sort in (None, ["-a"]):
        assert table.read(limit=2**70, sort=sort).num_rows == 10
        assert table.read(limit=2**70, offset=2**70, sort=sort).num_rows == 0
        assert table.page(2**70, sort=sort).rows.num_rows == 10
    assert table.read(where=col("a") > 4, limit=2**70, offset=1).num_rows == 4


@pytest.mark.parametrize("rows", [[], {"_id": []}, {"a": []}, pa.table({"new": pa.array([], pa.int64())})])
def test_no_rows_change_nothing(table: Any, rows: Any) -> None:
    before = table.schema
    for commit in (table.update(rows), table.update(rows, on="a"), table.upsert(rows, on="a")):
        assert (commit.version, commit.updated, commit.inserted) == (1, 0, 0)
    assert table.schema == before


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_times_at_the_ends_of_the_calendar_are_times_like_others(table: Any, hours: int) -> None:
    zone = dt.timezone(dt.timedelta(hours=hours))
    assert table.as_of(dt.datetime.max.replace(tzinfo=zone)).version == 1
    assert table.as_of(dt.datetime.max).version == 1
    for first in (dt.datetime.min, dt.datetime.min.replace(tzinfo=zone)):
        with pytest.raises(StoreProblem, match="there was no version yet"):
            table.as_of(first)
    table.insert(ROW)
    for long_ago in (dt.timedelta.max, dt.datetime.min.replace(tzinfo=zone)):
        assert table.maintenance.expire(older_than=long_ago).expired == ()
    for ahead in (dt.timedelta.min, -dt.timedelta(days=1)):
        with pytest.raises(BadData, match="is in the future"):
            table.maintenance.expire(older_than=ahead)


FAR = [
    pa.scalar(9 * 10**18, pa.timestamp("us")),
    pa.scalar(9 * 10**18, pa.timestamp("us", "UTC")),
    pa.scalar(2**31 - 1, pa.date32()),
    pa.scalar(2**62, pa.duration("s")),
]
"""Times and a duration that Arrow can represent and Python cannot."""


@pytest.mark.slow(except_every=6)
@pytest.mark.parametrize("value", FAR, ids=lambda value: str(value.type))
@pytest.mark.parametrize(
    "ask",
    [
        lambda t, v: t.insert([{"a": v}]),
        lambda t, v: t.insert({"c": [v]}),
        lambda t, v: t.update([{"_id": 1, "b": v}]),
        lambda t, v: t.upsert([{"a": v}], on="a"),
        lambda t, v: t.update_where("a = 1", {"$set": {"c": v}}),
        lambda t, v: t.update_where("a = 1", {"$inc": {"a": v}}),
        lambda t, v: t.update_where("a = 1", {"$max": {"a": v}}),
        lambda t, v: t.update_where("a = 1", {"$bit": {"a": {"or": v}}}),
        lambda t, v: t.update_where("a = 1", {"$push": {"c": v}}),
        lambda t, v: t.delete(col("a") == v),
        lambda t, v: t.read(where={"a": {"$gt": v}}),
        lambda t, v: t.read(where=col("a").is_in([v])),
        lambda t, v: t.compute(c=v).read(),
        lambda t, v: t.compute(c=col("a") + v).read(),
        lambda t, v: t.where(col("a") > v).to_json(),
        lambda t, v: t.get(v),
    ],
)
def test_a_time_that_python_cannot_hold_is_refused(table: Any, ask: Callable[..., Any], value: Any) -> None:
    version = table.version
    with pytest.raises(LamellaError):
        ask(table, value)
    assert table.version == version


@pytest.mark.parametrize("row", [7, [1], {1: 2}, "n", b"n", {"a": 1}, object(), FAR[2]])
def test_odd_values_for_new_rows_alone_are_refused(table: Any, row: Any) -> None:
    refused(table, lambda t: t.upsert([{"a": 100}], on="a", set_on_insert=row), "t: |column")


@pytest.mark.parametrize("path", [FAR[2], [[[]]] * 3, 7, b"x"])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    deep: Any = path
    for _ in range(3_000 if isinstance(path, list) else 0):
        deep = [deep]
    with pytest.raises(BadData, match="is not a path"):
        Store.open(deep)
