"""Answers of queries and rows of views are exported whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lamella import Store, agg, col, open_dataset
from lamella.core.errors import BadQuery, Cancelled, FileProblem, UnknownColumn
from lamella.core.jobs import Job, Progress
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.table import Table
from lamella.core.transfer.exporting import export_query, export_view

ROWS = 25_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    with Store.open(tmp_path_factory.mktemp("export") / "s") as store:
        n = list(range(ROWS))
        yield store.create_table("t", {"n": n, "word": [f"w{i % 7}" if i % 5 else None for i in n]})


def stop_at(position: int) -> Job:
    def listen(progress: Progress) -> None:
        if progress.done >= position:
            job.cancel()

    job = Job(listen)
    return job


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_an_answer_is_written_in_its_order(table: Table, tmp_path: Path, suffix: str) -> None:
    query = table.where("n < 20000").group_by("word").agg(n=agg.count(), most=agg.max("n")).sort("-n", "word")
    export = export_query(query, tmp_path / f"a{suffix}")
    assert (export.rows, export.files) == (8, 1)
    assert export.bytes == (tmp_path / f"a{suffix}").stat().st_size
    actual = open_dataset(tmp_path / f"a{suffix}").query().read()
    assert actual.to_pylist() == query.read().to_pylist()


def test_a_view_is_written_as_it_is_shown(table: Table, tmp_path: Path) -> None:
    keys = (SortKey("word", True), SortKey("n", True))
    view = View(table.snapshot(), ScanQuery(where=col("n") >= 5, sort=keys))
    reports: list[Progress] = []
    export = export_view(view, tmp_path / "shown.parquet", ["word", "n"], job=Job(reports.append))
    assert export.rows == ROWS - 5
    assert {progress.total for progress in reports} == {ROWS - 5}
    actual = open_dataset(tmp_path / "shown.parquet").query().read()
    assert actual.column_names == ["word", "n"]
    assert actual["n"].to_pylist() == view.page(0, ROWS, ["n"])["n"].to_pylist()
    assert export_view(View(table.snapshot()), tmp_path / "all.csv").rows == ROWS
    with pytest.raises(UnknownColumn):
        export_view(view, tmp_path / "odd.csv", ["wrod"])


def exports(table: Table, path: Path) -> list[Callable[[Job | None], object]]:
    return [
        lambda job: export_query(table.sort("-n"), path, job=job),
        lambda job: export_view(View(table.snapshot()), path, job=job),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_a_stopped_export_leaves_nothing(table: Table, tmp_path: Path, which: int) -> None:
    export = exports(table, tmp_path / "a.csv")[which]
    with pytest.raises(Cancelled):
        export(stop_at(0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_there_stays_unless_it_is_to_be_replaced(table: Table, tmp_path: Path, which: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("mine")
    with pytest.raises(FileProblem, match="is there already"):
        exports(table, path)[which](None)
    assert path.read_text() == "mine"
    export_query(table.limit(3), path, overwrite=True)
    assert len(path.read_text().splitlines()) == 4


def test_a_query_that_fails_leaves_nothing(table: Table, tmp_path: Path) -> None:
    failing = table.compute(x=col("word").cast("int64"))
    with pytest.raises(BadQuery):
        export_query(failing, tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileProblem, match="names no format"):
        export_query(table.query(), tmp_path / "a.txt.gz")


def test_an_empty_answer_is_a_file_with_its_columns(table: Table, tmp_path: Path) -> None:
    export_query(table.where("n < 0").select("n", "word"), tmp_path / "a.csv", format="csv")
    assert (tmp_path / "a.csv").read_text().replace('"', "") == "n,word\n"
