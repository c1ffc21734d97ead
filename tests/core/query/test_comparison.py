"""Two datasets compared: files of all kinds, odd keys, odd types, and what cannot be compared."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, compare, open_dataset
from lamella.core.errors import BadData, FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.comparison import ComparedRows, RowChange, read_differences, suggest_key
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows


@pytest.fixture
def open_columns(tmp_path):
    """Opens columns as a Parquet file, under a name."""

    def make(name: str, **columns):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=3)
        return open_dataset(path)

    return make


def test_a_csv_file_against_a_table(tmp_path):
    (tmp_path / "new.csv").write_text("id,name,price\n1,pen,1.50\n3,ink,7\n4,cap,2\n")
    with Store.open(tmp_path / "shop") as store:
        table = store.create_table(
            "goods", {"id": [1, 2, 3], "name": ["pen", "nib", "Ink"], "price": [1.5, 2, 8]}
        )
        actual = compare(table, open_dataset(tmp_path / "new.csv"))
        assert actual.key == ("id",) and actual
        assert (actual.added.tolist(), actual.removed.tolist(), actual.changed.tolist()) == ([2], [1], [1])
        assert {column.name: column.rows for column in actual.columns} == {"id": 0, "name": 1, "price": 1}
        price = actual.columns[2]
        assert price.largest == 1.0 and (
            price.examples[0].before.as_py(),
            price.examples[0].after.as_py(),
        ) == (8, 7)
        assert "1 added, 1 removed, 1 changed" in str(actual)
        rows = ComparedRows(actual)
        assert rows.page(0, 9).to_pydict() == {
            "id": [1, 2, 3, 4], "name": ["pen", "nib", "ink", "cap"], "price": [1.5, 2.0, 7.0, 2.0],
        }  # fmt: skip
        assert [RowChange(kind).word for kind in rows.kinds(0, 9)] == ["same", "removed", "changed", "added"]
        folded = compare(table, open_dataset(tmp_path / "new.csv"), "id", ignore_case=True, tolerance=1)
        assert len(folded.changed) == 0


def test_a_dataset_does_not_differ_from_itself(open_columns):
    file = open_columns("a", n=[1, 1, None], x=[math.nan, 0.0, None], l=[[1], None, [2, 3]])
    for key in (None, "n", []):
        assert not compare(file, file, key)
    again = open_columns("b", n=[1, 1, None], x=[math.nan, -0.0, None], l=[[1], None, [2, 3]])
    assert not compare(file, again, "n") and not compare(file, again, [])


def test_keys_that_are_not_unique_or_missing_are_said(open_columns):
    before = open_columns("one", k=["a", "a", None, "b"], n=[1, 2, 3, 4])
    after = open_columns("other", k=["a", "b", "a", None], n=[1, 4, 5, 3])
    actual = compare(before, after, "k")
    assert actual.changed.tolist() == [2] and actual.changed_before.tolist() == [1]
    assert any("one: 2 rows share their key (k)" in note for note in actual.notes)
    assert any("1 row has no value in k" in note for note in actual.notes)
    assert suggest_key(before.snapshot(), after.snapshot(), Job()) == ("n",)
    plain = [open_columns(name, k=[1, 1], x=[1.0, 2.0]).snapshot() for name in ("x", "y")]
    assert suggest_key(*plain, Job()) == ()


def test_keys_of_several_columns_are_found_by_the_first_that_tell_rows_apart(open_columns):
    place = {"country": ["A", "A", "B", "B"], "part": ["x"] * 4, "year": [1, 2, 1, 2]}
    before, after = (
        open_columns("one", **place, pop=[5, 6, 7, 8]),
        open_columns("other", **place, pop=[5, 6, 7, 5]),
    )
    assert suggest_key(before.snapshot(), after.snapshot(), Job()) == ("country", "year")
    assert compare(before, after).changed.tolist() == [3]
    again = open_columns("again", **{**place, "year": [1, 2, 1, None]}, pop=[5, 6, 7, 8])
    assert suggest_key(before.snapshot(), again.snapshot(), Job()) == ("pop",), "a key is there in every row"
    three = [open_columns(n, a=[1, 1, 1, 2], b=[1, 1, 2, 1], c=[1, 2, 1, 1]).snapshot() for n in ("t", "u")]
    assert suggest_key(*three, Job()) == ("a", "b", "c")
    empty = [open_columns(n, a=pa.array([], pa.int64())).snapshot() for n in ("v", "w")]
    assert suggest_key(*empty, Job()) == ("a",)


def test_many_rows_of_one_key_do_not_multiply(open_columns):
    before, after = (open_columns(name, k=[7] * 900, n=list(range(900))) for name in ("one", "other"))
    assert not compare(before, after, "k")


def test_a_key_of_several_columns_and_of_other_types(open_columns):
    before = open_columns("one", y=[2013, 2013], d=pa.array([1.0, 2.0]), n=[1, 2])
    after = open_columns("other", y=["2013", "2013"], d=pa.array([1, 3], pa.int32()), n=[1, 2])
    actual = compare(before, after, ["y", "d"])
    assert (actual.removed.tolist(), actual.added.tolist(), actual.changed.tolist()) == ([1], [1], [])
    assert [name for name, _, _ in actual.schema.retyped] == ["y", "d"]
    assert "compared as numbers" in str(actual)


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("before", "after", "different"),
    [
        (pa.array([1, BIG, None]), pa.array([1.0, float(BIG), None]), [False, True, False]),
        (pa.array([1, 2, -1]), pa.array(["1", "2.5", "-1.0"]), [False, True, False]),
        (pa.array(["a", "1e2", None]), pa.array([1.0, 100.0, 3.0]), [True, False, True]),
        (pa.array([Decimal("1.50"), Decimal("2")]), pa.array([1.5, 2.25]), [False, True]),
        (pa.array([2**63], pa.uint64()), pa.array([1], pa.int64()), [True]),
        (pa.array([dt.date(2013, 1, 1)] * 2), pa.array([dt.datetime(2013, 1, 1), dt.datetime(2013, 1, 1, 1)]),
         [False, True]),
        (pa.array([True, False]), pa.array(["true", "no"]), [False, True]),
        (pa.array([[1], [2]], pa.list_(pa.int8())), pa.array([[1], [3]]), [False, True]),
        (pa.array([{"a": math.nan}, {"a": 1.0}]), pa.array([{"a": math.nan}, {"a": 2.0}]), [False, True]),
        (pa.array(["x", "y"]).dictionary_encode(), pa.array(["x", "z"]), [False, True]),
    ],
)  # fmt: skip
def test_values_of_two_types_are_compared_by_what_they_mean(open_columns, before, after, different):
    actual = compare(open_columns("one", v=before), open_columns("other", v=after), [])
    assert actual.changed.tolist() == np.flatnonzero(different).tolist()
    ComparedRows(actual).page(0, len(before))
    assert read_differences(actual).num_rows == sum(different)


@pytest.mark.parametrize("ordered", [True, False])
def test_texts_that_repeat_are_compared_by_what_they_are(tmp_path, ordered):
    """Files have them as places in dictionaries, another one in each row group of each file."""
    random = np.random.default_rng(11)
    words = np.array(["Rom", "Bonn", "", None, "bonn", *(f"word {n}" for n in range(90))], object)
    keys, size = np.arange(3_000), 3_000
    before = words[random.integers(0, len(words), size)]
    after = before.copy()
    chosen = random.choice(size, 300, replace=False)
    after[chosen[:200]] = words[random.integers(0, len(words), 200)]
    after[chosen[200:]] = [text and text.upper() for text in before[chosen[200:]]]
    order = keys if ordered else random.permutation(size)
    before_file, after_file = tmp_path / "one.parquet", tmp_path / "other.parquet"
    pq.write_table(
        pa.table({"k": keys, "t": pa.array(before, pa.string())}), before_file, row_group_size=1_100
    )
    shuffled = pa.table({"k": keys[order], "t": pa.array(after[order], pa.string())})
    pq.write_table(shuffled, after_file, row_group_size=700)
    actual = compare(open_dataset(before_file), open_dataset(after_file), "k")
    different = [key for key in keys if before[key] != after[key]]
    assert sorted(order[actual.changed].tolist()) == different
    column = next(column for column in actual.columns if column.name == "t")
    assert column.rows == len(different) > 100
    for cell in column.examples:
        texts = before[cell.before_row], after[order[cell.after_row]]
        assert (cell.before.as_py(), cell.after.as_py()) == texts
    lenient = compare(open_dataset(before_file), open_dataset(after_file), "k", ignore_case=True)
    lower = [[text and text.lower() for text in side] for side in (before, after)]
    assert len(lenient.changed) == sum(a != b for a, b in zip(*lower, strict=True)) < len(different)


def test_columns_that_one_side_alone_has_are_said_and_not_compared(open_columns):
    before, after = (
        open_columns("one", k=[1, 2], gone=[1, 2], a=[1, 2]),
        open_columns("other", k=[1, 2], a=[1, 2], new=[5, 6]),
    )
    actual = compare(before, after, "k")
    assert actual and actual.num_rows == 0
    assert (actual.schema.added, actual.schema.removed, actual.schema.reordered) == (
        ("new",),
        ("gone",),
        False,
    )
    assert "column gone removed" in str(actual)
    assert compare(open_columns("x", a=[1], b=[1]), open_columns("y", b=[1], a=[1]), []).schema.reordered


def test_what_cannot_be_compared_says_why(open_columns):
    before, after = open_columns("one", k=[1], l=[[1]]), open_columns("other", q=[1], l=[[2]])
    with pytest.raises(BadData, match="have no column name in common"):
        compare(open_columns("x", a=[1]), open_columns("y", b=[1]))
    with pytest.raises(UnknownColumn, match="other has no column 'k'"):
        compare(before, after, "k")
    with pytest.raises(BadData, match="column 'l' cannot be a key"):
        compare(before, after, "l")
    with pytest.raises(UnknownColumn):
        compare(before, after, [], columns=["nothing"])
    with pytest.raises(BadData, match="the tolerance -1 is not a number"):
        compare(before, after, [], tolerance=-1)
    with pytest.raises(BadData, match="compare was given 5"):
        compare(before, 5)


def test_a_file_that_changes_meanwhile_is_not_shown_as_it_was(open_columns):
    before, after = open_columns("one", n=[1, 2]), open_columns("other", n=[1, 3])
    rows = ComparedRows(compare(before, after, []))
    open_columns("other", n=[1, 2, 3, 4])
    with pytest.raises(FileProblem, match="changed"):
        rows.page(0, 2)


def test_answers_of_queries_are_compared_too(open_columns):
    before = open_columns("one", k=[1, 2, 3], n=[1, 2, 3])
    actual = compare(before.where("k < 3"), before.where("k > 1"), "k")
    assert (len(actual.added), len(actual.removed), len(actual.changed)) == (1, 1, 0)


@pytest.mark.slow
def test_ten_thousand_columns():
    columns = {f"c{n}": [n, n] for n in range(10_000)}
    changed = columns | {"c77": [77, 1], "c9999": [0, 9999]}
    before, after = (SnapshotSource(snapshot_of_rows(pa.table(each), "t")) for each in (columns, changed))
    actual = compare(before, after, [])
    assert {column.name for column in actual.columns if column.rows} == {"c77", "c9999"}
    assert actual.changed.tolist() == [0, 1]


def test_the_differences_as_a_table_have_what_was_before(open_columns):
    before = open_columns("one", k=[1, 2, 3], word=["a", None, "c"], word_before=[0, 0, 0])
    after = open_columns("other", k=[1, 2, 4], word=[None, "b", "d"], word_before=[0, 0, 0])
    table = read_differences(compare(before, after, "k"))
    assert table.column_names == ["_change", "_columns", "k", "word", "word_before_", "word_before"]
    assert table.to_pylist()[0] == {
        "_change": "changed", "_columns": "word", "k": 1, "word": None, "word_before_": "a", "word_before": 0,
    }  # fmt: skip
    assert table["_change"].to_pylist() == ["changed", "changed", "removed", "added"]
    assert read_differences(compare(before, after, "k"), limit=2).num_rows == 2
    assert read_differences(compare(before, before)).num_rows == 0


def test_differences_of_differences_have_names_of_their_own(open_columns):
    before = open_columns("one", k=[1, 2], _change=["added", "added"], _columns=["v", "v"])
    after = open_columns("other", k=[1, 2], _change=["added", "removed"], _columns=["v", "v"])
    table = read_differences(compare(before, after, "k"))
    assert table.column_names == ["_change_", "_columns_", "k", "_change", "_change_before", "_columns"]
    assert table.to_pylist()[0]["_change_"] == "changed"
