"""A grouped query is written as SQL once for a snapshot; asked again, it answers as if written anew."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, col, open_dataset
from lamella.core.errors import BadFilter, FileProblem
from lamella.core.query import execute as answers
from lamella.core.query import statements
from lamella.core.query.builder import Query
from lamella.core.store import Table


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("rows", {"kind": ["a", "b"] * 20, "n": list(range(40))})
        table.maintenance.flush()
        yield table


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that are written from now on."""
    statement_texts: list[str] = []
    real = answers.read_with_statement

    def noted(*arguments: Any) -> Any:
        answer = real(*arguments)
        statement_texts.append(answer[0].text)
        return answer

    monkeypatch.setattr(answers, "read_with_statement", noted)
    return statement_texts


def sums(rows: Any) -> Query:
    return rows.group_by("kind").agg(n=agg.count(), total=agg.sum("n"))


def test_the_same_question_is_written_once_for_files_and_once_for_memory(
    rows: Table, texts: list[str]
) -> None:
    first, *again = [sums(rows).read() for _ in range(4)]
    assert all(table.equals(first) for table in again)
    assert first.to_pylist()[0] == {"kind": "a", "n": 20, "total": 380}
    assert ["READ_PARQUET" in text for text in texts] == [True, False]


def test_a_change_is_seen(rows: Table, texts: list[str]) -> None:
    sums(rows).read()
    rows.insert([{"kind": "c", "n": 7}])
    assert sums(rows).read().to_pylist()[-1] == {"kind": "c", "n": 1, "total": 7}
    rows.history.undo()
    rows.columns.rename("n", "number")
    actual = rows.group_by("kind").agg(n=agg.sum("number")).read()
    assert actual["n"].to_pylist() == [380, 400]
    assert len(texts) == 3


def test_rows_in_memory_are_handed_over_each_time(rows: Table, texts: list[str]) -> None:
    rows.update_where(col("n") == 0, {"$set": {"n": 1000}})
    for _ in range(2):
        assert sums(rows).read()["total"].to_pylist() == [1380, 400]
    assert len(texts) == 2


def test_questions_whose_values_are_equal_to_python_are_told_apart(rows: Table) -> None:
    def typed(most: Any) -> pa.DataType:
        return rows.group_by("kind").agg(most=most).read().schema.field("most").type

    assert [typed(agg.max(col("n") + number)) for number in (1, 1.0)] == [pa.int64(), pa.float64()]
    assert rows.where(col("n") == 1).group_by("kind").agg(n=agg.count()).read().num_rows == 1
    with pytest.raises(BadFilter, match="true"):
        rows.where(col("n") == True).group_by("kind").agg(n=agg.count()).read()  # noqa: E712


def test_what_is_computed_is_written_each_time(rows: Table) -> None:
    plain, computed = sums(rows), rows.group_by("kind").agg(n=agg.sum(col("n") * 2))
    assert statements.can_be_cached(plain.pipeline)
    assert statements.can_be_cached(plain.where(col("n") > 3).sort("-total").limit(3).pipeline)
    assert not statements.can_be_cached(computed.pipeline)
    assert not statements.can_be_cached(plain.join(rows, on="kind").pipeline)
    assert not statements.can_be_cached(rows.group_by("kind").agg(n=agg.quantile("n", 1)).pipeline)


def test_an_index_made_later_is_used(rows: Table, texts: list[str]) -> None:
    query = rows.where(col("n") == 3).group_by("kind").agg(n=agg.count())
    first = query.read()
    rows.indexes.create("n")
    assert query.read().equals(first)
    assert len(texts) == 2
    assert "read_parquet" in texts[0].casefold() and "read_parquet" not in texts[1].casefold()


@pytest.mark.slow
def test_a_long_statement_is_not_kept(rows: Table, texts: list[str]) -> None:
    many = rows.where(col("n").is_in(range(10_000))).group_by("kind").agg(n=agg.count())
    for _ in range(2):
        assert many.read()["n"].to_pylist() == [20, 20]
    assert len(texts) == 2


def test_no_more_than_so_many_are_kept(
    rows: Table, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "MOST_STATEMENTS", 1)
    for _ in range(2):
        sums(rows).read()
        sums(rows).sort("-total").read()
    assert len(texts) == 4


def test_statements_go_with_their_snapshot(tmp_path: Path) -> None:
    pq.write_table(pa.table({"kind": ["a", "b"]}), tmp_path / "rows.parquet")
    dataset = open_dataset(tmp_path / "rows.parquet")
    for _ in range(2):  # from the file, and from memory
        dataset.group_by("kind").agg(n=agg.count()).read()
    snapshot = dataset.snapshot()
    assert snapshot in statements._statements
    gone = threading.Event()
    weakref.finalize(snapshot, gone.set)
    before = len(statements._statements)
    del dataset, snapshot
    gc.collect()
    assert gone.wait(timeout=60), "a thread that helped may know it for a moment"
    assert len(statements._statements) < before


def test_a_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"kind": ["a", "b"]}), file)
    dataset = open_dataset(file)
    query = dataset.group_by("kind").agg(n=agg.count())
    assert query.read().num_rows == 2
    pq.write_table(pa.table({"kind": ["a", "b", "c"]}), file)
    with pytest.raises(FileProblem, match="changed on disk"):
        query.read()
