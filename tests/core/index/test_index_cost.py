"""The size of a full-text index is estimated from samples before it is built."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from lamella.core.index.fulltext.conditions import SAMPLE_ROWS, expected_cost, extrapolate
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import snapshot_of_rows


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(lambda rows: 600 * rows**0.86, id="ever new words"),
        pytest.param(lambda rows: 50_000 + 40 * rows, id="few words, all known soon"),
    ],
)
@pytest.mark.parametrize("rows", [20_000, 150_000, 2_000_000])
def test_the_size_grows_with_the_rows_as_that_of_the_samples_does(size, rows: int) -> None:
    samples = [(count, round(size(count))) for count in SAMPLE_ROWS]
    assert extrapolate(samples, rows) == pytest.approx(size(rows), rel=0.05)


def test_the_estimate_covers_all_columns_of_an_index() -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(500)]
    texts = [[" ".join(chance.choices(words, k=9)) for _ in range(300)] for _ in range(2)]
    snapshot = snapshot_of_rows(pa.table(dict(zip(("title", "body"), texts, strict=True))), "books")
    title, body, both = (
        expected_cost(snapshot, names, Job()).num_bytes for names in (["title"], ["body"], ["title", "body"])
    )
    assert max(title, body) < both <= title + body
