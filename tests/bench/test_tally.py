"""Statistics that are updated with each record equal those computed from all records at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench.results.compare import multiples, reference_of
from lamella.core.bench.results.records import Record, Summary, Tally, summaries

SECONDS = st.floats(1e-9, 1e3)


def record(
    system: str, rows: int, seconds: float, warm: bool = False, latencies: tuple[float, ...] = ()
) -> Record:
    warmth = "warm" if warm else "cold"
    return Record("small", system, "read", rows, 100, 0, seconds, seconds, 1, 1, "1:0", warmth, latencies)


RECORDS = st.builds(
    record,
    st.sampled_from(["lamella", "sqlite"]),
    st.sampled_from([1, 10]),
    SECONDS,
    st.booleans(),
    st.lists(SECONDS, max_size=3).map(tuple),
)


@given(st.lists(RECORDS, max_size=12), st.sampled_from([None, "cold", "warm"]))
def test_a_tally_asked_after_each_record_says_what_all_records_say(
    records: list[Record], temperature: str | None
) -> None:
    tally = Tally()
    for count, sample in enumerate(records, start=1):
        tally.take(sample)
        assert tally.summaries(samples=temperature) == summaries(records[:count], temperature)


def test_only_points_that_something_came_for_are_reckoned_anew() -> None:
    tally = Tally([record("lamella", 1, 0.1), record("sqlite", 1, 0.2)])
    before = tally.summaries()
    tally.take(record("sqlite", 1, 0.4))
    after = tally.summaries()
    assert after["read", "lamella", 1] is before["read", "lamella", 1]
    assert after["read", "sqlite", 1].samples == (0.2, 0.4)


def test_what_is_done_once_is_no_first_call() -> None:
    tally = Tally([record("lamella", 1, 0.1)])
    assert tally.summary(("read", "lamella", 1), samples="again") == Summary((0.1,))
    tally.take(record("sqlite", 1, 0.2, latencies=(0.2, 0.2)))
    assert tally.summary(("read", "lamella", 1), samples="again") is None
    assert tally.summary(("read", "lamella", 1), samples="first") == Summary((0.1,))


@given(st.lists(SECONDS, min_size=1, max_size=50))
def test_statistics_are_those_of_the_standard_library(samples: list[float]) -> None:
    import statistics

    summary = Summary(tuple(samples))
    assert summary.lowest == min(samples)
    assert summary.median == pytest.approx(statistics.median(samples))
    assert summary.deviation == pytest.approx(statistics.pstdev(samples), abs=1e-9)
    assert summary.percentile(0) == min(samples) and summary.percentile(100) == max(samples)


def test_multiples_are_of_sizes_that_the_reference_has_too() -> None:
    points = Tally(
        [record("sqlite", 1, 0.1), record("sqlite", 10, 0.2), record("lamella", 10, 0.1), record("csv", 5, 9)]
    ).summaries()
    assert reference_of(points) == "sqlite"
    actual = {multiple.system: multiple for multiple in multiples(points, "read", "sqlite")}
    assert set(actual) == {"lamella", "sqlite"}
    assert (actual["lamella"].mean, actual["lamella"].sizes) == (0.5, (10,))
    assert (actual["sqlite"].mean, actual["sqlite"].sizes) == (1.0, (1, 10))


def test_without_sqlite_the_first_system_is_the_reference() -> None:
    assert reference_of(Tally([record("csv", 1, 1), record("duckdb", 1, 1)]).summaries()) == "duckdb"
    assert reference_of({}) == ""
