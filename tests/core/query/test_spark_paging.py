"""Answers of a Spark server that are fetched piece after piece."""

from __future__ import annotations

import errno
import math
import os
import random
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import agg, col, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.errors import FileProblem, NoRoom
from lamella.core.jobs import Job
from lamella.core.query.builder import Query
from lamella.core.query.expressions import call
from lamella.core.query.line import Line, LineAnswers, LineView
from lamella.core.query.source import engine_of
from lamella.core.query.spark import spill
from lamella.core.query.steps import Compute, Group, Limit, Select, Sort, Step, Unwind, Where
from lamella.core.scan.read import read_rows
from lamella.core.scan.snapshot import SortKey

ROWS, LIMIT = 300, 100


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, choose = tmp_path_factory.mktemp("paging") / "t.parquet", random.Random(5)
    rows = {
        "id": choose.sample(range(ROWS), ROWS),
        "k": [choose.choice(["a", "Z", "ä", None]) for _ in range(ROWS)],
        "f": [choose.choice([0.5, 0.1, -7.3, None]) for _ in range(ROWS)],
        "b": [choose.choice([b"", b"\x00", b"\x7f\xff", b"\x80", None]) for _ in range(ROWS)],
        "pair": [{"x": choose.choice([0.3, 2.5]), "y": choose.choice("pq")} for _ in range(ROWS)],
        "list": [list(range(place % 3)) for place in range(ROWS)],
    }
    pq.write_table(pa.table(rows), path)
    return path


@pytest.fixture(autouse=True)
def few_rows() -> Iterator[None]:
    before = spill.most_rows()
    spill.limit_rows(LIMIT)
    yield
    spill.limit_rows(before)


def pieces(line: Line, source: object) -> list[LineView]:
    """The pieces that a window shows: the first rows, and each later fetch."""
    answers, job = LineAnswers(), Job()
    views = [answers.view(line, source, job)]
    while not views[-1].fetched_rows.is_whole:
        answers.fetch_more(views[-1], job)
        views.append(answers.view(line, source, job))
    return views


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    "steps",
    [
        (),
        (Sort((SortKey("k", True),)),),
        (Sort((SortKey("k"), SortKey("id", True))), Where(col("id") >= 20)),
        (Compute((("twice", col("id") * 2),)), Limit(250, 3)),
        (Select(("k",)),),
        (Sort((SortKey("f", True),)), Select(("b", "k"))),
        (Sort((SortKey("b"),)), Select(("id",))),
        (Sort((SortKey("b", True), SortKey("k"))), Select(("b",))),
        (Compute((("g", col("f") / 3 - col("id")),)), Sort((SortKey("g", True),)), Select(("k", "id"))),
        (Compute((("x", -col("pair.x")),)), Sort((SortKey("x"),)), Select(("pair",))),
        (Group(("id", "k"), (("n", agg.count()),)), Sort((SortKey("n"),)), Select(("k",))),
        (Unwind("list"), Sort((SortKey("k"),)), Select(("list", "f"))),
    ],
)
def test_with_a_key_rows_go_on_behind_the_last_one(
    spark_address: str, path: Path, steps: tuple[Step, ...]
) -> None:
    table = open_dataset(f"{spark_address}/parquet:{path}", row_key=["id"])
    views = pieces(Line.of(steps), table)
    assert [len(view.view.snapshot.segments) for view in views] == [1, 2, 3]
    assert [view.view.num_rows for view in views[:2]] == [LIMIT, 2 * LIMIT]
    assert views[-1].view.page(0, ROWS).equals(open_dataset(path).query().sort("id").with_steps(
        (Sort((SortKey("id"),)), *steps)
    ).read())  # fmt: skip


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_rows_of_a_join_go_on_behind_keys_of_both_sides(spark_address: str, path: Path, how: str) -> None:
    """The result shows neither key, and one is null where a side has no row."""
    spill.limit_rows(70)

    def joined(table: Dataset) -> Query:
        rows = table.query().sort("id")
        left, right = rows.where(col("id") < 150), rows.where(col("id") >= 100)
        return left.join(right, on="id", how=how).select("k", "f")

    query, job = joined(open_dataset(f"{spark_address}/parquet:{path}", row_key=["id"])), Job()
    engine = engine_of(query)
    assert engine is not None
    answer = engine.fetch(query, job)
    while not answer.is_whole:
        answer = engine.fetch(query, job, answer)
    assert len(answer.snapshot.segments) == -(-answer.total // 70)
    own_rows = read_rows(answer.snapshot, 0, answer.total, answer.snapshot.columns)
    assert own_rows.equals(joined(open_dataset(path)).read())


@pytest.fixture(scope="module")
def floats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with few distinct numbers, so that pages also end among equal ones."""
    path, choose = tmp_path_factory.mktemp("floats") / "f.parquet", random.Random(8)
    (signed_nan,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0000))
    odd = [math.nan, signed_nan, math.inf, -math.inf, 0.0, -0.0, None, 0.1, -1e300, 5e-324]
    values = [choose.choice(odd) for _ in range(ROWS)]
    narrow = pa.array([None if v is None else v if v == 0.1 else v * 0.5 for v in values]).cast(
        pa.float32(), safe=False
    )
    rows = {"id": choose.sample(range(ROWS), ROWS), "f": pa.array(values), "g": narrow}
    pq.write_table(pa.table(rows), path)
    return path


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("keys", [("f",), ("-f",), ("g", "-id"), ("-g", "f"), ("id",)])
@pytest.mark.parametrize("limit", [31, 100])
def test_rows_go_on_behind_floats_of_every_sort(
    spark_address: str, floats: Path, keys: tuple[str, ...], limit: int
) -> None:
    spill.limit_rows(limit)
    order = tuple(SortKey(key.removeprefix("-"), key.startswith("-")) for key in keys)
    table = open_dataset(f"{spark_address}/parquet:{floats}", row_key=["f", "id"])
    views = pieces(Line.of((Sort(order),)), table)
    assert [len(view.view.snapshot.segments) for view in views] == list(range(1, -(-ROWS // limit) + 1))
    by_key = Sort((SortKey("f"), SortKey("id")))
    whole = open_dataset(floats).query().with_steps((by_key, Sort(order)))
    assert views[-1].view.page(0, ROWS)["id"].to_pylist() == whole.read()["id"].to_pylist()


@pytest.mark.slow(except_every=2)
@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ((), ()),
        ((), (Sort((SortKey("id"),)),)),
        (("id",), (Compute((("g", call("exp", col("f"))),)), Sort((SortKey("g"),)))),
        (("id",), (Group(("id",), (("g", agg.sum("f")),)), Sort((SortKey("g"),)))),
        (("id",), (Sort((SortKey("pair"),)),)),
        ((), (Group(("id",), (("n", agg.count()),)),)),
    ],
)
def test_otherwise_they_are_asked_for_again(
    spark_address: str, path: Path, key: tuple[str, ...], steps: tuple[Step, ...]
) -> None:
    table = open_dataset(f"{spark_address}/parquet:{path}", row_key=key)
    views = pieces(Line.of(steps), table)
    assert [view.view.num_rows for view in views] == [LIMIT, 2 * LIMIT, ROWS]
    assert all(len(view.view.snapshot.segments) == 1 for view in views)
    whole = open_dataset(path).query().with_steps(steps).read()
    name = whole.column_names[0]
    values = (str(value) for value in views[-1].view.page(0, ROWS)[name].to_pylist())
    assert sorted(values) == sorted(map(str, whole[name].to_pylist()))


def test_a_key_is_of_tables_of_servers_alone(path: Path) -> None:
    with pytest.raises(FileProblem, match="whose rows have an order"):
        open_dataset(path, row_key=["id"])


def batches(count: int) -> Iterator[pa.Table]:
    """Batches of a few thousand rows, as servers send them."""
    for number in range(count):
        first = number * 5_000
        yield pa.table({"id": range(first, first + 5_000), "text": [f"{'x' * 100} {number}"] * 5_000})


def test_a_large_answer_lies_in_row_groups_of_many_batches() -> None:
    rows, more = spill.spill(batches(120), next(batches(1)).schema, "t", 600_000, Job())
    (segment,) = rows.segments
    assert (rows.num_rows, more) == (600_000, False)
    assert pq.read_metadata(segment.path).num_row_groups < 8
    assert read_rows(rows, 599_999, 1, rows.columns).column(0).to_pylist() == [599_999]


def test_a_disk_that_fills_up_at_the_end_keeps_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    paths, really_close = list[Path](), pq.ParquetWriter.close

    def close(writer: pq.ParquetWriter) -> None:
        really_close(writer)
        paths.append(Path(writer.where))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "close", close)
    with pytest.raises(NoRoom, match="there is no disk space"):
        spill.spill(batches(80), next(batches(1)).schema, "t", 400_000, Job())
    assert paths and not paths[0].exists()


def test_the_folder_of_fetched_rows_is_this_users_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Others can make folders beside it, also by the name that it used to have."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"{spill.FOLDER}{os.getpid()}").mkdir()
    leftover = tmp_path / f"{spill.FOLDER}999999999-abc"
    leftover.mkdir()
    rows, _ = spill.spill(batches(80), next(batches(1)).schema, "t", 400_000, Job())
    (segment,) = rows.segments
    folder = segment.path.parent
    assert folder.parent == tmp_path and folder.name != f"{spill.FOLDER}{os.getpid()}"
    assert folder.stat().st_mode & 0o077 == 0
    assert not leftover.exists()
