"""The same rows are found with and without indexes, in the same order, after any changes to the table."""

from __future__ import annotations

import datetime as dt
import math
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamella import Store
from lamella.core.errors import StoreProblem
from lamella.core.filters import And, Filter, Or, Predicate
from lamella.core.index import runs
from lamella.core.index import sorted_index as changed
from lamella.core.index import sorted_index as sorted_values
from lamella.core.query.find import Method, RowSearch, find_rows, forget
from lamella.core.scan.snapshot import Snapshot, SortKey
from lamella.core.store import Table
from tests.property.store_machine import small_sizes
from tests.slow_tests import examples

RUNS = examples(10)
TEXT = st.text("aAbBé😀%_\\\0 0", max_size=3)
FLOATS = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.5, math.nan, math.inf, -math.inf])
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
WHOLE = MOMENTS.map(lambda moment: moment.replace(microsecond=0, tzinfo=dt.UTC))
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i8": (pa.int8(), st.integers(-3, 3) | st.sampled_from([-128, 127])),
    "i64": (pa.int64(), st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])),
    "u64": (pa.uint64(), st.integers(0, 3) | st.just(2**64 - 1)),
    "f32": (pa.float32(), FLOATS),
    "f64": (pa.float64(), FLOATS),
    "dec": (pa.decimal128(9, 2), st.decimals(-2, 2, places=2)),
    "long": (pa.decimal128(38, 1), st.decimals(-2, 2, places=1) | st.just(Decimal(10**37 - 1))),
    "longest": (pa.decimal256(50, 0), st.sampled_from([Decimal(-(10**49)), Decimal(0), Decimal(7)])),
    "text": (pa.string(), TEXT),
    "bytes": (pa.binary(), st.binary(max_size=2)),
    "day": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), MOMENTS),
    "zoned": (pa.timestamp("ms", "America/New_York"), WHOLE),
    "clock": (pa.time64("us"), st.times()),
    "span": (pa.duration("ms"), st.integers(-3, 3).map(lambda n: dt.timedelta(milliseconds=n))),
    "key": (pa.uuid(), st.integers(0, 3).map(lambda n: UUID(int=n << 120))),
    "flag": (pa.bool_(), st.booleans()),
}
NUMBERS = ("i8", "i64", "u64", "f32", "f64", "dec", "long", "longest")
ODD = st.sampled_from([0.5, 10**40, -(10**40), math.inf, -math.inf, Decimal("1.005"), 3])
NUMBER = st.integers(0, 10**6)
NO_VALUE = ("is_null", "not_null")
ORDERED = ("eq", "ne", "gt", "gte", "lt", "lte")


def operators(kind: str) -> list[str]:
    if kind == "flag":
        return ["eq", "ne", "is_true", "is_false", *NO_VALUE]
    if kind in ("bytes", "key"):
        return ["eq", "ne", "in", "nin", *NO_VALUE]
    texts = ["starts_with", "like", "contains", "is_empty", "not_empty"] if kind == "text" else []
    return [*ORDERED, "between", "not_between", "in", "nin", *NO_VALUE, *texts]


@st.composite
def predicate(draw: st.DrawFn, kinds: dict[str, str]) -> Predicate:
    name = draw(st.sampled_from(sorted(kinds)))
    kind = kinds[name]
    value = TYPES[kind][1] | ODD if kind in NUMBERS else TYPES[kind][1]
    operator = draw(st.sampled_from(operators(kind)))
    if operator in ("between", "not_between"):
        return Predicate(name, operator, (draw(value), draw(value)))
    if operator in ("in", "nin"):
        return Predicate(name, operator, tuple(draw(st.lists(value, max_size=3))))
    if operator.startswith(("is_", "not_")):
        return Predicate(name, operator)
    if operator == "like":
        return Predicate(name, "like", (draw(st.sampled_from(["a%", "a", "%a", "_", "ab%b", r"\%%", ""])),))
    folds = kind == "text" and draw(st.integers(0, 5)) == 0
    return Predicate(name, operator, (draw(value),), ignore_case=folds)


def filters(kinds: dict[str, str]) -> st.SearchStrategy[Filter]:
    some = st.lists(predicate(kinds), min_size=1, max_size=3).map(tuple)
    return (
        predicate(kinds)
        | some.map(And)
        | some.map(Or)
        | st.lists(some.map(Or), min_size=2, max_size=2).map(lambda parts: And(tuple(parts)))
    )


def sorts(kinds: dict[str, str]) -> st.SearchStrategy[tuple[SortKey, ...]]:
    key = st.builds(SortKey, st.sampled_from(sorted(kinds)), st.booleans())
    return st.lists(key, min_size=1, max_size=2, unique_by=lambda k: k.column).map(tuple)


def agree(snapshot: Snapshot, where: Filter | None, sort: tuple[SortKey, ...], limit: int | None) -> bool:
    """Check that the rows are the same as without indexes, and return whether an index was used."""
    bare = replace(snapshot, indexes=None)
    forget()  # so that no earlier sort order is reused
    search = RowSearch(snapshot, where, sort, limit).run()
    expected = find_rows(bare, where, sort, method=Method.DUCKDB)
    if where is not None:
        assert np.array_equal(find_rows(bare, where, sort, method=Method.MASKS), expected)
    assert search.positions[:limit].tolist() == expected[:limit].tolist()
    return search.index is not None


def cells(kind: str, count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | TYPES[kind][1], min_size=count, max_size=count)


def typed(kinds: dict[str, str], columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(columns[name], TYPES[kind][0]) for name, kind in kinds.items()})


@pytest.fixture
def store() -> Iterator[Store]:
    folder = Path(tempfile.mkdtemp())
    with Store.open(folder / "s") as opened:
        yield opened
    shutil.rmtree(folder)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A patch for the limits between the ways of looking up lists, so that few rows reach all of them."""
    return monkeypatch


@pytest.mark.slow(after=1)
@settings(max_examples=max(1, RUNS // 5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_found_and_sorted_as_without(
    kind: str, data: st.DataObject, store: Store, limits: pytest.MonkeyPatch
) -> None:
    kinds = {"x": kind, "y": data.draw(st.sampled_from(sorted(TYPES)))}
    count = data.draw(st.integers(1, 12))
    few, much_fewer = data.draw(st.sampled_from([(runs.FEW_VALUES, 1), (0, 1), (0, 1_000)]))
    limits.setattr(runs, "FEW_VALUES", few)
    limits.setattr(sorted_values, "MUCH_FEWER", much_fewer)
    rows = typed(kinds, {name: data.draw(cells(k, count)) for name, k in kinds.items()})
    for left in store.tables:
        store.drop_table(left)
    table = store.create_table("t", rows)
    table.maintenance.flush()
    for name in kinds:
        table.indexes.create(name)
    snapshot = table.snapshot()
    for _ in range(5):
        agree(snapshot, data.draw(predicate({"x": kind})), (), None)
        agree(snapshot, data.draw(filters(kinds)), (), None)
        limit = data.draw(st.integers(0, 5))
        assert agree(snapshot, None, data.draw(sorts(kinds)), limit)
        agree(snapshot, data.draw(filters(kinds)), data.draw(sorts(kinds)), limit)


class Changing(RuleBasedStateMachine):
    """A table with indexes, with every kind of change."""

    @initialize(data=st.data(), count=st.integers(0, 20))
    def create(self, data: st.DataObject, count: int) -> None:
        self.sizes = small_sizes()
        self.sizes.setattr(changed, "FEWEST", 2)
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        chosen = data.draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=2))
        self.kinds = dict(zip(("x", "y"), chosen, strict=True))
        rows = typed(self.kinds, {name: data.draw(cells(k, count)) for name, k in self.kinds.items()})
        self.store.create_table("t", rows)
        self.table.indexes.create("x")

    @property
    def table(self) -> Table:
        return self.store["t"]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)
            self.sizes.undo()

    def ids(self, data: st.DataObject) -> list[int]:
        known = self.table.read(columns=["_id"]).column(0).to_pylist()
        return data.draw(st.lists(st.sampled_from(known), unique=True, max_size=6)) if known else []

    @rule(data=st.data(), count=st.integers(1, 8))
    def insert(self, data: st.DataObject, count: int) -> None:
        self.table.insert(typed(self.kinds, {n: data.draw(cells(k, count)) for n, k in self.kinds.items()}))

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        ids = self.ids(data)
        name = data.draw(st.sampled_from(sorted(self.kinds)))
        kind = self.kinds[name]
        values = pa.array(data.draw(cells(kind, len(ids))), TYPES[kind][0])
        self.table.update(pa.table({"_id": pa.array(ids, pa.int64()), name: values}))

    @rule(data=st.data())
    def update_where(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.kinds)))
        value = data.draw(st.none() | TYPES[self.kinds[name]][1])
        self.table.update_where(data.draw(predicate(self.kinds)), {"$set": {name: value}})

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.table.delete(ids=self.ids(data))

    @rule(step=st.sampled_from(["flush", "compact"]))
    def tidy(self, step: str) -> None:
        getattr(self.table.maintenance, step)()

    @rule(step=st.sampled_from(["undo", "redo"]))
    def back_or_forth(self, step: str) -> None:
        try:
            getattr(self.table.history, step)()
        except StoreProblem:
            return

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        self.table.history.restore(data.draw(st.integers(1, self.table.version)))

    @rule(name=st.sampled_from(["x", "y"]))
    def index_or_not(self, name: str) -> None:
        if any(index.columns == (name,) for index in self.table.indexes):
            self.table.indexes.drop(name)
        else:
            self.table.indexes.create(name)

    @rule(number=NUMBER, place=NUMBER, how=st.sampled_from(["gone", "damaged", "another's"]))
    def harm(self, number: int, place: int, how: str) -> None:
        """Files are drawn by number, since their names and order differ in each run."""
        files = sorted(f for f in (self.folder / "s" / "index").rglob("*") if f.is_file())
        if not files:
            return
        file = files[number % len(files)]
        self.store.close()
        if how == "gone":
            file.unlink()
        elif how == "damaged":
            content = bytearray(file.read_bytes())
            content[place % len(content)] ^= 1 << (place % 8)
            file.write_bytes(content)
        else:
            file.write_bytes(files[place % len(files)].read_bytes())
        self.store = Store.open(self.folder / "s")

    @rule()
    def vacuum(self) -> None:
        self.store.maintenance.vacuum()

    @rule(data=st.data(), limit=st.integers(0, 5))
    def ask(self, data: st.DataObject, limit: int) -> None:
        version = data.draw(st.none() | st.integers(1, self.table.version))
        snapshot = self.table._state(version).snapshot
        agree(snapshot, data.draw(filters(self.kinds)), (), None)
        agree(snapshot, data.draw(filters(self.kinds)), data.draw(sorts(self.kinds)), limit)

    @invariant()
    def values_that_are_there_are_found(self) -> None:
        if not hasattr(self, "store"):
            return
        snapshot = self.table.snapshot()
        for (name,) in (index.columns for index in self.table.indexes):
            present = self.table.read(columns=[name]).column(0).drop_null()
            samples = [present[place] for place in (0, -1) if len(present)]
            for condition in (Predicate(name, "is_null"), *(Predicate(name, "eq", (v,)) for v in samples)):
                agree(snapshot, condition, (), None)

    @precondition(lambda self: self.table.indexes)
    @rule(data=st.data(), limit=st.integers(0, 5))
    def sort(self, data: st.DataObject, limit: int) -> None:
        name = self.table.indexes[0].columns[0]
        keys = (SortKey(name, data.draw(st.booleans())), *data.draw(sorts({"x": "", "y": ""})))
        keys = tuple({key.column: key for key in reversed(keys)}.values())[::-1]
        assert agree(self.table.snapshot(), None, keys, limit) or keys[0].column != name


TestChanging = Changing.TestCase
TestChanging.settings = settings(max_examples=RUNS * 2 // 3, stateful_step_count=20, deadline=None)
