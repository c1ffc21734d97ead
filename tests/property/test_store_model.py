"""Random changes to a table against a model of plain dicts that is changed the same way.

The sizes at which the store takes another way (catalog, change files, rewritten files, several files, flush,
merge) are made so small that a few rows take them all. LAMELLA_LONG_RUNS=5000 runs it longer.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core import Store, col
from core.errors import LamellaError
from tests.property.table_model import Content, History, Row

RUNS = int(os.environ.get("LAMELLA_LONG_RUNS", "200"))
STEPS = 50

SMALL_SIZES = {
    "SMALL_ROWS": 3,
    "SMALL_CELLS": 8,
    "MOST_CHANGED_ROWS": 40,
    "FEW_ROWS": 3,
    "ROWS_A_GROUP": 5,
    "ROWS_A_FILE": 12,
    "ENTRIES": 4,
    "CHANGE_FILES": 2,
    "FLUSH_ROWS_ABOVE": 12,
    "rows_a_group": lambda columns: 5,
}

NUMBERS = st.none() | st.integers(-5, 5)
WORDS = st.none() | st.sampled_from(["", "a", "b", "ä"])
VALUES = {"n": NUMBERS, "word": WORDS}
SCHEMA = pa.schema({"n": pa.int64(), "word": pa.string()})
ROW = st.fixed_dictionaries({}, optional=VALUES).filter(bool)


def small_sizes() -> pytest.MonkeyPatch:
    """Sets each size in every module of the store that goes by it."""
    sizes, found = pytest.MonkeyPatch(), set()
    for module in [module for name, module in sys.modules.items() if name.startswith("core.store.")]:
        for name in SMALL_SIZES.keys() & vars(module).keys():
            sizes.setattr(module, name, SMALL_SIZES[name])
            found.add(name)
    assert found == SMALL_SIZES.keys()
    return sizes


class TableMachine(RuleBasedStateMachine):
    @initialize(rows=st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=30))
    def create(self, rows: list[Row]) -> None:
        self.sizes = small_sizes()
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        self.table = self.store.create_table(
            "t", pa.Table.from_batches([pa.RecordBatch.from_pylist(rows, SCHEMA)])
        )
        held = self.table.read().to_pylist()
        content = Content(("n", "word"), {row.pop("_id"): row for row in held})
        assert list(content.rows.values()) == rows
        self.history = History({1: content}, content, 1)
        self.given_ids = max(content.rows)

    @property
    def now(self) -> Content:
        return self.history.now

    def some_ids(self, data: st.DataObject, most: int = 20) -> list[int]:
        if not self.now.rows:
            return []
        return data.draw(
            st.lists(st.sampled_from(sorted(self.now.rows)), min_size=1, max_size=most, unique=True)
        )

    @rule(rows=st.lists(ROW, min_size=1, max_size=12))
    def insert(self, rows: list[Row]) -> None:
        names = {name: None for row in rows for name in row}
        self.table.insert(rows)
        added = self.table.read(columns=["_id"]).column(0).to_pylist()[-len(rows) :]
        assert added[0] > self.given_ids and added == sorted(set(added))
        self.given_ids = added[-1]
        self.history.changed(self.now.grown_by(names).with_rows(dict(zip(added, rows, strict=True))))

    @rule(data=st.data(), change=ROW)
    def update(self, data: st.DataObject, change: Row) -> None:
        ids = self.some_ids(data)
        if ids:
            self.table.update([{"_id": i, **change} for i in ids])
            self.history.changed(self.now.grown_by(change).with_rows(dict.fromkeys(ids, change)))

    @rule(data=st.data(), rows=st.lists(NUMBERS, min_size=1, max_size=20))
    def update_each(self, data: st.DataObject, rows: list[int | None]) -> None:
        ids = self.some_ids(data)[: len(rows)]
        change = {i: {"n": n} for i, n in zip(ids, rows, strict=False)}
        if change:
            self.table.update([{"_id": i, **row} for i, row in change.items()])
            self.history.changed(self.now.grown_by(["n"]).with_rows(change))

    @rule(limit=st.integers(-6, 6), word=WORDS)
    def update_where(self, limit: int, word: str | None) -> None:
        hit = self.now.ids_where(lambda row: row["n"] is not None and row["n"] > limit)
        hit = [i for i in hit if self.now.rows[i]["word"] != word]
        done = self.table.update_where(col("n") > limit, {"$set": {"word": word}})
        assert done.updated == len(hit)
        if hit:
            self.history.changed(self.now.with_rows({i: {"word": word} for i in hit}))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        ids = self.some_ids(data, most=5)
        if ids:
            assert self.table.delete(ids=ids).deleted == len(ids)
            self.history.changed(self.now.without(ids))

    @rule(word=WORDS)
    def delete_where(self, word: str | None) -> None:
        hit = self.now.ids_where(lambda row: row["word"] == word)
        assert self.table.delete(where=col("word") == word).deleted == len(hit)
        if hit:
            self.history.changed(self.now.without(hit))

    @rule()
    def undo(self) -> None:
        if not self.history.done:
            with pytest.raises(LamellaError, match="nothing to undo"):
                self.table.undo()
            return
        self.table.undo()
        self.history.undo()

    @rule()
    def redo(self) -> None:
        if not self.history.undone:
            with pytest.raises(LamellaError, match="nothing to redo"):
                self.table.redo()
            return
        self.table.redo()
        self.history.redo()

    @rule()
    def flush(self) -> None:
        self.table.flush()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s")
        self.table = self.store["t"]

    @rule(limit=st.integers(-6, 6))
    def filtered(self, limit: int) -> None:
        hit = self.now.ids_where(lambda row: row["n"] is not None and row["n"] > limit)
        assert self.table.read(where=col("n") > limit).to_pylist() == self.now.read(hit)
        assert self.table.count(col("n") > limit) == len(hit)

    @rule(data=st.data())
    def get(self, data: st.DataObject) -> None:
        wanted = data.draw(st.integers(-1, self.given_ids + 1))
        expected = self.now.read([wanted])[0] if wanted in self.now.rows else None
        assert self.table.get(wanted) == expected

    @invariant()
    def reads_as_the_model_says(self) -> None:
        if hasattr(self, "table"):
            assert self.table.read().to_pylist() == self.now.read()
            assert self.table.num_rows == len(self.now.rows)
            assert self.table.version == self.history.version

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.sizes.undo()
            shutil.rmtree(self.folder)


TableMachine.TestCase.settings = settings(
    max_examples=RUNS, stateful_step_count=STEPS, deadline=None, report_multiple_bugs=False
)
TestTable = TableMachine.TestCase
