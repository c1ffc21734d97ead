"""Two engines' answers: the same where they mean the same, and every difference told."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lamella import agg, col, open_dataset
from lamella.core.jobs import Job
from lamella.core.query.answer_comparison import MOST_DIFFERENCES, compare_answers, compare_line
from lamella.core.query.builder import query_of


def test_rows_in_any_order_nulls_nans_and_last_digits_are_the_same() -> None:
    here = pa.table({"a": [1.0, math.nan, None, 0.1 + 0.2], "l": [[1], None, [], [2]]})
    there = pa.table({"a": [0.3, None, math.nan, 1.0], "l": [[2], [], None, [1]]})
    assert compare_answers(here, there, in_order=False).is_same
    assert not compare_answers(here, there, in_order=True).is_same


def test_digits_behind_the_point_of_decimals_count_for_nothing() -> None:
    one, other = (pa.table({"d": [Decimal(text)]}) for text in ("1.50", "1.5"))
    assert compare_answers(one, other, in_order=True).is_same


def test_each_difference_is_told() -> None:
    here = pa.table({"k": ["a", "b"], "n": [1, 2]})
    found = compare_answers(here, pa.table({"k": ["a", "b"], "n": [1, 3]}), in_order=True)
    assert [
        (difference.row, difference.column, difference.here, difference.there)
        for difference in found.differences
    ] == [(2, "n", 2, 3)]
    fewer = compare_answers(here, here.slice(0, 1), in_order=False)
    assert [(difference.here, difference.there) for difference in fewer.differences] == [
        ({"k": "b", "n": 2}, None)
    ]
    assert "differ: m, n" in compare_answers(here, pa.table({"k": ["a"], "m": [1]}), in_order=True).problem


def test_many_differences_end_somewhere() -> None:
    here, there = (pa.table({"n": range(start, start + 1000)}) for start in (0, 5000))
    actual = compare_answers(here, there, in_order=True)
    assert len(actual.differences) == MOST_DIFFERENCES and actual.more


def test_a_line_on_both_engines(spark_address: str, tmp_path: Path) -> None:
    """Whole numbers divided, null and NaN are among the questions."""
    rows = {"n": [7, -7, 0, None], "f": [1.5, math.nan, -0.0, None], "k": ["a", "b", "a", None]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    here, there = (
        open_dataset(tmp_path / "t.parquet"),
        open_dataset(f"{spark_address}/parquet:{tmp_path}/t.parquet"),
    )
    lines = [
        query_of(one)
        .compute(part=col("n") / 2, half=col("n") // 2, rest=col("n") % 0)
        .group_by("k")
        .agg(part=agg.sum("part"), half=agg.min("half"), rest=agg.count("rest"), top=agg.max("f"))
        for one in (here, there)
    ]
    assert compare_line(*lines, there.engine, False, Job()).is_same
