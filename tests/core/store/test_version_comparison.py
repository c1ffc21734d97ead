"""Versions of a table compared row by row, and a comparison applied to a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col, compare
from lamella.core.errors import BadData, Cancelled, StoreProblem, TypeConflict, VersionConflict
from lamella.core.jobs import Job
from lamella.core.query.comparison import ComparedRows, RowChange
from lamella.core.query.comparison.comparison import Tally
from lamella.core.query.comparison.rows import DIFFERENT
from lamella.core.scan.read import take_rows
from lamella.core.store import Table, diff
from lamella.core.store.applying import Kinds, apply_comparison
from tests.slow_tests import examples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def told(comparison) -> list[tuple[str, int]]:
    """The kind of difference of each row that differs, and its number."""
    rows = ComparedRows(comparison, DIFFERENT)
    return [
        (RowChange(kind).word, n)
        for kind, n in zip(rows.kinds(0, 99), rows.page(0, 99)["n"].to_pylist(), strict=True)
    ]


def test_rows_of_two_versions_stand_in_the_order_of_their_ids(store: Store) -> None:
    table = store.create_table("t", {"n": list(range(10)), "word": ["a"] * 10})
    table.delete(ids=[0, 4, 9])
    table.update([{"_id": 5, "n": 50}])
    table.insert([{"n": 10, "word": "b"}])
    actual = table.history.compare(1)
    assert told(actual) == [("removed", 0), ("removed", 4), ("changed", 50), ("removed", 9), ("added", 10)]
    assert ComparedRows(actual).page(0, 99)["n"].to_pylist() == [0, 1, 2, 3, 4, 50, 6, 7, 8, 9, 10]
    assert actual.titles == ("version 1", "version 4")
    back = table.history.compare(4, 1)
    assert told(back) == [("added", 0), ("added", 4), ("changed", 5), ("added", 9), ("removed", 10)]
    assert not table.history.compare(4) and not table.history.compare(2, 2)
    generic = compare(table.as_of(1), table)
    assert told(generic) == told(actual) and generic.key == ("_id",)


def wide(store: Store) -> Table:
    """A table of two versions that differ in 299 columns."""
    table = store.create_table("wide", {f"c{n}": list(range(10)) for n in range(300)})
    table.update_where(None, {"$set": {f"c{n}": -n for n in range(1, 300)}})
    return table


def test_many_columns_of_few_rows_are_read_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    table, reads = wide(store), []

    def take(snapshot, positions, columns):
        reads.append(len(columns))
        return take_rows(snapshot, positions, columns)

    monkeypatch.setattr(diff, "take_rows", take)
    comparison = table.history.compare(1)
    assert len(reads) == 2 and comparison.num_rows == 10


def test_a_comparison_of_many_columns_ends_when_it_is_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, job, counted = wide(store), Job(), []

    def count(*values):
        counted.append(values)
        job.cancel()

    monkeypatch.setattr(Tally, "add", count)
    with pytest.raises(Cancelled):
        table.history.compare(1, job=job)
    assert len(counted) == 1


def test_columns_are_known_by_their_ids(store: Store) -> None:
    table = store.create_table("t", {"n": [1, 2], "old": [1, 2], "x": [1, 2]})
    table.columns.rename({"n": "number"})
    table.columns.drop("old")
    table.columns.add("new", "text")
    table.columns.cast("x", "float64")
    table.update([{"_id": 0, "new": "a"}])
    actual = table.history.compare(1)
    assert actual.num_rows == 0 and actual
    assert actual.schema.renamed == (("n", "number"),)
    assert (actual.schema.added, actual.schema.removed) == (("new",), ("old",))
    assert [name for name, _, _ in actual.schema.retyped] == ["x"]
    assert "number" in ComparedRows(actual).schema.names


@settings(max_examples=examples(full=12), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("iudf"), st.integers(0, 20)), min_size=1, max_size=8))
def test_the_quick_way_finds_what_the_slow_one_does(tmp_path_factory, acts) -> None:
    with Store.open(tmp_path_factory.mktemp("s") / "store") as store:
        table = store.create_table("t", {"n": list(range(6))})
        for act, number in acts:
            if act == "i":
                table.insert([{"n": number}])
            elif act == "u":
                table.update_where(f"n >= {number}", {"$inc": {"n": 1}})
            elif act == "d":
                table.delete(where=col("n") == number)
            else:
                table.maintenance.flush()
        for version in {1, (table.version + 1) // 2}:
            quick, slow = table.history.compare(version), compare(table.as_of(version), table)
            assert told(quick) == told(slow)
            assert [c.rows for c in quick.columns] == [c.rows for c in slow.columns]


def test_a_version_that_expired_says_so(store: Store) -> None:
    table = store.create_table("t", {"n": [1]})
    table.insert([{"n": 2}])
    table.maintenance.expire(keep_versions=1)
    with pytest.raises(StoreProblem, match="version 1 has expired"):
        table.history.compare(1)


def test_commits_come_a_page_at_a_time(store: Store) -> None:
    table = store.create_table("t", {"n": [1]})
    for number in range(5):
        table.insert([{"n": number}])
    history = table.history
    assert history.num_versions() == 6
    first = history.newest_commits(4)
    assert [commit.version for commit in first] == [6, 5, 4, 3]
    earlier = history.newest_commits(4, before=first[-1].version)
    assert [*reversed(earlier), *reversed(first)] == history.commits()


def test_differences_are_applied_in_one_commit(store: Store, tmp_path: Path) -> None:
    table = store.create_table("t", {"k": [1, 2, 3], "x": [1.0, 2.0, 3.0], "own": ["a", "b", "c"]})
    second = store.create_table("o", {"x": [9, 2, 4], "k": [1, 2, 4], "more": [0, 0, 0]})
    actual = compare(table, second, "k")
    assert Kinds().counts(actual) == (1, 1, 0) and Kinds(removed=True).counts(actual) == (1, 1, 1)
    commit = apply_comparison(actual, table)
    assert (commit.version, commit.inserted, commit.updated, commit.deleted) == (2, 1, 1, 0)
    assert table.read(["k", "x", "own"]).to_pydict() == {
        "k": [1, 2, 3, 4], "x": [9.0, 2.0, 3.0, 4.0], "own": ["a", "b", "c", None],
    }  # fmt: skip
    table.history.undo()
    assert table.read(["x"])["x"].to_pylist() == [1.0, 2.0, 3.0]
    apply_comparison(compare(table, second, "k"), table, Kinds(removed=True))
    assert not compare(table, second, "k", columns=["k", "x"]).num_rows


def test_differences_that_do_not_fit_are_refused_whole(store: Store) -> None:
    table = store.create_table("t", {"k": [1, 2], "n": [1, 2]})
    second = store.create_table("o", {"k": [1, 2], "n": ["5", "many"]})
    comparison = compare(table, second, "k")
    with pytest.raises(TypeConflict, match="do not fit column 'n'"):
        apply_comparison(comparison, table)
    with pytest.raises(BadData, match="not the earlier side"):
        apply_comparison(comparison, second)
    assert table.version == 1
    fitting = compare(table, store.create_table("p", pa.table({"k": [2], "n": [3]})), "k")
    table.insert([{"k": 9, "n": 9}])
    with pytest.raises(VersionConflict, match="has changed since"):
        apply_comparison(fitting, table)
