"""Indexes of a table: created, used, kept up to date, and never trusted without a check."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lamella import Store, agg, col
from lamella.core.errors import BadData, Cancelled, ReadOnlyStore, UnknownColumn, UnknownName
from lamella.core.index.usage import USAGE_FILE
from lamella.core.jobs import Job
from lamella.core.store import Table
from lamella.core.store import row_lookup as keys

ROWS = 5_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def table(store: Store) -> Table:
    flushed_table = store.create_table("t", rows(0, ROWS))
    flushed_table.maintenance.flush()
    return flushed_table


def rows(first: int, stop: int) -> pa.Table:
    numbers = range(first, stop)
    return pa.table({"n": [i % 1_000 for i in numbers], "name": [f"name {i}" for i in numbers]})


def index_files(store: Store) -> list[Path]:
    files = (path for path in (store.path / "index").rglob("*") if path.is_file())
    return sorted(path for path in files if not path.name.startswith(USAGE_FILE))


def used(table: Table, **query: object) -> str | None:
    return table.explain(**query).index


def test_an_index_serves_filters_and_sorts_and_explain_names_it(table: Table) -> None:
    assert used(table, where=col("n") == 7) is None
    table.indexes.create("n")
    table.indexes.create("name")
    for condition, index in {
        col("n") == 7: "n",
        col("n").between(5, 9): "n",
        col("n").is_in([1, 2]): "n",
        col("n").is_null(): "n",
        col("name").starts_with("name 12"): "name",
        col("name").like("name 12%"): "name",
        (col("n") == 7) & col("name").contains("1"): "n",
        (col("n") == 7) | (col("name") == "name 9"): "n, sorted index on name",
    }.items():
        assert used(table, where=condition) == f"sorted index on {index}"
    assert used(table, sort=["-n"], limit=3) == "sorted index on n"
    assert table.read(["n"], sort=["-n", "name"], limit=3).column("n").to_pylist() == [999] * 3
    assert table.read(["n"], sort=["-n"], limit=0).num_rows == 0
    assert table.count(col("n") == 7) == 5


def test_queries_of_more_steps_begin_with_what_an_index_finds(store: Store, table: Table) -> None:
    odd = {
        "long": pa.array([10**50 + i for i in range(ROWS)], pa.decimal256(60, 0)),
        "lasted": pa.array(range(ROWS), pa.duration("s")),
    }
    for name, values in odd.items():
        table.columns.add(name, type=values.type)
        table.update(pa.table({"_id": range(ROWS), name: values}))
    table.maintenance.compact()
    table.update(pa.table({"_id": [7, 8], "n": [1, 7]}))
    table.delete(ids=[1007])
    table.insert({"n": [7], "name": ["new"]})
    queries = [
        table.where(col("n") == 7).group_by("name").agg(rows=agg.count(), long=agg.max("long")),
        table.where(col("n") == 7).where(col("name").contains("8")).compute(twice=col("n") * 2),
        table.where(col("n") == 7).compute(as_text=col("n").cast("string")).sort("-name").limit(3),
        table.where(col("n") == 7).join(table.where(col("n") == 8), on="_id", how="left"),
        table.where(col("n") == -1).agg(rows=agg.count()),
    ]
    expected = [query.read() for query in queries]
    table.indexes.create("n")
    assert [query.read() for query in queries] == expected
    assert [query.count() for query in queries] == [rows.num_rows for rows in expected]
    assert [query.explain().index for query in queries] == ["sorted index on n"] * len(queries)
    assert table.where(col("n") > 100).group_by("n").agg(rows=agg.count()).explain().index is None


KEYS = [
    pa.array([8.25, 1.5, None, float("nan"), -0.0, 0.1], pa.float32()),
    pa.array([3, 10**20, None, -1, 0, 5], pa.decimal128(30, 2)),
    pa.array(["filling", "a", None, "", "ä", "b"]),
    pa.array([b"filling", b"a", None, b"", b"\0", b"b"]),
    pa.array([False, True, None]),
    pa.array([9, 1, None, -128, 127, 0], pa.int8()),
]


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("values", KEYS, ids=lambda values: str(values.type))
def test_rows_of_few_keys_are_found_by_the_index(
    store: Store, values: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most rows have the first of the values; the others are the keys."""
    monkeypatch.setattr(keys, "ROWS_A_KEY", 1)
    filling = pa.concat_arrays([values[:1]] * 500)
    table = store.create_table("t", pa.table({"k": pa.concat_arrays([values, filling, values])}))
    table.maintenance.flush()
    table.update(pa.table({"_id": [1, 8], "k": values[1:3]}))
    table.insert(pa.table({"k": values[1:]}))
    table.delete(ids=[2])
    keys_wanted = [pa.table({"k": values[place : place + 1]}) for place in range(1, len(values))]
    keys_wanted += [pa.table({"k": values[1:]}), pa.table({"k": values[1:3], "_id": [1, 8]})]
    expected = [keys.matches(table._state(), each) for each in keys_wanted]
    table.indexes.create("k")
    monkeypatch.setattr(keys, "pieces", None)
    for each, without in zip(keys_wanted, expected, strict=True):
        actual = keys.matches(table._state(), each)
        assert len(actual.ids) and actual.ids.tolist() == without.ids.tolist()
        assert actual.keys.tolist() == without.keys.tolist()
        assert actual.unknown.tolist() == without.unknown.tolist()


def test_where_most_rows_are_asked_for_all_are_looked_at(table: Table) -> None:
    table.indexes.create("n")
    assert used(table, where=col("n") > 100) is None
    assert used(table, where=col("name").contains("12")) is None
    assert used(table, where=col("n") != 3) is None


@pytest.mark.parametrize("many", [20, 400])
def test_long_lists_are_found_by_the_index(table: Table, many: int) -> None:
    table.insert(rows(ROWS, ROWS + 300))
    table.maintenance.flush()
    names = [f"name {i}" for i in range(ROWS + 280, ROWS + 280 - many, -1)] + ["none", "name", ""]
    expected = table.read(["name"], where=col("name").is_in(names))
    table.indexes.create("name")
    assert used(table, where=col("name").is_in(names)) == "sorted index on name"
    assert table.read(["name"], where=col("name").is_in(names)) == expected and expected.num_rows == many


def test_rows_skipped_by_an_index_are_told(table: Table) -> None:
    table.indexes.create("n")
    alone = table.explain(where=col("n") == 7)
    assert (alone.row_groups_read, alone.rows) == (0, 5)
    looked_at = table.explain(where=(col("n") == 7) & col("name").contains("7"))
    assert looked_at.row_groups_read == looked_at.row_groups_total == 1


def test_indexes_are_listed_by_the_present_names_of_columns(store: Store, table: Table) -> None:
    index = table.indexes.create("n")
    table.columns.rename("n", "number")
    assert str(index) == "sorted index on n"
    assert [index.columns for index in table.indexes] == [("number",)]
    assert used(table, where=col("number") == 7) == "sorted index on number"
    table.columns.drop("number")
    assert not table.indexes
    table.history.undo()
    assert [index.columns for index in table.indexes] == [("number",)]
    with Store.open(store.path) as elsewhere:
        assert list(elsewhere["t"].indexes) == list(table.indexes)


def test_an_index_makes_no_version_and_stays_through_undo(table: Table) -> None:
    version = table.version
    table.update(pa.table({"_id": [3], "n": [77]}))
    table.indexes.create("n")
    assert table.version == version + 1
    table.history.undo()
    assert used(table, where=col("n") == 77) == "sorted index on n"
    assert table.count(col("n") == 77) == 5
    assert table.count(col("n") == 77, as_of=version + 1) == 6


def test_another_process_finds_by_the_index_and_hears_of_its_end(store: Store, table: Table) -> None:
    with Store.open(store.path) as elsewhere:
        same = elsewhere["t"]
        assert used(same, where=col("n") == 7) is None
        table.indexes.create("n")
        assert used(same, where=col("n") == 7) == "sorted index on n"
        table.insert({"n": [7], "name": ["new"]})
        assert same.count(col("n") == 7) == 6
        table.indexes.drop("n")
        assert used(same, where=col("n") == 7) is None
        assert same.count(col("n") == 7) == 6


def test_new_files_are_indexed_as_they_come(store: Store, table: Table) -> None:
    table.indexes.create("n")
    assert len(index_files(store)) == 1
    table.insert(rows(ROWS, 2 * ROWS))
    table.maintenance.flush()
    assert len(index_files(store)) == 2
    table.update_where(None, {"$inc": {"n": 1}})
    table.maintenance.compact()
    assert len(index_files(store)) == 3
    assert used(table, where=col("n") == 7) == "sorted index on n"


def test_files_of_dropped_indexes_tables_and_versions_go(store: Store, table: Table) -> None:
    table.indexes.create("n")
    table.indexes.create("name")
    table.indexes.drop("n")
    assert [".sorted-2-" in path.name for path in index_files(store)] == [True]
    before = index_files(store)
    table.update_where(None, {"$set": {"name": "x"}})
    table.maintenance.compact()
    table.maintenance.expire(keep_versions=1)
    assert set(before) < set(index_files(store))
    store.maintenance.vacuum()
    assert len(index_files(store)) == 1 and not set(before) & set(index_files(store))
    store.drop_table("t")
    assert index_files(store) == []


def test_an_index_whose_column_no_version_has_is_forgotten(store: Store, table: Table) -> None:
    table.indexes.create("n")
    table.columns.drop("n")
    table.maintenance.expire(keep_versions=1)
    store.maintenance.vacuum()
    assert store._catalog.indexes(table._reader.table_id) == [] and index_files(store) == []


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("harm", ["cut", "flipped", "emptied", "gone"])
def test_a_damaged_index_is_noticed_and_made_anew(
    store: Store, table: Table, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    table.indexes.create("name")
    (file,) = index_files(store)
    whole = file.read_bytes()
    harmed = {"cut": whole[:-9], "emptied": b"", "flipped": whole[:5000] + b"\xff\xff" + whole[5002:]}
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(harmed[harm])
    with caplog.at_level(logging.INFO), Store.open(store.path) as elsewhere:
        problems = elsewhere.maintenance.verify().problems
        assert bool(problems) == (harm != "gone") and all(str(file) in problem for problem in problems)
        assert elsewhere["t"].read(where=col("name") == "name 77").num_rows == 1
        assert used(elsewhere["t"], where=col("name") == "name 77") == "sorted index on name"
        assert str(file) in caplog.text and "rebuilt" in caplog.text
        assert elsewhere.maintenance.verify().problems == ()
    assert file.read_bytes() == whole


def test_the_index_of_another_column_is_noticed_and_made_anew(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"a": list(range(5_000)), "b": list(range(5_000))[::-1]})
        table.indexes.create("a")
        (of_a,) = index_files(store)
        table.indexes.create("b")
        (of_b,) = set(index_files(store)) - {of_a}
    of_b.write_bytes(of_a.read_bytes())
    with Store.open(tmp_path / "s") as store:
        assert [str(of_b) in problem for problem in store.maintenance.verify().problems] == [True]
        assert store["t"].read(where=col("b") == 1)["a"].to_pylist() == [4998]


def test_where_an_index_cannot_be_made_rows_are_found_without(
    store: Store, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    table.indexes.create("n")
    (file,) = index_files(store)
    with Store.open(store.path, read_only=True) as elsewhere:
        file.unlink()
        assert used(elsewhere["t"], where=col("n") == 7) is None
        assert elsewhere["t"].count(col("n") == 7) == 5
    folder = file.parent
    folder.rmdir()
    folder.write_text("in the way")
    with Store.open(store.path) as elsewhere:
        assert elsewhere["t"].count(col("n") == 7) == 5
        elsewhere["t"].insert(rows(0, ROWS))
        elsewhere["t"].maintenance.flush()
        assert elsewhere["t"].count(col("n") == 7) == 10
    assert "is not used" in caplog.text


def test_a_reader_uses_an_index_file_as_soon_as_it_is_there_and_whole(store: Store, table: Table) -> None:
    table.indexes.create("n")
    (file,) = index_files(store)
    whole = file.read_bytes()
    file.unlink()
    with Store.open(store.path, read_only=True) as elsewhere:
        same = elsewhere["t"]
        assert used(same, where=col("n") == 7) is None
        file.write_bytes(whole[:-9])
        assert used(same, where=col("n") == 7) is None
        file.write_bytes(whole)
        assert used(same, where=col("n") == 7) == "sorted index on n"
        file.unlink()
        assert same.count(col("n") == 7) == 5
        assert used(same, where=col("n") == 7) == "sorted index on n"


def test_an_index_file_is_not_made_for_what_it_does_not_answer(store: Store, table: Table) -> None:
    table.indexes.create("name")
    (file,) = index_files(store)
    with Store.open(store.path) as elsewhere:
        file.unlink()
        for condition in (col("name").contains("9"), col("name").like("%9"), col("name").ends_with("9")):
            assert (used(elsewhere["t"], where=condition), file.exists()) == (None, False)
        assert (used(elsewhere["t"], where=col("name") == "name 9"), file.exists()) == (
            "sorted index on name",
            True,
        )


def test_rows_of_files_that_lack_the_column_are_null_in_its_index(table: Table) -> None:
    table.columns.add("late", type="int64")
    table.indexes.create("late")
    table.insert([{"n": 1, "name": "new", "late": 4}])
    table.maintenance.flush()
    table.insert([{"n": 1, "name": "newer", "late": 4}])
    assert used(table, where=col("late") == 4) == "sorted index on late"
    assert table.read(["_id"], where=col("late") == 4)["_id"].to_pylist() == [ROWS, ROWS + 1]
    assert table.count(col("late").is_null()) == ROWS


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("harm", ["cut", "overwritten"])
def test_an_index_file_that_is_harmed_while_it_is_open_is_made_anew(
    store: Store, table: Table, harm: str
) -> None:
    table.indexes.create("n")
    assert table.count(col("n") == 7) == 5
    (file,) = index_files(store)
    size = file.stat().st_size
    with file.open("r+b") as content:
        if harm == "cut":
            content.truncate(100)
        else:
            content.seek(size // 2)
            content.write(bytes(size // 4))
    assert [table.count(col("n") == number) for number in range(1_000)] == [5] * 1_000
    assert (file.stat().st_size, store.maintenance.verify().problems) == (size, ())


def test_a_cancelled_or_refused_index_leaves_nothing(store: Store, table: Table) -> None:
    lasted = pa.array([1, 2], pa.duration("s"))
    table.insert(pa.table({"tags": [[1], [2]], "at": [{"city": "x"}, {"city": "y"}], "lasted": lasted}))
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        table.indexes.create("n", job=job)
    half = Job(lambda progress: half.cancel())
    with pytest.raises(Cancelled):
        table.indexes.create("n", job=half)
    for refused, error, reason in [
        (lambda: table.indexes.create("tags"), BadData, "conditions do not compare such values"),
        (
            lambda: table.indexes.create("at.city"),
            BadData,
            "'at.city' cannot have an index. It is a field inside",
        ),
        (lambda: table.indexes.create("at.town"), UnknownColumn, "at.town"),
        (lambda: table.indexes.create(["n", "name"]), BadData, "covers one column, not 2"),
        (lambda: table.indexes.create("nam"), UnknownColumn, "Did you mean 'name'"),
        (lambda: table.indexes.create("_id"), BadData, "needs no index"),
        (lambda: table.indexes.create("n", kind="hash"), UnknownName, "sorted"),
        (lambda: table.indexes.create("n", weights=2), BadData, "takes no option 'weights'"),
        (lambda: table.indexes.drop("n"), BadData, "It has no indexes"),
    ]:
        with pytest.raises(error, match=reason):
            refused()
    assert not table.indexes and index_files(store) == []
    table.indexes.create("n")
    with pytest.raises(BadData, match="already has a sorted index on n"):
        table.indexes.create("n")
    with Store.open(store.path, read_only=True) as elsewhere, pytest.raises(ReadOnlyStore):
        elsewhere["t"].indexes.create("name")


class Reports(Job):
    def __init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []

    def report(self, done: int, total: int | None = None, text: str = "") -> None:
        super().report(done, total, text)
        self.counts.append(done)


def test_building_reports_the_rows_of_each_file_and_of_part_of_it(store: Store) -> None:
    text = pa.array([f"some words {number}" for number in range(2_000)])
    table = store.create_table("books", pa.table({"n": range(2_000), "text": text}))
    table.maintenance.flush()
    table.insert(pa.table({"n": range(2_000), "text": text}))
    table.maintenance.flush()
    for columns, kind, between in [("n", "sorted", 2_000), ("text", "fulltext", 1_000)]:
        job = Reports()
        table.indexes.create(columns, kind, job)
        assert job.counts == sorted(job.counts) and {0, between, 2_000, 4_000} <= set(job.counts)
        assert job.progress.total == 4_000 and job.progress.text == "books: 4,000 of 4,000 rows indexed"


def test_a_transaction_that_is_taken_back_takes_its_index_along(store: Store, table: Table) -> None:
    class Changed(Exception):
        pass

    with pytest.raises(Changed), store.transaction():
        table.indexes.create("n")
        table.insert(rows(0, ROWS))
        assert table.count(col("n") == 7) == 10
        raise Changed
    assert not table.indexes and table.count(col("n") == 7) == 5
    store.maintenance.vacuum()
    assert index_files(store) == []


def test_a_backup_has_the_indexes_and_makes_their_files_when_they_are_needed(
    store: Store, table: Table, tmp_path: Path
) -> None:
    table.indexes.create("n")
    store.backup(tmp_path / "backup")
    assert not (tmp_path / "backup" / "index").exists()
    with Store.restore_backup(tmp_path / "backup", tmp_path / "again") as again:
        assert used(again["t"], where=col("n") == 7) == "sorted index on n"
        assert len(index_files(again)) == 1


def test_changes_by_a_condition_are_found_by_the_index(table: Table) -> None:
    table.indexes.create("n")
    assert table.update_where(col("n") == 7, {"$set": {"name": "seven"}}).updated == 5
    assert table.delete(where=(col("n") == 7) & (col("name") == "seven")).deleted == 5
    assert table.count(col("n") == 7) == 0


def test_a_column_that_is_cast_and_a_table_that_is_copied_keep_their_indexes(
    store: Store, table: Table
) -> None:
    table.indexes.create("n")
    table.columns.cast("n", "string")
    assert table.count(col("n") == "77") == 5
    assert used(table, where=col("n") == "77") == "sorted index on n"
    assert table.count(col("n") == "77") == 5
    assert "index     sorted index on n" in table.maintenance.summary()
    copied = store.copy_table("t", "copied")
    assert list(copied.indexes) == list(table.indexes)
    assert copied.count(col("n") == "77") == 5
    assert used(copied, where=col("n") == "77") == "sorted index on n"
    table.history.undo()
    assert used(table, where=col("n") == 77) == "sorted index on n"
    assert table.count(col("n") == 77) == copied.count(col("n") == "77") == 5


ASK = """
import sys
from lamella import Store, col
table = Store.open(sys.argv[1])["t"]
table.indexes.create("n")
assert table.read(where=col("n") == 7, sort=["-name"]).num_rows == 5
assert table.read(sort=["n"], limit=3).num_rows == 3
assert "pandas" not in sys.modules
"""


@pytest.mark.slow
def test_an_index_is_made_and_asked_without_pandas(store: Store, table: Table) -> None:
    subprocess.run([sys.executable, "-c", ASK, str(store.path)], check=True)


def test_the_page_about_indexes_holds_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[3] / "docs" / "indexes.md").read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) > 3
    exec(compile("\n".join(blocks), "docs/indexes.md", "exec"), {})


def test_status_says_size_rows_and_when_an_index_was_used(store: Store, table: Table) -> None:
    table.indexes.create("n")
    table.indexes.create("name", kind="fulltext")
    by_number, by_words = table.indexes.status()
    assert str(by_number.index) == "sorted index on n" and by_words.index.columns == ("name",)
    assert by_number.rows == by_words.rows == ROWS and by_number.is_complete and by_words.is_complete
    assert by_number.num_bytes > 0 and by_words.num_bytes > 0
    assert by_number.last_used is None and by_words.last_used is None
    table.insert([{"n": 1, "name": "one more"}])
    assert table.indexes.status()[0].pending_rows == 1

    assert table.count(col("n") == 7) == 5
    assert table.indexes.status()[0].last_used is not None and table.indexes.status()[1].last_used is None
    table.search("more")
    used = [status.last_used for status in table.indexes.status()]
    store.close()
    with Store.open(store.path) as again:
        assert [status.last_used for status in again["t"].indexes.status()] == used
        again["t"].indexes.drop("n")
        again["t"].indexes.create("n")
        assert again["t"].indexes.status()[-1].last_used is None
        again["t"].indexes.drop("n")
        again["t"].indexes.drop("name", kind="fulltext")
        again.maintenance.vacuum()
        assert index_files(again) == []


def test_the_last_use_is_known_after_the_program_was_killed(store: Store, table: Table) -> None:
    table.indexes.create("n")
    store.close()
    code = """
import os, sys
from pathlib import Path
from lamella import Store
store = Store.open(sys.argv[1])
store["t"].count("n = 7")
while not any((Path(sys.argv[1]) / "index").rglob("last-used.json")):
    pass
os._exit(9)
"""
    killed = subprocess.run([sys.executable, "-c", code, str(store.path)], timeout=60, check=False)
    assert killed.returncode == 9
    with Store.open(store.path) as again:
        assert again["t"].indexes.status()[0].last_used is not None


def test_uses_in_a_row_are_written_once(store: Store, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.indexes.create("n")
    writes: list[Path] = []
    replace = Path.replace

    def count(draft: Path, target: Path) -> Path:
        if target.name == "last-used.json":
            writes.append(target)
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", count)
    for number in range(5):
        table.count(col("n") == number)
    store.close()
    assert 1 <= len(writes) <= 2, "one at once, and one at the end"
    with Store.open(store.path) as again:
        assert again["t"].indexes.status()[0].last_used is not None


def test_status_counts_no_deleted_rows(table: Table) -> None:
    table.indexes.create("n")
    table.insert([{"n": 100_000 + number, "name": "more"} for number in range(3)])
    deleted = table.delete(where=col("n") == 7).deleted
    table.delete(where=col("n") == 100_001)
    (status,) = table.indexes.status()
    assert deleted == 5 and (status.rows, status.pending_rows) == (ROWS - 5, 2)


def test_status_tells_an_index_that_is_to_be_built_again(store: Store, table: Table) -> None:
    table.indexes.create("n")
    (file,) = (store.path / "index").rglob("*.sorted-*")
    file.unlink()
    (status,) = table.indexes.status()
    assert not status.is_complete and (status.built, status.data_files, status.num_bytes) == (0, 1, 0)
    assert table.count(col("n") == 7) == 5
    assert table.indexes.status()[0].is_complete


def test_what_is_written_of_use_is_no_matter_of_trust(store: Store, table: Table) -> None:
    table.indexes.create("n")
    (folder,) = {file.parent for file in (store.path / "index").rglob("*.sorted-*")}
    for text in ("{", "[1]", '{"sorted-1": "x"}', '{"sorted-1": 1e300}', "\0"):
        (folder / "last-used.json").write_text(text)
        assert table.indexes.status()[0].last_used is None
