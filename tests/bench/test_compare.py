"""Comparing two benchmarks: faster or slower only if the spreads do not overlap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench.results.compare import FASTER, SAME, SLOWER, TOO_FEW, compare, comparison_table
from lamella.core.bench.results.records import Record
from tests.bench.example_records import record


def samples(*seconds: float, system: str = "sqlite", rows: int = 1000) -> list[Record]:
    return [record(system, value, rows=rows, repeat=number) for number, value in enumerate(seconds)]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((1.0, 1.1, 1.2), (2.0, 2.1, 2.2), SLOWER),
        ((2.0, 2.1, 2.2), (1.0, 1.1, 1.2), FASTER),
        ((1.0, 1.1, 1.2, 1.3), (1.15, 1.2, 1.3, 1.4), SAME),  # the middle halves overlap
        ((1.0, 1.001, 1.002), (1.02, 1.021, 1.022), SAME),  # apart, by 2%
        ((1.0, 1.1), (2.0, 2.1, 2.2), TOO_FEW),
        ((1.0, 1.0, 1.0), (9.0, 9.0), TOO_FEW),
    ],
)
def test_a_verdict_needs_samples_and_spreads_apart(
    before: tuple[float, ...], after: tuple[float, ...], verdict: str
) -> None:
    (comparison,) = compare(samples(*before), samples(*after))
    assert comparison.verdict == verdict
    assert comparison.factor == pytest.approx(comparison.before.median / comparison.after.median)


@given(st.lists(st.floats(0.001, 10), min_size=3, max_size=9), st.lists(st.floats(0.001, 10), min_size=3))
def test_what_became_slower_became_faster_the_other_way_round(old: list[float], new: list[float]) -> None:
    (forward,), (back,) = compare(samples(*old), samples(*new)), compare(samples(*new), samples(*old))
    opposite = {SLOWER: FASTER, FASTER: SLOWER, SAME: SAME}
    assert back.verdict == opposite[forward.verdict]


def test_only_what_both_measured_is_compared() -> None:
    before = samples(1.0) + samples(1.0, rows=10) + samples(1.0, system="lamella")
    after = samples(1.0) + samples(1.0, rows=100) + [replace(record("lamella", 1.0), workload="update")]
    assert [(comparison.system, comparison.rows) for comparison in compare(before, after)] == [
        ("sqlite", 1000)
    ]
    assert compare([], after) == []


def test_the_first_call_of_a_question_is_not_compared_with_its_later_ones() -> None:
    def asked(first: float, again: float) -> list[Record]:
        later = replace(record("sqlite", again), latencies=(again, again, again))
        return [*samples(first, first, first), later]

    verdicts = {
        comparison.call: comparison.verdict for comparison in compare(asked(1.0, 0.1), asked(0.5, 0.2))
    }
    assert verdicts == {"first": FASTER, "again": SLOWER}


def test_the_table_begins_with_what_became_slower() -> None:
    before = samples(1.0, 1.0, 1.0) + samples(1.0, 1.0, 1.0, rows=10)
    after = samples(0.5, 0.5, 0.5) + samples(3.0, 3.0, 3.0, rows=10)
    lines = comparison_table(compare(before, after)).as_text().splitlines()
    assert lines[2].split()[0] == SLOWER and "3.0 × slower" in lines[2] and "Read" in lines[2]
    assert lines[3].split()[0] == FASTER and "2.0 × faster" in lines[3]
