"""A table, a model of plain dicts, and changes of rows and columns that are made to both.

The thresholds at which the store changes its method (catalog, change files, rewritten files, several files,
flush, merge) are so low that a few rows reach them all.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lamella import Store, col
from lamella.core.errors import LamellaError
from lamella.core.store.commit import Commit
from tests.property import operator_model
from tests.property.table_model import Content, History, Row

SMALL_SIZES = {
    "SMALL_ROWS": 3,
    "SMALL_CELLS": 8,
    "MOST_CHANGED_ROWS": 40,
    "FEW_ROWS": 3,
    "ROWS_A_GROUP": 5,
    "ROWS_A_FILE": 12,
    "ENTRIES": 4,
    "ROWS_A_KEY": 1,
    "CHANGE_FILES": 2,
    "FLUSH_ROWS_ABOVE": 12,
    "FLUSH_IDLE_FROM": 3,
    "rows_a_group": lambda columns: 5,
}

TYPES = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "list": pa.list_(pa.int64())}
NUMBERS = st.none() | st.integers(-5, 5)
WORDS = st.none() | st.sampled_from(["", "a", "b", "ä"])
VALUES = {"int": NUMBERS, "float": NUMBERS, "text": WORDS, "list": st.none() | st.lists(NUMBERS, max_size=3)}
FIRST = {"n": "int", "word": "text", "tags": "list"}
NAMES = ["n", "word", "tags", "N", "select", "a.b", "x y"]
CYCLE = ["a", None, "b", "", "ä"]
LIMITS = st.integers(-6, 6)


def rows_of(kinds: dict[str, str], most: int) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in kinds.items()})
    return st.lists(row.filter(bool), min_size=1, max_size=most)


def small_sizes() -> pytest.MonkeyPatch:
    """Set each threshold in every module of the store that uses it."""
    sizes, names = pytest.MonkeyPatch(), set()
    for module in [module for name, module in sys.modules.items() if name.startswith("lamella.core.store.")]:
        for name in SMALL_SIZES.keys() & vars(module).keys():
            sizes.setattr(module, name, SMALL_SIZES[name])
            names.add(name)
    assert names == SMALL_SIZES.keys()
    return sizes


class Base(RuleBasedStateMachine):
    """The table and its model, with methods to change and compare both."""

    @initialize(count=st.integers(0, 30))
    def create(self, count: int) -> None:
        rows = [{"n": i % 7 - 3, "word": CYCLE[i % 5], "tags": [i % 3] * (i % 4)} for i in range(count)]
        self.sizes = small_sizes()
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        self.second: Store | None = None
        self.name = "t"
        schema = pa.schema({name: TYPES[kind] for name, kind in FIRST.items()})
        batch = pa.RecordBatch.from_pylist(rows, schema)
        self.table = self.store.create_table("t", pa.Table.from_batches([batch]))
        created_rows = self.table.read().to_pylist()
        content = Content(FIRST, {row.pop("_id"): row for row in created_rows})
        assert list(content.rows.values()) == rows
        self.history = History({1: content}, content, 1, max(content.rows, default=-1))

    @property
    def now(self) -> Content:
        return self.history.now

    def committed(self, commit: Commit, content: Content) -> None:
        """Check that a commit without a new version has changed nothing."""
        if commit.version == self.history.version:
            assert content == self.now
        else:
            self.history.changed(content)

    def ids(self, data: st.DataObject, most: int = 20) -> list[int]:
        if not self.now.rows:
            return []
        known, first = sorted(self.now.rows), data.draw(st.integers(0, len(self.now.rows) - 1))
        step = data.draw(st.integers(1, 3))
        return known[first::step][:most] if data.draw(st.booleans()) else known[first : first + 1]

    def column(self, data: st.DataObject, *kinds: str) -> str | None:
        names = self.now.named(*kinds)
        return data.draw(st.sampled_from(names)) if names else None

    def new_name(self, data: st.DataObject) -> str | None:
        names = [name for name in NAMES if name not in self.now.kinds]
        return data.draw(st.sampled_from(names)) if names else None

    def added_ids(self, commit: Commit, count: int) -> list[int]:
        """The ids of the newest rows: new ones, which the commit reports."""
        added = self.table.read(columns=["_id"]).column(0).to_pylist()[-count:] if count else []
        assert added == sorted(set(added)) and all(i > self.history.given_ids for i in added)
        assert commit.inserted_ids.tolist() == added
        self.history.given_ids = max([self.history.given_ids, *added])
        return added

    @invariant()
    def reads_as_the_model_says(self) -> None:
        if hasattr(self, "table"):
            actual = self.table.read()
            assert actual.column_names == ["_id", *self.now.kinds]
            assert [TYPES[kind] for kind in self.now.kinds.values()] == actual.schema.types[1:]
            assert actual.to_pylist() == self.now.read()
            assert self.table.num_rows == len(self.now.rows)
            assert self.table.version == self.history.version

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        problems = self.store.maintenance.verify().problems
        for store in filter(None, (self.store, self.second)):
            store.close()
        self.sizes.undo()
        shutil.rmtree(self.folder)
        assert problems == ()


class Rows(Base):
    @rule(data=st.data())
    def insert_few(self, data: st.DataObject) -> None:
        self.insert(data.draw(rows_of(self.now.kinds or FIRST, 2)))

    @rule(data=st.data(), times=st.integers(2, 12))
    def insert_many(self, data: st.DataObject, times: int) -> None:
        self.insert(times * data.draw(rows_of(self.now.kinds or FIRST, 1)))

    def insert(self, rows: list[Row]) -> None:
        fresh = {name: kind for name, kind in FIRST.items() if name not in self.now.kinds}
        arriving = [name for name in fresh if any(row.get(name) is not None for row in rows)]
        rows = [{k: v for k, v in row.items() if k in self.now.kinds or k in arriving} for row in rows]
        content = self.now
        for name in dict.fromkeys(name for row in rows for name in row if name in arriving):
            if fresh[name] == "list":
                return  # a list of only nulls would give a column of another type
            content = content.with_column(name, fresh[name])
        if not any(rows):
            return
        added = self.added_ids(self.table.insert(rows), len(rows))
        self.history.changed(content.with_rows(dict(zip(added, rows, strict=True))))

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        ids = self.ids(data)
        if ids and self.now.kinds:
            change = data.draw(rows_of(self.now.kinds, 1))[0]
            commit = self.table.update([{"_id": i, **change} for i in ids])
            self.committed(commit, self.now.with_rows(dict.fromkeys(ids, change)))

    @rule(data=st.data(), values=st.lists(NUMBERS, min_size=1, max_size=20))
    def update_each(self, data: st.DataObject, values: list[int | None]) -> None:
        name, ids = self.column(data, "int", "float"), self.ids(data)[: len(values)]
        if name and ids:
            change = {i: {name: value} for i, value in zip(ids, values, strict=False)}
            commit = self.table.update([{"_id": i, **row} for i, row in change.items()])
            self.committed(commit, self.now.with_rows(change))

    @rule(data=st.data(), words=st.lists(WORDS, min_size=1, max_size=4, unique=True), value=NUMBERS)
    def upsert_or_update_by_key(
        self, data: st.DataObject, words: list[str | None], value: int | None
    ) -> None:
        key, name = self.column(data, "text"), self.column(data, "int", "float")
        if key is None or name is None:
            return
        actual = {w: self.now.ids_where(lambda row, w=w: row[key] == w) for w in words}
        content = self.now.with_rows({i: {name: value} for hits in actual.values() for i in hits})
        rows = [{key: word, name: value} for word in words]
        if all(actual.values()):
            self.committed(self.table.update(rows, on=key), content)
            return
        with pytest.raises(LamellaError, match="no row"):
            self.table.update(rows, on=key)
        commit = self.table.upsert(rows, on=key)
        assert commit.updated == sum(map(len, actual.values()))
        lacking = [row for row in rows if not actual[row[key]]]
        added = dict(zip(self.added_ids(commit, len(lacking)), lacking, strict=True))
        self.committed(commit, content.with_rows(added))

    @rule(data=st.data(), limit=LIMITS, everywhere=st.booleans())
    def operate(self, data: st.DataObject, limit: int, everywhere: bool) -> None:
        name, number = self.column(data, "int", "float", "list"), self.column(data, "int", "float")
        if name is None:
            return
        operators = operator_model.LISTS if self.now.kinds[name] == "list" else operator_model.NUMBERS
        operator = data.draw(st.sampled_from(sorted(operators)))
        operands, apply = operators[operator]
        operand = data.draw(operands)
        where: Any = None
        hit = sorted(self.now.rows)
        if not everywhere and number is not None and data.draw(st.booleans()):
            where = col(number) > limit
            hit = self.now.ids_where(lambda row: row[number] is not None and row[number] > limit)
        elif not everywhere:
            where = hit = sorted(self.ids(data))
        cells = {i: apply(self.now.rows[i][name], operand) for i in hit}
        changed = {i: {name: cell} for i, cell in cells.items() if cell != self.now.rows[i][name]}
        commit = self.table.update_where(where, {operator: {name: operand}})
        assert commit.updated == len(changed)
        self.committed(commit, self.now.with_rows(changed))

    @rule(data=st.data(), step=st.integers(-2, 2))
    def transform(self, data: st.DataObject, step: int) -> None:
        name = self.column(data, "int", "float")
        if name is None:
            return

        def moved(rows: pa.Table) -> dict[str, list[Any]]:
            return {name: [None if v is None else v + step for v in rows.column(name).to_pylist()]}

        cells = {i: row[name] for i, row in self.now.rows.items() if row[name] is not None}
        commit = self.table.transform(moved, columns=[name])
        assert commit.updated == (len(cells) if step else 0)
        self.committed(commit, self.now.with_rows({i: {name: v + step} for i, v in cells.items()}))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        ids = self.ids(data, most=6)
        commit = self.table.delete(ids=ids)
        assert commit.deleted == len(ids)
        self.committed(commit, self.now.without(ids))

    @rule(data=st.data(), word=WORDS)
    def delete_where(self, data: st.DataObject, word: str | None) -> None:
        name = self.column(data, "text")
        if name is not None:
            hit = self.now.ids_where(lambda row: row[name] == word)
            commit = self.table.delete(where=col(name) == word)
            assert commit.deleted == len(hit)
            self.committed(commit, self.now.without(hit))

    @rule(data=st.data(), keep=st.sampled_from(["first", "last"]))
    def drop_duplicates(self, data: st.DataObject, keep: str) -> None:
        names = self.now.named("int", "float", "text")
        if len(names) > 1:  # duplicates in one column only would leave hardly a row
            on = data.draw(st.permutations(names))[: max(2, len(names) - 1)]
            gone = self.now.duplicates(on, keep)
            commit = self.table.drop_duplicates(on=on, keep=keep)
            assert commit.deleted == len(gone)
            self.committed(commit, self.now.without(gone))


class Columns(Rows):
    @rule(data=st.data(), kind=st.sampled_from(sorted(VALUES)))
    def add_column(self, data: st.DataObject, kind: str) -> None:
        name, default = self.new_name(data), data.draw(VALUES[kind].filter(lambda v: v != []))
        if name is None:
            return
        commit = self.table.columns.add(name, TYPES[kind], default)
        self.committed(commit, self.now.with_column(name, kind, default))

    @rule(data=st.data())
    def drop_column(self, data: st.DataObject) -> None:
        name = self.column(data, *VALUES)
        if name is not None and len(self.now.kinds) > 2:
            commit = self.table.columns.drop(name)
            self.committed(commit, self.now.with_order([n for n in self.now.kinds if n != name]))

    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        old, new = self.column(data, *VALUES), self.new_name(data)
        if old is not None and new is not None:
            self.committed(self.table.columns.rename(old, new), self.now.renamed({old: new}))

    @rule(data=st.data())
    def reorder_columns(self, data: st.DataObject) -> None:
        names = data.draw(st.permutations(list(self.now.kinds)))
        self.committed(self.table.columns.reorder(names), self.now.with_order(names))

    @rule(data=st.data())
    def cast_column(self, data: st.DataObject) -> None:
        name = self.column(data, "int", "float")
        if name is None:
            return
        kind, convert = ("float", float) if self.now.kinds[name] == "int" else ("int", int)
        if kind == "float" and len(self.now.named("int", "float")) > 1 and data.draw(st.booleans()):
            kind, convert = "text", str
        commit = self.table.columns.cast(name, TYPES[kind])
        self.committed(commit, self.now.cast(name, kind, convert))
