"""Real benchmarks in real child processes, with few rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice, part_of, plan_trials
from lamella.core.bench.engine.protocol import Failure, Message, StepStart, Surroundings, from_line, to_line
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import UnknownSystem, UnknownWorkload
from lamella.core.bench.results.console import finish, has_failures
from lamella.core.bench.results.records import from_json
from lamella.core.bench.results.run import Recording
from lamella.core.bench.workloads.tables import NEEDLE, PARTIAL, SMALL
from lamella.core.errors import BadData, Cancelled, FileProblem, LamellaError
from lamella.core.jobs import Job
from tests.bench.processes import workers

ODD = "tests.bench.odd_systems:"


def failures(heard: list[Message]) -> list[Failure]:
    return [message for message in heard if isinstance(message, Failure)]


@pytest.mark.slow
def test_a_benchmark_gives_every_sample_of_every_system_and_leaves_nothing_behind(tmp_path: Path) -> None:
    heard: list[Message] = []
    names = ["lamella", "sqlite", "pyarrow-tuned"]
    records = run_workload("small", [3, 10], names, repeats=2, folder=tmp_path, on_event=heard.append)
    assert failures(heard) == []
    points = [(r.system, r.operation, r.rows, r.repeat) for r in records]
    operations = [operation.id for operation in SMALL.operations]
    all_points = [(b, o, n, r) for b in names for o in operations for n in (3, 10) for r in (0, 1)]
    assert sorted(points) == sorted(all_points)
    assert all(r.seconds > 0 and r.peak_rss_bytes > 10_000_000 and r.disk_bytes > 0 for r in records)
    assert list(tmp_path.iterdir()) == []
    assert workers() == []


@pytest.mark.slow
def test_systems_give_the_same_answers(tmp_path: Path) -> None:
    records = run_workload("update", [40], ["lamella", "sqlite", "duckdb"], repeats=1, folder=tmp_path)
    by_operation: dict[str, set[str]] = {}
    for record in records:
        by_operation.setdefault(record.operation, set()).add(record.checksum)
    assert all(len(checksums) == 1 for checksums in by_operation.values())
    assert len({by_operation[name].pop() for name in ("read", "update", "update_by_row_id")}) == 3


@pytest.mark.slow
def test_only_the_first_time_in_a_process_is_cold(tmp_path: Path) -> None:
    records = run_workload("small", [5], ["sqlite"], repeats=2, folder=tmp_path)
    cold = {(r.operation, r.repeat) for r in records if r.temperature == "cold"}
    assert cold == {(o.id, 0) for o in SMALL.operations if not o.id.endswith("_again")}


@pytest.mark.slow
def test_the_first_call_of_a_question_is_cold_each_time_its_database_was_opened(tmp_path: Path) -> None:
    records = run_workload("entity-indexes", [40], ["sqlite"], repeats=2, folder=tmp_path)
    calls = {(r.repeat, r.temperature, bool(r.latencies)) for r in records if r.operation == "point_keys"}
    assert calls == {(repeat, *call) for repeat in (0, 1) for call in (("cold", False), ("warm", True))}


@pytest.mark.slow
def test_with_a_process_for_every_step_each_sample_is_cold(tmp_path: Path) -> None:
    records = run_workload("needle", [5], ["sqlite"], repeats=2, folder=tmp_path, fresh=True)
    assert {r.operation for r in records} == {operation.id for operation in NEEDLE.operations}
    assert all(len({r.repeat for r in records if r.operation == o.id}) == 2 for o in NEEDLE.operations)
    assert {r.temperature for r in records} == {"cold"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_wrong_answer_is_an_error_whatever_its_speed(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload(
        "small", [10], [ODD + "Liar", "sqlite"], repeats=1, folder=tmp_path, on_event=heard.append
    )
    lies = failures(heard)
    assert {lie.operation for lie in lies} == {"read", "read_again", "create", "create_with_preparation"}
    assert all("Wrong answer: 9 rows" in lie.message and "instead of 10 rows" in lie.message for lie in lies)
    assert {r.operation for r in records if r.system == ODD + "Liar"} == {"query", "query_again"}
    assert {r.operation for r in records if r.system == "sqlite"} >= {"read", "create"}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("Crasher", "query", "signal 6: about to fall over"),
        ("Refuser", "create", "ValueError: no room for 4 rows"),
    ],
)
def test_a_crash_is_a_result_and_the_others_go_on(name: str, step: str, said: str, tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload(
        "small", [4], [ODD + name, "sqlite"], repeats=2, folder=tmp_path, on_event=heard.append
    )
    (failure,) = failures(heard)
    assert (failure.system, failure.operation, failure.rows, failure.repeat) == (ODD + name, step, 4, 0)
    assert said in failure.message
    assert len([r for r in records if r.system == "sqlite"]) == 2 * len(SMALL.operations)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_a_system_prints_does_not_disturb(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload("small", [4], [ODD + "Talker"], repeats=1, folder=tmp_path, on_event=heard.append)
    assert failures(heard) == []
    assert len(records) == len(SMALL.operations)


def test_cancel_ends_the_process_at_once_and_removes_its_folder(tmp_path: Path) -> None:
    job = Job()

    def hear(message: Message) -> None:
        if isinstance(message, StepStart) and message.step == "read":
            job.cancel()

    with pytest.raises(Cancelled):
        run_workload("small", [10], [ODD + "Sleeper"], folder=tmp_path, on_event=hear, job=job)
    assert workers() == []
    assert list(tmp_path.iterdir()) == []


def test_a_size_that_cannot_fit_in_memory_is_told_and_not_tried(tmp_path: Path) -> None:
    heard: list[Message] = []
    assert run_workload("small", [10**12], ["sqlite"], folder=tmp_path, on_event=heard.append) == []
    (failure,) = heard
    assert isinstance(failure, Failure) and "Not enough memory: 1,000,000,000,000 rows" in failure.message


def test_the_surroundings_name_machine_versions_and_durability(tmp_path: Path) -> None:
    heard: list[Message] = []
    run_workload("small", [1], ["sqlite-wal"], repeats=1, folder=tmp_path, on_event=heard.append)
    (surroundings,) = (message for message in heard if isinstance(message, Surroundings))
    assert surroundings.version and "durable" in surroundings.description
    names = ["processor", "cores", "memory_bytes", "disk", "system", "python", "libraries"]
    assert all(surroundings.environment[name] for name in names)
    assert 0 < surroundings.environment["clock_resolution_seconds"] < 1e-3


@pytest.mark.slow
def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    fractions: list[float] = []
    job = Job(lambda progress: fractions.append(progress.fraction or 0.0))
    run_workload("small", [1, 5], ["sqlite"], repeats=1, folder=tmp_path, job=job)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(fractions) > 2


def test_names_are_checked_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownWorkload, match="Did you mean 'update'"):
        run_workload("updat", [1], ["sqlite"], folder=tmp_path)
    with pytest.raises(UnknownSystem, match="Did you mean 'lamella'"):
        run_workload("small", [1], ["lamela"], folder=tmp_path)
    with pytest.raises(FileProblem, match="absent"):
        run_workload("small", [1], ["sqlite"], folder=tmp_path / "absent")


@pytest.mark.parametrize(
    ("rows", "names", "repeats"),
    [([], ["sqlite"], 1), ([0], ["sqlite"], 1), ([1], [], 1), ([1], ["sqlite"], 0)],
)
def test_a_benchmark_of_nothing_is_refused(rows: list[int], names: list[str], repeats: int) -> None:
    with pytest.raises(LamellaError):
        run_workload("small", rows, names, repeats)


def test_sizes_rise_and_the_order_of_systems_is_shuffled() -> None:
    orders = set()
    for seed in range(20):
        trials = plan_trials(SMALL, [100, 1, 10], ["a", "b", "c"], 5, fresh=False, seed=seed)
        assert [trial.rows for trial in trials] == [1] * 3 + [10] * 3 + [100] * 3
        assert all({t.system for t in trials[start : start + 3]} == {"a", "b", "c"} for start in (0, 3, 6))
        orders.add(tuple(trial.system for trial in trials))
    assert len(orders) > 10


def test_with_a_process_for_every_step_the_systems_take_turns() -> None:
    trials = plan_trials(SMALL, [10], ["a", "b"], 3, fresh=True, seed=1)
    assert [trial.repeats for trial in trials] == [(n,) for n in (0, 1, 2) for _ in range(6)]
    assert all({t.system for t in trials[start : start + 6]} == {"a", "b"} for start in (0, 6, 12))
    assert [trial.steps for trial in trials[:3]] == [("create",), ("read",), ("query",)]


def test_more_rows_than_the_table_holds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LamellaError, match="30 rows cannot change in a table of 20"):
        run_workload(replace(PARTIAL, table_rows=20), [30], ["sqlite"], folder=tmp_path)


def test_messages_come_back_from_their_line_as_they_were() -> None:
    message = Failure("small", "sqlite", "read", 10, 0, "It broke", "at length\nand more")
    assert from_line(to_line(message)) == message
    for line in ("", "{}", "not json", '{"event": "step"}', '{"event": "measurement", "record": {}}'):
        with pytest.raises(BadData):
            from_line(line)


def test_a_benchmark_is_told_with_its_ratios_and_its_samples_and_surroundings_are_written(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    recording = Recording(
        Choice((part_of(SMALL, ["sqlite", "sqlite-wal"], [2], repeats=1),), folder=tmp_path)
    )
    records = runner.run(recording.choice, recording.receive)
    assert not has_failures(recording.run())
    finish(recording.run(), said.append, tmp_path / "benchmark.json")
    assert from_json((tmp_path / "benchmark.json").read_text(encoding="utf-8")) == records
    beside = json.loads((tmp_path / "benchmark.environment.json").read_text(encoding="utf-8"))
    assert set(beside) == {"sqlite", "sqlite-wal"}
    text = "\n".join(said)
    assert "Query again" in text and "SQLite (WAL, synchronous full)" in text


def test_a_failure_is_told_at_the_end_and_counts(tmp_path: Path) -> None:
    said: list[str] = []
    recording = Recording(Choice((part_of(SMALL, [ODD + "Refuser"], [2], repeats=1),), folder=tmp_path))
    runner.run(recording.choice, recording.receive)
    finish(recording.run(), said.append)
    assert "no room for 2 rows" in said[-1]
    assert has_failures(recording.run())
