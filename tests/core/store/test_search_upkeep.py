"""Full-text indexes are built, updated, checked for damage and rebuilt, whatever happens to the table."""

# ruff: noqa: F811 -- pytest hands fixtures over by their names

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lamella import Store
from lamella.core.errors import Cancelled, StoreProblem
from lamella.core.index.fulltext import part
from lamella.core.index.fulltext import part as writing
from lamella.core.jobs import Job
from lamella.core.store import Table
from tests.core.store.searched_books import BOOKS, Stopped, books, ids, index_folders, placed, store  # noqa: F401
from tests.property.damage import flip_bit


@pytest.mark.parametrize("last", [1, 2, 4, 6])
def test_cancelled_an_index_leaves_nothing(store: Store, last: int) -> None:
    table = store.create_table("t", {"text": ["fox"] * 5_000})
    table.maintenance.flush()
    with pytest.raises(Cancelled):
        table.indexes.create("text", kind="fulltext", job=Stopped(last))
    assert not table.indexes
    assert list((store.path / "index").glob("*/*")) == []
    table.indexes.create("text", kind="fulltext")
    assert len(ids(table, "fox")) == 5_000


def test_who_waits_for_an_index_that_is_made_can_stop_and_others_go_on(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"text": ["fox"] * 3_000, "other": ["tea"] * 3_000})
        table.maintenance.flush()
        table.indexes.create("text", kind="fulltext")
        table.indexes.create("other", kind="fulltext")
    for folder in (tmp_path / "s" / "index").glob("*/*.fulltext-*"):
        shutil.rmtree(folder)
    making, going_on = threading.Event(), threading.Event()

    class Held(Job):
        def check(self) -> None:
            making.set()
            going_on.wait()

    with Store.open(tmp_path / "s") as store:
        table = store["t"]
        thread = threading.Thread(target=lambda: table.search("fox", on="text", job=Held()))
        thread.start()
        try:
            making.wait()
            assert len(ids(table, "tea", on="other")) == 3_000
            with pytest.raises(Cancelled):
                table.search("fox", on="text", job=Stopped(2))
        finally:
            going_on.set()
            thread.join()
        assert len(ids(table, "fox", on="text")) == 3_000


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("damage", ["a byte", "a file", "the seal", "a byte of the seal", "all"])
def test_a_damaged_index_is_noticed_and_made_anew(tmp_path: Path, damage: str) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("books", BOOKS)
        table.indexes.create(["title", "body"], kind="fulltext")
        table.maintenance.flush()
        right = table.search("run tea").to_pylist()
        (folder,) = index_folders(store)
    (terms,) = (folder / "0").glob("*.term")
    if damage == "a byte":
        flip_bit(terms)
    elif damage == "a file":
        terms.unlink()
    elif damage == "the seal":
        (folder / "seal.json").write_text("{}")
    elif damage == "a byte of the seal":
        flip_bit(folder / "seal.json")
    else:
        folder.rename(tmp_path / "gone")
    with Store.open(tmp_path / "s") as store:
        problems = store.maintenance.verify().problems
        assert len(problems) == (0 if damage == "all" else 1)
        assert store["books"].search("run tea").to_pylist() == right
        assert store.maintenance.verify().problems == ()


def test_where_nothing_may_be_written_searches_are_answered(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("books", BOOKS)
        table.indexes.create(["title", "body"], kind="fulltext")
        table.maintenance.flush()
        right = table.search("run tea").to_pylist()
        (folder,) = index_folders(store)
    for has_part in (True, False):
        if not has_part:
            folder.rename(tmp_path / "gone")
        before = sorted(path for path in (tmp_path / "s").rglob("*") if "readers" not in path.parts)
        with Store.open(tmp_path / "s", read_only=True) as store:
            assert store["books"].search("run tea").to_pylist() == right
            after = sorted(path for path in (tmp_path / "s").rglob("*") if "readers" not in path.parts)
            assert [p for p in after if "index" in p.parts] == [p for p in before if "index" in p.parts]


@pytest.mark.slow
def test_processes_that_make_the_same_index_do_not_disturb_each_other(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"text": [f"fox {i}" for i in range(3_000)]})
        table.indexes.create("text", kind="fulltext")
        table.maintenance.flush()
        (folder,) = index_folders(store)
    folder.rename(tmp_path / "gone")
    script = (
        "import sys; from lamella import Store\n"
        "with Store.open(sys.argv[1]) as store: print(store['t'].search('2999 fox', limit=1).to_pylist())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "s")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(answers) == 1
    assert "'fox 2999'" in answers.pop()
    assert len(list((tmp_path / "s" / "index").glob("*/*.fulltext-*"))) == 1


def test_what_does_not_fit_one_part_makes_several(books: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"w{i} fox" if i % 3 else f"w{i} dog" for i in range(300)]
    right = [i for i in range(300) if i % 3]
    real = part.build
    sizes = []

    def small(texts: writing.Texts, rows: int, *arguments: object, **named: object) -> part.Part:
        if rows > 100:
            raise writing.TooLarge
        sizes.append(rows)
        return real(texts, rows, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("lamella.core.index.fulltext.files.build", small)
    monkeypatch.setattr("lamella.core.index.fulltext.open_parts.build", small)
    table = books.store.create_table("t", {"text": texts})
    table.indexes.create("text", kind="fulltext")
    for _ in ("pending", "flushed"):
        assert ids(table, "fox") == right
        assert ids(table, "w250") == [250]
        table.maintenance.flush()
    assert max(sizes) <= 100
    assert len(sizes) >= 8


SEARCHES = ["w1", "w1 w2", '"w1 w2"', "+w1 -w4 w5", "w1*", "w11~", "not w1", "odd", "nothing"]


def _answers(table: Table) -> list[list[dict[str, object]]]:
    queries = [{"limit": 7}, {"limit": None}, {"limit": None, "where": "n >= 1990 and n < 2010"}]
    return [table.search(text, columns=["n"], **how).to_pylist() for text in SEARCHES for how in queries]  # type: ignore[arg-type]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("segments", [2, 3])
def test_much_text_is_indexed_on_several_cores_and_answers_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segments: int
) -> None:
    texts = [None if i % 50 == 0 else f"w{i % 2} w{i % 3} w{i % 5} w{i % 17}" for i in range(4_000)]
    texts[3_999] = "odd"
    answers, folders = [], []
    for name, size in (("one", 1_000_000_000), ("several", 1_000)):
        monkeypatch.setattr(writing, "BYTES_A_SEGMENT", size)
        monkeypatch.setattr("os.cpu_count", lambda: segments)
        with Store.open(tmp_path / name) as store:
            table = store.create_table("t", {"text": texts, "n": list(range(4_000))})
            table.indexes.create("text", kind="fulltext", language=None)
            answers.append(_answers(table))
            folders += index_folders(store)
        with Store.open(tmp_path / name, read_only=True) as store:
            answers.append(_answers(store["t"]))
            assert not store.maintenance.verify().problems
    assert [len(list(folder.glob("*/*.idx"))) for folder in folders] == [1, segments]
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert [row["n"] for row in answers[0][3 * SEARCHES.index("odd")]] == [3_999]


def test_cancelled_while_several_cores_index_nothing_is_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "BYTES_A_SEGMENT", 1_000)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    table = store.create_table("t", {"text": ["fox"] * 5_000})
    table.maintenance.flush()
    for last in (3, 5):
        with pytest.raises(Cancelled):
            table.indexes.create("text", kind="fulltext", job=Stopped(last))
        assert list((store.path / "index").glob("*/*")) == []
    table.indexes.create("text", kind="fulltext")
    assert len(ids(table, "fox")) == 5_000


@pytest.mark.slow
def test_a_row_of_a_few_megabytes_of_words_is_found_and_is_in_nobodys_way(books: Table) -> None:
    books.maintenance.flush()
    long = " ".join(f"w{i:x}q" for i in range(120_000))
    for _ in range(2):
        books.insert([{"title": long, "body": "zebra"}])
    for _ in ("pending", "flushed"):
        assert ids(books, "w1d4bfq and zebra") == [6, 7]
        assert ids(books, "cafe") == [2]
        books.maintenance.flush()


def test_a_full_text_index_that_cannot_be_written_undoes_no_commit(
    books: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.maintenance.flush()

    def full(*_: object) -> None:
        raise ValueError("An IO error occurred: 'No space left on device (os error 28)'")

    monkeypatch.setattr("lamella.core.index.fulltext.part._add", full)
    books.insert([{"title": "foxes"}])
    books.maintenance.flush()
    assert books.num_rows == 7
    with pytest.raises(StoreProblem, match="No space left"):
        books.indexes.create("title", kind="fulltext")
    assert [index.columns for index in books.indexes] == [("title", "body"), ("tags",)]
    monkeypatch.undo()
    assert ids(books, "fox") == [0, 6]


def test_vacuum_leaves_an_index_alone_that_another_process_is_making(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store, Store.open(tmp_path / "s") as elsewhere:
        table = store.create_table("t", {"text": ["fox"] * 3_000})
        table.maintenance.flush()

        class Vacuumed(Job):
            def check(self) -> None:
                elsewhere.maintenance.vacuum()

        table.indexes.create("text", kind="fulltext", job=Vacuumed())
        assert len(index_folders(store)) == 1
        assert len(ids(table, "fox")) == 3_000
        (folder,) = index_folders(store)
        left = folder.with_name(f"{folder.name}.{'0' * 32}.part")
        left.mkdir()
        os.utime(left, (0, 0))
        store.maintenance.vacuum()
        assert index_folders(store) == [folder]


def test_an_index_is_dropped_without_those_that_begin_with_its_column(store: Store) -> None:
    table = store.create_table("t", {"a": ["fox"], "b": ["tea"]})
    table.maintenance.flush()
    table.indexes.create(["a", "b"], kind="fulltext")
    (folder,) = index_folders(store)
    table.indexes.create("a", kind="fulltext")
    table.indexes.drop("a", kind="fulltext")
    assert index_folders(store) == [folder]


def test_a_version_without_one_of_the_columns_is_searched_in_turn_with_the_newest(store: Store) -> None:
    table = store.create_table("t", {"title": ["fox", "tea"]})
    version = table.version
    table.columns.add("body", "string", default="fox")
    table.indexes.create(["title", "body"], kind="fulltext")
    for _ in range(2):
        assert ids(table, "fox", as_of=version) == [0]
        assert ids(table, "fox") == [0, 1]


def test_scores_do_not_depend_on_what_the_process_did_before(tmp_path: Path) -> None:
    def scores(table: Table) -> dict[int, float]:
        match = table.search("apple berry", limit=None, columns=[]).to_pylist()
        return {row["_id"]: row["_score"] for row in match}

    texts = [f"word{i % 37} number {i}" for i in range(100)] + ["apple aa bb", "berry aa bb"]
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"text": texts})
        table.maintenance.flush()
        table.indexes.create("text", kind="fulltext")
        table.insert([{"text": f"apple {i}"} for i in range(20)])
        table.search("apple")
        for tidied in (
            table.maintenance.flush,
            table.maintenance.compact,
            lambda: table.delete(where="_id > 101"),
            table.maintenance.compact,
        ):
            tidied()
            with Store.open(tmp_path / "s") as fresh:
                assert scores(table) == scores(fresh["t"])


def test_vacuum_removes_what_belongs_to_files_that_are_gone(books: Table) -> None:
    books.maintenance.flush()
    books.insert([{"title": "foxes"}])
    books.maintenance.flush()
    assert len(index_folders(books.store)) == 4
    books.maintenance.compact()
    books.maintenance.expire(keep_versions=1)
    books.store.maintenance.vacuum()
    assert len(index_folders(books.store)) == 2
    assert sorted(ids(books, "fox")) == [0, 6]
