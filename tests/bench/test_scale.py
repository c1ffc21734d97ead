"""The page about scale matches its results; links count as files; the model recovers known coefficients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamella.core.bench.results.results_file import read_results_file
from tests.bench.scale_bench import (
    FITTED,
    LAYOUT,
    PAGE,
    PART,
    PREDICTED,
    RESULTS,
    Layout,
    Model,
    ask,
    link,
    lowest,
    make_file,
    page_part,
)


def test_the_page_is_made_of_its_results() -> None:
    run, layout = read_results_file(RESULTS), Layout(**json.loads(LAYOUT.read_text("utf-8")))
    page = PAGE.read_text("utf-8")
    part = page.partition(f"<!-- {PART}: begin -->")[2].partition(f"<!-- {PART}: end -->")[0]
    assert part.strip() == page_part(run, layout)
    rows = {rows for _, _, rows in lowest(run)}
    assert {layout.rows * links for links in (*FITTED, *PREDICTED)} <= rows
    assert max(rows) >= 1_100_000_000


def test_links_of_a_file_are_counted_as_files_of_their_own(tmp_path: Path) -> None:
    layout = make_file(tmp_path / "trips.parquet", 500)
    assert sum(layout.columns.values()) < layout.bytes
    folder = link(tmp_path / "trips.parquet", 3)
    answers = [list(ask(system, folder, 1)) for system in ("lamella", "duckdb-parquet")]
    assert [answer_line["rows"] for answer_line in answers[0]] == [1500, None, 1500, 1500]
    ours, theirs = (
        [(answer_line["operation"], answer_line["checksum"]) for answer_line in answer] for answer in answers
    )
    assert ours == theirs


@pytest.mark.parametrize("expected", [Model(2e-9, 3e-9, 4e-9), Model(0.0, 5e-9, 0.0)])
def test_the_model_finds_what_times_are_made_of(expected: Model) -> None:
    points = [
        (expected.core_seconds(rows, *factors), rows, *factors)
        for rows in (1e6, 1e8)
        for factors in ((1, 1, 0.1), (2, 1, 1.7), (2, 2, 1.6), (3, 3, 3.0))
    ]
    actual = Model.fitted(points)
    assert vars(actual) == pytest.approx(vars(expected), abs=1e-12, rel=1e-6)


def test_no_term_of_the_model_is_below_zero() -> None:
    actual = Model.fitted([(1.0, 1e6, 1, 1, 1.0), (1.1, 2e6, 1, 1, 0.5), (1.0, 1e6, 2, 1, 2.0)])
    assert min(vars(actual).values()) >= 0
