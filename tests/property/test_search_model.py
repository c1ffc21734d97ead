"""After any changes, a search finds the same rows as plain Python, in the order of their scores.

In files, pending, at earlier versions, with damaged indexes and after compaction. LAMELLA_LONG_RUNS=1000 runs
it longer.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from lamella import Store
from lamella.core.errors import StoreProblem
from tests.property.search_model import Asked, asked, cell, cells
from tests.slow_tests import examples

RUNS = examples(9)
SCHEMA = pa.schema([("title", pa.string()), ("tags", pa.list_(pa.string())), ("n", pa.int64())])
INDEXED = ["title", "tags"]

Rows = dict[int, dict[str, Any]]
row = st.fixed_dictionaries({"title": cell, "tags": cells, "n": st.integers(0, 3)})


class Searches(RuleBasedStateMachine):
    @initialize(rows=st.lists(row, max_size=12))
    def create(self, rows: list[dict[str, Any]]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = Store.open(self.folder / "s")
        self.table = self.store.create_table("t", pa.Table.from_pylist(rows, schema=SCHEMA))
        self.table.indexes.create(INDEXED, kind="fulltext", weights={"title": 2})
        self.rows: Rows = dict(enumerate(rows))
        self.next_id = len(rows)
        self.versions: dict[int, Rows] = {self.table.version: self.rows}

    @rule(rows=st.lists(row, min_size=1, max_size=5))
    def insert(self, rows: list[dict[str, Any]]) -> None:
        self.table.insert(pa.Table.from_pylist(rows, schema=SCHEMA))
        added = dict(zip(range(self.next_id, self.next_id + len(rows)), rows, strict=True))
        self.next_id += len(rows)
        self._is_now({**self.rows, **added})

    @rule(which=st.integers(0, 20), value=cell)
    def update(self, which: int, value: str | None) -> None:
        if self.rows:
            row_id = sorted(self.rows)[which % len(self.rows)]
            self.table.update([{"_id": row_id, "title": value}])
            self._is_now({**self.rows, row_id: {**self.rows[row_id], "title": value}})

    @rule(n=st.integers(0, 3), value=cells)
    def update_many(self, n: int, value: list[str | None] | None) -> None:
        self.table.update_where(f"n = {n}", {"$set": {"tags": value}})
        self._is_now({i: {**r, "tags": value} if r["n"] == n else r for i, r in self.rows.items()})

    @rule(which=st.sets(st.integers(0, 20), max_size=4))
    def delete(self, which: set[int]) -> None:
        gone = {sorted(self.rows)[i % len(self.rows)] for i in which} if self.rows else set()
        self.table.delete(ids=sorted(gone))
        self._is_now({i: r for i, r in self.rows.items() if i not in gone})

    @rule()
    def undo(self) -> None:
        try:
            self.table.history.undo()
        except StoreProblem:
            return
        self._is_now(self._read())

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.versions)))
        self.table.history.restore(version)
        self._is_now(self.versions[version])

    @rule()
    def flush(self) -> None:
        self.table.maintenance.flush()

    @rule()
    def compact(self) -> None:
        self.table.maintenance.compact()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s")
        self.table = self.store["t"]

    @rule(place=st.integers(0, 1_000))
    def damage(self, place: int) -> None:
        """Change one byte of the indexes."""
        self.store.close()
        files = sorted(path for path in (self.folder / "s").glob("index/*/*/**/*") if path.is_file())
        for file in files[place % len(files) : place % len(files) + 1] if files else []:
            content = bytearray(file.read_bytes())
            if content:
                content[place % len(content)] ^= 0x55
                file.write_bytes(content)
        self.store = Store.open(self.folder / "s")
        self.table = self.store["t"]

    @rule(what=asked(INDEXED), n=st.none() | st.integers(0, 3), data=st.data())
    def search(self, what: Asked, n: int | None, data: st.DataObject) -> None:
        version = data.draw(st.none() | st.sampled_from(sorted(self.versions)))
        rows = self.rows if version is None else self.versions[version]
        where = None if n is None else f"n >= {n}"
        right = [i for i, r in rows.items() if self._meant(what, r) and (n is None or r["n"] >= n)]
        matches = self.table.search(what.text, limit=None, where=where, columns=["n"], as_of=version)
        hits = list(zip(matches["_score"].to_pylist(), matches["_id"].to_pylist(), strict=True))
        assert sorted(i for _, i in hits) == sorted(right), what.text
        assert hits == sorted(hits, key=lambda hit: (-hit[0], hit[1]))
        first = self.table.search(what.text, limit=2, offset=1, where=where, columns=["n"], as_of=version)
        assert first["_id"].to_pylist() == [i for _, i in hits[1:3]]

    @rule(what=asked(INDEXED))
    def search_before_and_after_flush(self, what: Asked) -> None:
        before = sorted(self.table.search(what.text, limit=None)["_id"].to_pylist())
        self.table.maintenance.flush()
        assert sorted(self.table.search(what.text, limit=None)["_id"].to_pylist()) == before

    def _meant(self, what: Asked, values: dict[str, Any]) -> bool:
        return what.holds({name: values[name] for name in INDEXED})

    def _is_now(self, rows: Rows) -> None:
        self.rows = rows
        self.versions[self.table.version] = rows

    def _read(self) -> Rows:
        return {r.pop("_id"): r for r in self.table.read().to_pylist()}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


TestSearches = Searches.TestCase
TestSearches.settings = settings(max_examples=RUNS, stateful_step_count=25, deadline=None)
