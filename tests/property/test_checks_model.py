"""Random changes of a table with checks and defaults, against rows of plain Python: each has the same
effect on both, or is refused if it violates a check, and then nothing has changed.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lamella import Store, col
from lamella.core.errors import BadData, BrokenCheck
from lamella.core.store.column_rules import Checks
from lamella.core.store.commit import Commit
from tests.property.store_machine import small_sizes
from tests.slow_tests import examples

RUNS = examples(6)
STEPS = 30
Row = dict[str, Any]
VALUES = {
    "n": st.none() | st.integers(0, 9),
    "word": st.none() | st.sampled_from(["", "a", "b", "c", "ä"]),
    "x": st.none() | st.sampled_from([0.0, 0.5, 1.5, float("inf")]),
}
UNIQUE: dict[str, tuple[Any, ...]] = {"n": (0, 9, 4, None, 7, None), "word": ("a", None, "c", "", "ä")}
SCHEMA = pa.schema([("n", pa.int64()), ("word", pa.string()), ("x", pa.float64())])
NAMES = st.sampled_from(sorted(VALUES))
ROWS = st.fixed_dictionaries({}, optional=VALUES).filter(bool)
WHOLE_ROWS = st.fixed_dictionaries(VALUES)


@dataclass(frozen=True)
class Content:
    """A version: its rows by `_id`, and the rules of its columns."""

    rows: dict[int, Row] = field(default_factory=dict)
    checks: dict[str, Checks] = field(default_factory=dict)
    defaults: Row = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return all(self._meets(name, checks) for name, checks in self.checks.items())

    def _meets(self, name: str, checks: Checks) -> bool:
        values = [row[name] for row in self.rows.values()]
        present = [value for value in values if value is not None]
        doubled = checks.unique and len(set(present)) < len(present)
        strange = bool(checks.one_of) and not set(present) <= set(checks.one_of)
        return not (doubled or strange or (checks.required and len(present) < len(values)))

    def with_cells(self, cells: dict[int, Row]) -> Content:
        return replace(self, rows=self.rows | {i: self.rows[i] | row for i, row in cells.items()})

    def with_new(self, rows: dict[int, Row]) -> Content:
        empty = dict.fromkeys(VALUES) | self.defaults
        return replace(self, rows=self.rows | {i: empty | row for i, row in rows.items()})

    def without(self, ids: list[int]) -> Content:
        return replace(self, rows={i: row for i, row in self.rows.items() if i not in ids})


class CheckedTable(RuleBasedStateMachine):
    @initialize(
        rows=st.lists(WHOLE_ROWS, min_size=4, max_size=12),
        checked=st.sampled_from(["n", "word", "nothing"]),
        indexed=st.booleans(),
    )
    def create(self, rows: list[Row], checked: str, indexed: bool) -> None:
        """A table with a column without duplicates, so that it can be unique."""
        rows = [
            row | {checked: value} for row, value in zip(rows, UNIQUE.get(checked, ()), strict=False)
        ] or rows
        self.sizes, self.folder = small_sizes(), Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        self.table = self.store.create_table("t", pa.Table.from_pylist(rows, SCHEMA))
        if indexed:
            self.table.indexes.create(["n"])
        ids = self.table.read(["_id"])["_id"].to_pylist()
        self.now = Content(dict(zip(ids, rows, strict=True)))
        self.versions = {1: self.now}
        if checked in UNIQUE:
            after = replace(self.now, checks={checked: Checks(unique=True)})
            self.change(lambda: self.table.columns.set_checks(checked, unique=True), after)

    def change(self, make: Callable[[], Commit], after: Content, new: list[Row] | None = None) -> None:
        """Make the change, with the expected result `after`; `new` are rows that receive ids."""
        placed = after if new is None else after.with_new({-1 - i: row for i, row in enumerate(new)})
        if not placed.holds:
            with pytest.raises(BrokenCheck):
                make()
            return
        commit = make()
        if new is not None:
            after = after.with_new(dict(zip(commit.inserted_ids.tolist(), new, strict=True)))
        if commit.version not in self.versions:
            self.versions[commit.version] = after
        self.now = after

    def some_ids(self, data: st.DataObject) -> list[int]:
        known = sorted(self.now.rows)
        return data.draw(st.lists(st.sampled_from(known), max_size=6, unique=True)) if known else []

    @rule(data=st.data(), name=NAMES, required=st.none() | st.booleans(), unique=st.none() | st.booleans())
    def set_checks(self, data: st.DataObject, name: str, required: bool | None, unique: bool | None) -> None:
        values = VALUES[name].filter(lambda value: value is not None)
        one_of = data.draw(st.none() | st.just([]) | st.lists(values, min_size=3, max_size=5, unique=True))
        before = self.now.checks.get(name, Checks())
        checks = Checks(
            before.required if required is None else required,
            before.unique if unique is None else unique,
            before.one_of if one_of is None else tuple(one_of),
        )
        after = replace(self.now, checks=self.now.checks | {name: checks})
        default = self.now.defaults.get(name)

        def change() -> Commit:
            return self.table.columns.set_checks(name, required=required, unique=unique, one_of=one_of)

        if default is not None and checks.one_of and default not in checks.one_of:
            with pytest.raises(BadData):
                change()
        else:
            self.change(change, after)

    @rule(data=st.data(), name=NAMES)
    def set_default(self, data: st.DataObject, name: str) -> None:
        value = data.draw(VALUES[name])
        one_of = self.now.checks.get(name, Checks()).one_of
        if value is not None and one_of and value not in one_of:
            with pytest.raises(BadData):
                self.table.columns.set_default(name, value)
            return
        after = replace(self.now, defaults=self.now.defaults | {name: value})
        self.change(lambda: self.table.columns.set_default(name, value), after)

    @rule(rows=st.lists(ROWS, min_size=1, max_size=3), times=st.sampled_from([1, 1, 1, 6]))
    def insert(self, rows: list[Row], times: int) -> None:
        self.change(lambda: self.table.insert(times * rows), self.now, times * rows)

    @rule(rows=st.lists(WHOLE_ROWS, min_size=1, max_size=9), names=st.lists(NAMES, min_size=1, unique=True))
    def insert_columns(self, rows: list[Row], names: list[str]) -> None:
        new_rows = [{name: row[name] for name in names} for row in rows]
        schema = pa.schema([SCHEMA.field(name) for name in names])
        self.change(lambda: self.table.insert(pa.Table.from_pylist(new_rows, schema)), self.now, new_rows)

    @rule(data=st.data(), row=ROWS)
    def update(self, data: st.DataObject, row: Row) -> None:
        ids = self.some_ids(data)
        after = self.now.with_cells(dict.fromkeys(ids, row))
        self.change(lambda: self.table.update([{"_id": i, **row} for i in ids]), after)

    @rule(data=st.data())
    def update_each(self, data: st.DataObject) -> None:
        """Swap values between rows."""
        ids, name = self.some_ids(data), data.draw(NAMES)
        cells = {i: {name: self.now.rows[j][name]} for i, j in zip(ids, ids[1:] + ids[:1], strict=True)}
        rows = [{"_id": i, **row} for i, row in cells.items()]
        self.change(lambda: self.table.update(rows), self.now.with_cells(cells))

    @rule(data=st.data(), key=st.integers(0, 9), name=st.sampled_from(["word", "x"]))
    def update_where(self, data: st.DataObject, key: int, name: str) -> None:
        value = data.draw(VALUES[name])
        cells = {i: {name: value} for i, row in self.now.rows.items() if row["n"] == key}
        change = {"$set": {name: value}}
        self.change(lambda: self.table.update_where(col("n") == key, change), self.now.with_cells(cells))

    @rule(
        rows=st.lists(
            ROWS.filter(lambda row: "n" in row), min_size=1, max_size=4, unique_by=lambda row: row["n"]
        )
    )
    def upsert(self, rows: list[Row]) -> None:
        ids_by_n = {row["n"]: [i for i, own in self.now.rows.items() if own["n"] == row["n"]] for row in rows}
        cells = {i: row for row in rows for i in ids_by_n[row["n"]]}
        new = [row for row in rows if not ids_by_n[row["n"]]]
        self.change(lambda: self.table.upsert(rows, on="n"), self.now.with_cells(cells), new)

    @rule(step=st.integers(-1, 1))
    def transform(self, step: int) -> None:
        def moved(rows: pa.Table) -> dict[str, list[Any]]:
            return {"n": [None if n is None else n + step for n in rows["n"].to_pylist()]}

        cells = {i: {"n": row["n"] + step} for i, row in self.now.rows.items() if row["n"] is not None}
        self.change(lambda: self.table.transform(moved, columns=["n"]), self.now.with_cells(cells))

    @rule(data=st.data(), row=WHOLE_ROWS, name=NAMES)
    def edit(self, data: st.DataObject, row: Row, name: str) -> None:
        gone, ids = self.some_ids(data)[:2], self.some_ids(data)
        ids = [i for i in ids if i not in gone]
        cells = pa.table(
            {
                "_id": pa.array(ids, pa.int64()),
                name: pa.array([row[name]] * len(ids), SCHEMA.field(name).type),
            }
        )
        new = {column: value for column, value in row.items() if column != name}
        rows = pa.Table.from_pylist([new], pa.schema([SCHEMA.field(column) for column in new]))
        after = self.now.with_cells({i: {name: row[name]} for i in ids}).without(gone)
        self.change(lambda: self.table.edit([cells], rows, gone), after, [new])

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        ids = self.some_ids(data)
        self.change(lambda: self.table.delete(ids=ids), self.now.without(ids))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.versions)))
        self.change(lambda: self.table.history.restore(version), self.versions[version])

    @rule()
    def flush(self) -> None:
        self.table.maintenance.flush()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s")
        self.table = self.store["t"]

    @invariant()
    def rows_and_rules_are_those_of_the_model(self) -> None:
        if not hasattr(self, "table"):
            return
        assert self.now.holds
        actual = {row.pop("_id"): row for row in self.table.read().to_pylist()}
        assert actual == self.now.rows
        for name in VALUES:
            assert self.table.columns.checks(name) == self.now.checks.get(name, Checks())
            assert self.table.columns.default(name) == self.now.defaults.get(name)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            problems = self.store.maintenance.verify().problems
            self.store.close()
            self.sizes.undo()
            shutil.rmtree(self.folder)
            assert problems == ()


CheckedTable.TestCase.settings = settings(
    max_examples=RUNS, stateful_step_count=STEPS, deadline=None, report_multiple_bugs=False
)
TestCheckedTable = CheckedTable.TestCase
