"""Answers of a Spark server that are fetched piece after piece."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import agg, col, open_dataset
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.query.line import Line, LineAnswers, LineView
from lamella.core.query.spark import spill
from lamella.core.query.steps import Compute, Group, Limit, Select, Sort, Step, Where
from lamella.core.scan.snapshot import SortKey

ROWS, LIMIT = 300, 100


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, choose = tmp_path_factory.mktemp("paging") / "t.parquet", random.Random(5)
    rows = {
        "id": choose.sample(range(ROWS), ROWS),
        "k": [choose.choice(["a", "Z", "ä", None]) for _ in range(ROWS)],
        "f": [choose.choice([0.5, None]) for _ in range(ROWS)],
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
    """What a window shows: the first rows, and each time that more are fetched."""
    answers, job = LineAnswers(), Job()
    views = [answers.view(line, source, job)]
    while not views[-1].fetched.is_whole:
        answers.fetch_more(views[-1], job)
        views.append(answers.view(line, source, job))
    return views


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (Sort((SortKey("k", True),)),),
        (Sort((SortKey("k"), SortKey("id", True))), Where(col("id") >= 20)),
        (Compute((("twice", col("id") * 2),)), Limit(250, 3)),
    ],
)
def test_with_a_key_rows_go_on_behind_the_last_one(
    spark_address: str, path: Path, steps: tuple[Step, ...]
) -> None:
    table = open_dataset(f"{spark_address}/parquet:{path}", row_key=["id"])
    views = pieces(Line.of(steps), table)
    assert [len(one.view.snapshot.segments) for one in views] == [1, 2, 3]
    assert [one.view.num_rows for one in views[:2]] == [LIMIT, 2 * LIMIT]
    assert views[-1].view.page(0, ROWS).equals(open_dataset(path).query().sort("id").with_steps(
        (Sort((SortKey("id"),)), *steps)
    ).read())  # fmt: skip


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ((), ()),
        ((), (Sort((SortKey("id"),)),)),
        (("id",), (Sort((SortKey("f"),)),)),
        (("id",), (Select(("k",)),)),
        ((), (Group(("id",), (("n", agg.count()),)),)),
    ],
)
def test_otherwise_they_are_asked_for_again(
    spark_address: str, path: Path, key: tuple[str, ...], steps: tuple[Step, ...]
) -> None:
    table = open_dataset(f"{spark_address}/parquet:{path}", row_key=key)
    views = pieces(Line.of(steps), table)
    assert [one.view.num_rows for one in views] == [LIMIT, 2 * LIMIT, ROWS]
    assert all(len(one.view.snapshot.segments) == 1 for one in views)
    whole = open_dataset(path).query().with_steps(steps).read()
    name = whole.column_names[0]
    values = (str(value) for value in views[-1].view.page(0, ROWS)[name].to_pylist())
    assert sorted(values) == sorted(map(str, whole[name].to_pylist()))


def test_a_key_is_of_tables_of_servers_alone(path: Path) -> None:
    with pytest.raises(FileProblem, match="whose rows have an order"):
        open_dataset(path, row_key=["id"])
