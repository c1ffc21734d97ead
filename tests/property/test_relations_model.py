"""Relations between random tables against a model of plain dicts: keys with nulls, NaN and duplicates, in
columns of different types, while rows are inserted, changed, deleted, undone, compacted, and indexes
come and go.

LAMELLA_LONG_RUNS=2000 runs it longer.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamella import Store, col
from lamella.core.store import Table
from tests.slow_tests import examples

RUNS = examples(5)
NAN = float("nan")
WORDS = st.none() | st.sampled_from(["", "a", "b", "ä"])
FLOATS = st.none() | st.sampled_from([0.0, -0.0, 1.0, 1.5, 2.0, NAN, float("inf")])
TYPES = {
    "a": {"n": pa.int64(), "x": pa.float64(), "word": pa.string(), "v": pa.int64()},
    "b": {"n": pa.float64(), "x": pa.int16(), "word": pa.large_string(), "v": pa.int64()},
}
RELATIONS = {"one": (["n"], ["n"]), "two": (["word", "n"], ["word", "n"]), "cross": (["x"], ["x"])}
LARGE = 1_005
"""More keys than are looked up by a condition."""

Row = dict[str, Any]


def rows_of(name: str) -> st.SearchStrategy[list[Row]]:
    whole = st.none() | st.integers(0, 3)
    cells = {
        "n": whole if name == "a" else FLOATS,
        "x": FLOATS if name == "a" else whole,
        "word": WORDS,
        "v": whole,
    }
    return st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=12)


def equal(left: Any, right: Any) -> bool:
    return left is not None and right is not None and (left == right or (left != left and right != right))


class RelatedTables(RuleBasedStateMachine):
    """Two tables, their expected rows, and every way from one table to the other."""

    @initialize(a=rows_of("a"), b=rows_of("b"))
    def create(self, a: list[Row], b: list[Row]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        self.rows: dict[str, dict[int, Row]] = {}
        self.done: dict[str, list[dict[int, Row]]] = {"a": [], "b": []}
        self.indexed: set[tuple[str, str]] = set()
        for name, rows in {"a": a, "b": b}.items():
            schema = pa.schema(list(TYPES[name].items()))
            batch = pa.RecordBatch.from_pylist(rows, schema)
            self.store.create_table(name, pa.Table.from_batches([batch]))
            self.rows[name] = dict(enumerate(rows))
        for name, (source, target) in RELATIONS.items():
            self.store.relations.declare([f"a.{c}" for c in source], [f"b.{c}" for c in target], name)

    def changed(self, name: str, rows: dict[int, Row]) -> None:
        self.done[name].append(self.rows[name])
        self.rows[name] = rows

    @rule(name=st.sampled_from("ab"), data=st.data())
    def insert(self, name: str, data: st.DataObject) -> None:
        rows = data.draw(rows_of(name))
        table = self.store[name]
        table.insert(rows)
        added = table.read(columns=["_id"])["_id"].to_pylist()[-len(rows) :]
        self.changed(name, {**self.rows[name], **dict(zip(added, rows, strict=True))})

    @precondition(lambda self: any(self.rows.values()))
    @rule(name=st.sampled_from("ab"), data=st.data())
    def update(self, name: str, data: st.DataObject) -> None:
        rows = self.rows[name]
        if rows:
            row_id, cells = data.draw(st.sampled_from(sorted(rows))), data.draw(rows_of(name))[0]
            self.store[name].update([{"_id": row_id, **cells}])
            self.changed(name, {**rows, row_id: cells})

    @rule(name=st.sampled_from("ab"), data=st.data())
    def delete(self, name: str, data: st.DataObject) -> None:
        rows = self.rows[name]
        gone = set(data.draw(st.lists(st.sampled_from(sorted(rows)), max_size=4))) if rows else set()
        if gone:
            self.store[name].delete(ids=sorted(gone))
            self.changed(name, {i: row for i, row in rows.items() if i not in gone})

    @rule(name=st.sampled_from("ab"))
    def undo(self, name: str) -> None:
        if self.done[name]:
            self.store[name].history.undo()
            self.rows[name] = self.done[name].pop()

    @rule(name=st.sampled_from("ab"))
    def compact(self, name: str) -> None:
        self.store[name].maintenance.compact()

    @rule(name=st.sampled_from("ab"), column=st.sampled_from(["n", "x", "word"]))
    def index(self, name: str, column: str) -> None:
        if (name, column) in self.indexed:
            self.store[name].indexes.drop(column)
        else:
            self.store[name].indexes.create(column)
        self.indexed ^= {(name, column)}

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s")

    @invariant()
    def every_row_leads_where_it_should(self) -> None:
        for through, (source, target) in RELATIONS.items():
            self.compare("a", source, "b", target, through)
            self.compare("b", target, "a", source, through)

    def compare(
        self, name: str, columns: list[str], to: str, target_columns: list[str], through: str
    ) -> None:
        table, counted = self.store[name], sorted(self.rows[name])
        expected = {i: self.expected(self.rows[name][i], columns, to, target_columns) for i in counted}
        counts = table.relations.counts(counted, to, through=through)
        assert counts["count"].to_pylist() == [len(expected[i]) for i in counted]
        for row_id in counted[:2]:
            self.compare_row(table, row_id, to, through, expected[row_id])
        if name == "a":
            self.compare_check(through, columns, expected)

    def compare_row(self, table: Table, row_id: int, to: str, through: str, expected_ids: list[int]) -> None:
        actual = table.relations.rows(row_id, to, through=through)
        assert actual["_id"].to_pylist() == expected_ids
        chosen = [i for i in expected_ids if (self.rows[to][i]["v"] or 0) > 1]
        assert (
            table.relations.rows(row_id, to, where=col("v") > 1, through=through)["_id"].to_pylist() == chosen
        )
        counts = table.relations.counts([row_id], to, where=col("v") > 1, through=through)
        assert counts["count"].to_pylist() == [len(chosen)]
        page = table.relations.page(row_id, to, 2, through=through)
        paged = page.rows["_id"].to_pylist()
        while page.next is not None:
            page = table.relations.page(row_id, to, 2, page.next, through=through)
            paged += page.rows["_id"].to_pylist()
        assert paged == expected_ids

    def compare_check(self, through: str, columns: list[str], expected_ids: dict[int, list[int]]) -> None:
        rows = self.rows["a"]
        unset = {i for i in rows if any(rows[i][c] is None for c in columns)}
        lost = [i for i in sorted(rows) if not expected_ids[i] and i not in unset]
        (checked,) = self.store.relations.check(through)
        assert (checked.rows, checked.unset, checked.dangling) == (len(rows), len(unset), len(lost))
        assert {each.row_id for each in checked.examples} <= set(lost)
        assert bool(checked.examples) == bool(lost)

    def expected(self, row: Row, columns: list[str], to: str, target_columns: list[str]) -> list[int]:
        return [
            i
            for i, target_row in sorted(self.rows[to].items())
            if all(equal(row[c], target_row[o]) for c, o in zip(columns, target_columns, strict=True))
        ]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


TestRelatedTables = RelatedTables.TestCase
TestRelatedTables.settings = settings(max_examples=RUNS, stateful_step_count=8, deadline=None)


def test_many_keys_are_counted_as_few_are(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        a = store.create_table(
            "a", {"n": [i % 7 for i in range(LARGE)], "k": [f"k{i}" for i in range(LARGE)]}
        )
        b = store.create_table("b", {"n": [i % 5 for i in range(40)], "k": [f"k{3 * i}" for i in range(40)]})
        store.relations.declare(["a.k", "a.n"], ["b.k", "b.n"])
        a.delete(ids=[7])
        b.update([{"_id": 1, "k": "k1", "n": 1}])
        keys = {(row["k"], row["n"]) for row in b.read().to_pylist()}
        rows = a.read().to_pylist()
        counts = a.relations.counts([row["_id"] for row in rows], "b")["count"].to_pylist()
        assert counts == [int((row["k"], row["n"]) in keys) for row in rows]
        assert sum(counts) == 7
