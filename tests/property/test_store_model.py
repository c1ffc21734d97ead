"""Random changes to a table against a list of dicts that is changed the same way."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core import Store, col

VALUES = {"n": st.none() | st.integers(-5, 5), "word": st.none() | st.sampled_from(["", "a", "b", "ä"])}
ROW = st.fixed_dictionaries({}, optional=VALUES)


class TableMachine(RuleBasedStateMachine):
    @initialize(rows=st.lists(st.fixed_dictionaries(VALUES), max_size=5))
    def create(self, rows: list[dict]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        padding = [{"n": 100 + i, "word": "p"} for i in range(1_200)]
        self.table = self.store.create_table("t", rows + padding)
        self.rows = {i: dict(row) for i, row in enumerate(rows + padding)}
        self.next_id = len(self.rows)
        self.past: list[dict] = []
        self.future: list[dict] = []

    def changed(self) -> None:
        self.past.append(copy.deepcopy(self.rows))
        self.future.clear()

    @rule(rows=st.lists(ROW.filter(bool), min_size=1, max_size=3))
    def insert(self, rows: list[dict]) -> None:
        self.changed()
        self.table.insert(rows)
        for row in rows:
            self.rows[self.next_id] = {"n": row.get("n"), "word": row.get("word")}
            self.next_id += 1

    @rule(data=st.data(), change=ROW.filter(bool))
    def update(self, data: st.DataObject, change: dict) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.rows)), min_size=1, max_size=4, unique=True))
        self.changed()
        self.table.update([{"_id": i, **change} for i in chosen])
        for i in chosen:
            self.rows[i].update(change)

    @rule(limit=st.integers(-3, 120), word=VALUES["word"])
    def update_where(self, limit: int, word: str | None) -> None:
        hit = [i for i, row in self.rows.items() if row["n"] is not None and row["n"] > limit]
        hit = [i for i in hit if self.rows[i]["word"] != word]
        if hit:
            self.changed()
        assert self.table.update_where(col("n") > limit, {"$set": {"word": word}}).updated == len(hit)
        for i in hit:
            self.rows[i]["word"] = word

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.rows)), min_size=1, max_size=3, unique=True))
        self.changed()
        self.table.delete(ids=chosen)
        for i in chosen:
            del self.rows[i]

    @precondition(lambda self: self.past)
    @rule()
    def undo(self) -> None:
        self.table.undo()
        self.future.append(self.rows)
        self.rows = self.past.pop()

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        self.table.redo()
        self.past.append(self.rows)
        self.rows = self.future.pop()

    @rule()
    def flush(self) -> None:
        self.table.flush()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s")
        self.table = self.store["t"]

    @invariant()
    def reads_as_the_model_says(self) -> None:
        expected = [{"_id": i, "n": r["n"], "word": r["word"]} for i, r in sorted(self.rows.items())]
        assert self.table.read().select(["_id", "n", "word"]).to_pylist() == expected
        assert self.table.num_rows == len(expected)
        assert self.table.count(col("word") == "a") == sum(r["word"] == "a" for r in expected)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


TableMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestTable = TableMachine.TestCase
