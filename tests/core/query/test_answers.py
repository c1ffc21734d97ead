"""Answers of large queries, and what is told of how they were found."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella import Store, agg, col
from lamella.core.errors import BadQuery, BadSql


def test_explain_tells_of_every_query_how_much_of_the_files_it_read(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"k": [n % 7 for n in range(5_000)], "n": list(range(5_000))})
        table.maintenance.flush()
        for query, rows, groups_read in (
            (table.agg(n=agg.count()), 1, 0),
            (table.agg(least=agg.min("n"), most=agg.max("n")), 1, 0),
            (table.query().sample(5), 5, 1),
            (table.group_by("k").agg(n=agg.count()), 7, 1),
        ):
            explanation = query.explain()
            assert (explanation.rows, explanation.row_groups_read, explanation.row_groups_total) == (
                rows,
                groups_read,
                1,
            )
            assert "files       1" in str(explanation)


def test_a_value_that_cannot_be_computed_far_into_the_answer_is_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        texts = ["1"] * 300_000 + ["x"]
        query = store.create_table("t", {"text": texts}).compute(n=col("text").cast("int64"))
        for run in (query.read, lambda: list(query.batches()), query.explain):
            with pytest.raises(BadQuery, match="a value cannot be computed"):
                run()
        with pytest.raises(BadSql, match="'x'"):
            store.sql("select cast(text as int) from t")


def test_errors_end_in_what_can_be_done_and_leave_names_and_carets_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [1, 2], "word": ["a", "b"]})
        with pytest.raises(BadQuery, match=r"in common\. n \(int64\), word \(string\)\. Cast"):
            table.query().unpivot(["n", "word"]).read()
        with pytest.raises(BadSql, match=r" \^+$"):
            store.sql("selec n from t")
        with pytest.raises(BadSql, match=r"Use TRY\(\.\.\.\) to return NULL for this expression\.$"):
            store.sql("select 5 % 0")
