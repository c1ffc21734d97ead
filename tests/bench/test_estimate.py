"""Estimates of a benchmark: known costs are scaled, and a benchmark that does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.bench.engine.choice import Choice, Trial, part_of, plan_trials
from lamella.core.bench.engine.costs import (
    START_SECONDS,
    Costs,
    estimate,
    refuse_what_does_not_fit,
    shipped_costs,
    to_json,
)
from lamella.core.bench.engine.protocol import ProcessUsage
from lamella.core.bench.results.run import Recording
from lamella.core.bench.results.store import SavedRuns
from lamella.core.bench.workloads.tables import PARTIAL, SMALL
from lamella.core.bench.workloads.taxi import TAXI
from lamella.core.errors import LamellaError
from tests.mounts import filled, small_disk


def ended(rows: int, seconds: float, system: str = "sqlite", memory: int = 0, disk: int = 0) -> ProcessUsage:
    """The record of one repeat of SMALL's three steps: `seconds` of work in addition to the start."""
    return ProcessUsage("small", system, rows, rows, 1, 3, START_SECONDS + seconds, memory, disk)


def trial(rows: int, system: str = "sqlite") -> Trial:
    (trial_,) = plan_trials(SMALL, [rows], [system], 1, fresh=False)
    return trial_


def test_between_two_known_sizes_cost_grows_with_the_rows_and_beyond_them_at_the_same_pace() -> None:
    costs = Costs([ended(1000, 3.0), ended(2000, 9.0)])
    assert costs.seconds(trial(1500)) == pytest.approx(START_SECONDS + 6.0)
    assert costs.seconds(trial(4000)) == pytest.approx(START_SECONDS + 21.0)
    assert costs.seconds(trial(500)) == pytest.approx(START_SECONDS + 1.5)


def test_what_a_few_rows_took_is_not_multiplied_to_a_million() -> None:
    costs = Costs([ended(1, 3.0, memory=200_000_000), ended(10, 3.6, memory=205_000_000)])
    assert costs.memory_bytes(trial(10**6)) < 15e9
    assert costs.seconds(trial(10**6)) < 120


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_more_rows_never_cost_less(few: int, more: int) -> None:
    costs = Costs([ended(1000, 3.0, disk=10), ended(2000, 9.0, disk=30)])
    low, high = sorted((few, more))
    assert costs.seconds(trial(low)) <= costs.seconds(trial(high))
    assert costs.disk_bytes(trial(low)) <= costs.disk_bytes(trial(high))


def test_a_system_that_was_never_seen_costs_as_much_as_the_dearest_one_seen() -> None:
    costs = Costs([ended(1000, 3.0), ended(1000, 30.0, "sqlalchemy-orm")])
    assert costs.seconds(trial(1000, "h5py")) == pytest.approx(START_SECONDS + 30.0)


def test_the_last_measurement_of_a_size_counts() -> None:
    costs = Costs([ended(1000, 3.0), ended(1000, 6.0)])
    assert costs.seconds(trial(1000)) == pytest.approx(START_SECONDS + 6.0)


def test_repeats_and_fresh_processes_are_counted() -> None:
    costs = Costs([ended(1000, 3.0)])
    twice = Choice((part_of(SMALL, ["sqlite"], [1000], 2),))
    assert estimate(twice, costs).seconds == pytest.approx(START_SECONDS + 6.0)
    assert estimate(replace(twice, fresh=True), costs).seconds == pytest.approx(6 * START_SECONDS + 6.0)


def test_the_rows_of_the_table_count_where_the_sizes_are_changed_rows() -> None:
    small, large = replace(PARTIAL, table_rows=1000), replace(PARTIAL, table_rows=1_000_000)
    actual = [
        estimate(Choice((part_of(workload, ["sqlite"], [10], 1),)), Costs([])) for workload in (small, large)
    ]
    assert actual[1].seconds > 10 * actual[0].seconds
    assert actual[1].memory_bytes > actual[0].memory_bytes


def test_kept_runs_teach_what_this_computer_takes(tmp_path: Path) -> None:
    saved_runs = SavedRuns(tmp_path / "races.sqlite")
    recording = Recording(Choice((part_of(SMALL, ["sqlite"], [1000], 1),)))
    recording.receive(ended(1000, 600.0))
    saved_runs.save(recording.run())
    assert saved_runs.costs().seconds(trial(1000)) == pytest.approx(START_SECONDS + 600.0)


def test_every_workload_has_an_estimate_without_any_kept_run() -> None:
    actual = estimate(Choice((part_of(SMALL, ["lamella"], [10], 1), part_of(TAXI, ["duckdb"], [1000], 1))))
    assert actual.seconds > 2 * START_SECONDS and actual.memory_bytes > 0 and actual.problems == ()


def test_costs_are_written_as_they_are_read() -> None:
    assert to_json([ended(10, 1.0), ended(10, 2.0)]).count("sqlite") == 1
    assert shipped_costs().seconds(trial(10)) > 0


def test_what_does_not_fit_in_memory_is_refused_with_the_estimate_and_the_sizes_that_fit() -> None:
    choice = Choice((part_of(SMALL, ["lamella", "sqlite"], [10, 10**12], 1),))
    costs = Costs([ended(1000, 1.0, name, memory=250_000_000) for name in ("lamella", "sqlite")])
    with pytest.raises(LamellaError) as refusal:
        refuse_what_does_not_fit(choice, costs)
    message = str(refusal.value)
    assert (
        "Not enough memory: 1,000,000,000,000 rows need about 12,000,000 GB" in message
        and "is free" in message
    )
    assert f"{SMALL.title}, SQLite (synchronous off): Not enough memory" in message
    assert "Leave these sizes or systems out: 10 rows fit" in message
    assert refuse_what_does_not_fit(Choice((part_of(SMALL, ["sqlite"], [10], 1),)), costs).problems == ()


def test_what_does_not_fit_on_the_disk_of_the_folder_is_refused() -> None:
    costs = Costs([ended(1000, 1.0, disk=1_000_000)])
    with small_disk(kilobytes=1000) as disk, filled(disk, leave=200_000):
        choice = Choice((part_of(SMALL, ["sqlite"], [1000], 1),), folder=disk)
        with pytest.raises(LamellaError, match="Not enough disk space: 1,000 rows need about"):
            refuse_what_does_not_fit(choice, costs)
        assert estimate(replace(choice, folder=None), costs).problems == ()


def test_systems_that_take_no_part_cost_nothing() -> None:
    with_both = Choice((part_of(SMALL, ["sqlite", "sqlite-fts5"], [10], 1),))
    alone = Choice((part_of(SMALL, ["sqlite"], [10], 1),))
    assert estimate(with_both).seconds == estimate(alone).seconds
