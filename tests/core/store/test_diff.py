"""Differences between two versions, compared with the versions themselves and with a plain model."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col
from lamella.core.errors import UnknownColumn
from lamella.core.scan import read as scan_rows
from lamella.core.store import Table
from lamella.core.store import diff as diffs
from lamella.core.store.diff import Diff
from tests.slow_tests import examples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def cells(diff: Diff) -> dict[str, dict[int, tuple]]:
    """Pairs (before, after) by column and id."""
    cells_by_column: dict[str, dict[int, tuple]] = {}
    for part in diff.changed_cells():
        rows = part.cells.to_pylist()
        cells_by_column.setdefault(part.column, {}).update(
            {r["_id"]: (r["before"], r["after"]) for r in rows}
        )
    return cells_by_column


def test_rows_and_cells_that_differ(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(3_000)), "word": ["a"] * 3_000})
    table.update([{"_id": 1, "n": 10}, {"_id": 2, "n": 2}])
    table.delete(ids=[0, 9])
    table.insert([{"n": -1, "word": "new"}])
    diff = table.history.diff(1)
    actual = diff.summary()
    assert (diff.versions, actual.added, actual.removed, actual.changed) == ((1, 4), 1, 2, 1)
    assert actual.cells == {"n": 1} and actual and not actual.columns
    assert diff.changed("n").to_pylist() == [{"_id": 1, "before": 1, "after": 10}]
    assert diff.changed("word").num_rows == 0
    assert diff.removed()["_id"].to_pylist() == [0, 9]
    assert diff.added().to_pylist() == [{"_id": 3_000, "n": -1, "word": "new"}]
    back = table.history.diff(4, 1)
    assert back.changed("n").to_pylist() == [{"_id": 1, "before": 10, "after": 1}]
    assert back.added().equals(diff.removed()) and back.removed().equals(diff.added())
    with pytest.raises(UnknownColumn, match="Did you mean 'word'"):
        diff.changed("wrod")


def test_a_version_does_not_differ_from_itself_nor_from_its_files_in_another_order(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(3_000))})
    table.update([{"_id": 1, "n": 10}])
    before = table.as_of(2)
    table.maintenance.flush()
    table.maintenance.compact()
    table.history.undo()
    table.history.redo()
    assert not table.history.diff(2).summary() and not table.history.diff(2, 2).summary()
    assert table.history.diff(1, 4).summary().changed == 1
    assert before.read().equals(table.read())


def test_columns_are_told_by_their_ids(store: Store) -> None:
    table = store.create_table("t", {"a": [1, 2], "b": ["x", "y"], "c": [True, False], "d": [1.5, None]})
    table.columns.rename("a", "d2")
    table.columns.drop("b")
    table.insert([{"b": "again", "d": 2.5}])
    table.columns.cast("c", pa.string())
    table.columns.reorder(["b", "d"])
    diff = table.history.diff(1)
    assert diff.columns.renamed == (("a", "d2"),)
    assert (diff.columns.added, diff.columns.removed) == (("b",), ("b",))
    assert diff.columns.retyped == (("c", pa.bool_(), pa.string()),)
    assert diff.columns.reordered
    assert diff.summary().added == 1
    assert diff.changed("c").schema.types == [pa.int64(), pa.bool_(), pa.string()]
    assert not table.history.diff(1, 1).columns


def test_a_column_that_is_new_was_null_before(store: Store) -> None:
    table = store.create_table("t", {"a": [1, 2, 3]})
    table.update([{"_id": 1, "b": 5}])
    diff = table.history.diff(1)
    assert diff.changed("b").to_pylist() == [{"_id": 1, "before": None, "after": 5}]
    assert cells(table.history.diff(2, 1)) == {}


def test_nan_and_nested_values_are_compared_as_values(store: Store) -> None:
    nan = float("nan")
    table = store.create_table("t", {"x": [nan, 1.0], "l": [[1, nan], [2.0]], "s": [{"k": [1]}, None]})
    table.update([{"_id": 0, "x": nan, "l": [1.0, nan]}])
    table.update([{"_id": 1, "s": {"k": None}}])
    table.maintenance.compact()
    assert cells(table.history.diff(1)) == {"s": {1: (None, {"k": None})}}


def test_a_limit_stops_early(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(250_000))})
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    table.delete(where=col("n") <= 20)
    diff = table.history.diff(1)
    assert diff.changed("n", limit=2).to_pylist() == [
        {"_id": 20, "before": 20, "after": 21},
        {"_id": 21, "before": 21, "after": 22},
    ]
    assert diff.removed(limit=3)["_id"].to_pylist() == [0, 1, 2]
    assert diff.added(limit=0).num_rows == 0
    assert (diff.summary().changed, diff.summary().removed) == (249_980, 20)


def test_only_what_the_versions_do_not_share_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    table = store.create_table("t", {"n": list(range(300_000))})
    table.update([{"_id": 7, "n": -7}])
    table.insert([{"n": 1}])
    table.delete(ids=[200_000])
    counts: list[int] = []

    def counted(snapshot, positions, columns):  # type: ignore[no-untyped-def]
        counts.append(len(positions))
        return scan_rows.take_rows(snapshot, positions, columns)

    monkeypatch.setattr(diffs, "take_rows", counted)
    actual = table.history.diff(1).summary()
    assert (actual.changed, actual.added, actual.removed) == (1, 1, 1)
    assert sum(counts) == 2


ROW = {"n": st.none() | st.integers(0, 3), "word": st.none() | st.sampled_from(["", "a"])}
STEPS = st.lists(
    st.tuples(st.just("insert"), st.lists(st.fixed_dictionaries(ROW), min_size=1, max_size=3))
    | st.tuples(
        st.just("update"), st.dictionaries(st.integers(0, 12), st.fixed_dictionaries(ROW), min_size=1)
    )
    | st.tuples(st.just("delete"), st.sets(st.integers(0, 12), min_size=1, max_size=3))
    | st.tuples(st.sampled_from(["undo", "redo", "flush", "compact", "reopen"]), st.none())
    | st.tuples(st.just("restore"), st.integers(0, 10)),
    max_size=14,
)
Rows = dict[int, dict]


@settings(max_examples=examples(full=30))
@given(STEPS, st.data())
def test_random_versions_differ_as_a_plain_model_says(steps: list, data: st.DataObject) -> None:
    """Every version is also kept as plain rows; random versions are compared and restored."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "s")
        try:
            table = store.create_table("t", [{"n": 0, "word": "a"} for _ in range(8)])
            versions: list[Rows] = [{i: {"n": 0, "word": "a"} for i in range(8)}]
            for kind, detail in steps:
                if kind == "reopen":
                    store.close()
                    store = Store.open(Path(folder) / "s")
                    table = store["t"]
                else:
                    _step(table, versions, kind, detail)
                assert _rows(table) == versions[table.version - 1]
            for _ in range(4):
                a, b = (data.draw(st.integers(1, table.version)) for _ in range(2))
                _compare(table.history.diff(a, b), versions[a - 1], versions[b - 1])
            table.history.restore(data.draw(st.integers(1, table.version)))
        finally:
            store.close()


def _rows(table: Table) -> Rows:
    return {row.pop("_id"): row for row in table.read().to_pylist()}


def _step(table: Table, versions: list[Rows], kind: str, detail: object) -> None:
    """Make the same change to both, and add each new version to the model."""
    rows = copy.deepcopy(versions[table.version - 1])
    before = table.version
    if kind == "insert":
        table.insert(detail)
        first = table.read()["_id"].to_pylist()[-1] + 1 - len(detail)  # type: ignore[arg-type]
        rows |= dict(enumerate(detail, start=first))  # type: ignore[call-overload]
    elif kind == "update":
        known = {i: row for i, row in detail.items() if i in rows}  # type: ignore[attr-defined]
        if known:
            table.update([{"_id": i, **row} for i, row in known.items()])
            rows |= known
    elif kind == "delete":
        gone = [i for i in detail if i in rows]  # type: ignore[attr-defined]
        table.delete(ids=gone)
        rows = {i: row for i, row in rows.items() if i not in gone}
    elif kind == "restore":
        expected = 1 + detail % table.version  # type: ignore[operator]
        table.history.restore(expected)
        rows = versions[expected - 1]
    elif kind in ("undo", "redo"):
        target = table.history.undoable() if kind == "undo" else table.history.redoable()
        if target is not None:
            rows = versions[(getattr(table.history, kind)().restores or 0) - 1]
    else:
        getattr(table.maintenance, kind)()
    if table.version > before:
        versions.append(copy.deepcopy(rows))


def _compare(diff: Diff, a: Rows, b: Rows) -> None:
    assert {row.pop("_id"): row for row in diff.added().to_pylist()} == {i: b[i] for i in b.keys() - a}
    assert {row.pop("_id"): row for row in diff.removed().to_pylist()} == {i: a[i] for i in a.keys() - b}
    both = sorted(a.keys() & b.keys())
    expected = {
        name: {i: (a[i][name], b[i][name]) for i in both if a[i][name] != b[i][name]}
        for name in ("n", "word")
    }
    assert cells(diff) == {name: changes for name, changes in expected.items() if changes}
    actual = diff.summary()
    assert (actual.added, actual.removed) == (len(b.keys() - a), len(a.keys() - b))
    assert actual.changed == sum(a[i] != b[i] for i in both)


def test_a_column_that_is_cast_and_renamed_is_told_as_that(store: Store) -> None:
    table = store.create_table("t", {"a": ["1", "2"], "b": [1, 2]})
    table.columns.cast("a", pa.int64())
    table.columns.rename("a", "n")
    table.columns.cast("n", pa.float64())
    table.columns.cast("n", pa.string())
    table.columns.add("a", pa.int64())
    actual = table.history.diff(1).columns
    assert actual.renamed == (("a", "n"),) and actual.added == ("a",) and not actual.removed
    assert table.history.diff(1).changed("n").num_rows == 0
    forth = table.history.diff(1, 4).columns
    assert forth.retyped == (("n", pa.string(), pa.float64()),) and forth.renamed == (("a", "n"),)
    back = table.history.diff(4, 1).columns
    assert back.retyped == (("a", pa.float64(), pa.string()),) and back.renamed == (("n", "a"),)
    assert table.history.diff(2, 5).columns.retyped == (("n", pa.int64(), pa.string()),)
    assert table.columns.metadata("n") == {}
