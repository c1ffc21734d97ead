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
    own_answer = pa.table({"a": [1.0, math.nan, None, 0.1 + 0.2], "l": [[1], None, [], [2]]})
    engine_answer = pa.table({"a": [0.3, None, math.nan, 1.0], "l": [[2], [], None, [1]]})
    assert compare_answers(own_answer, engine_answer, in_order=False).is_same
    assert not compare_answers(own_answer, engine_answer, in_order=True).is_same


def test_digits_behind_the_point_of_decimals_count_for_nothing() -> None:
    left, right = (pa.table({"d": [Decimal(text)]}) for text in ("1.50", "1.5"))
    assert compare_answers(left, right, in_order=True).is_same


def test_each_difference_is_told() -> None:
    own_answer = pa.table({"k": ["a", "b"], "n": [1, 2]})
    comparison = compare_answers(own_answer, pa.table({"k": ["a", "b"], "n": [1, 3]}), in_order=True)
    assert [
        (difference.row, difference.column, difference.here, difference.there)
        for difference in comparison.differences
    ] == [(2, "n", 2, 3)]
    fewer = compare_answers(own_answer, own_answer.slice(0, 1), in_order=False)
    assert [(difference.here, difference.there) for difference in fewer.differences] == [
        ({"k": "b", "n": 2}, None)
    ]
    assert (
        "differ: m, n" in compare_answers(own_answer, pa.table({"k": ["a"], "m": [1]}), in_order=True).problem
    )


def test_many_differences_end_somewhere() -> None:
    own_answer, engine_answer = (pa.table({"n": range(start, start + 1000)}) for start in (0, 5000))
    actual = compare_answers(own_answer, engine_answer, in_order=True)
    assert len(actual.differences) == MOST_DIFFERENCES and actual.has_more


def test_a_line_on_both_engines(spark_address: str, tmp_path: Path) -> None:
    """Whole numbers divided, null and NaN are among the questions."""
    rows = {"n": [7, -7, 0, None], "f": [1.5, math.nan, -0.0, None], "k": ["a", "b", "a", None]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    own_answer, engine_answer = (
        open_dataset(tmp_path / "t.parquet"),
        open_dataset(f"{spark_address}/parquet:{tmp_path}/t.parquet"),
    )
    lines = [
        query_of(source)
        .compute(part=col("n") / 2, half=col("n") // 2, rest=col("n") % 0)
        .group_by("k")
        .agg(part=agg.sum("part"), half=agg.min("half"), rest=agg.count("rest"), top=agg.max("f"))
        for source in (own_answer, engine_answer)
    ]
    assert compare_line(*lines, engine_answer.engine, False, Job()).is_same
