"""Systems that hang, take too much memory, crash or fill the disk, in real child processes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import psutil
import pytest

from lamella.core.bench.engine.limits import Limits, Watch
from lamella.core.bench.engine.protocol import CRASHED, FAILED, LIMIT, Failure, Message
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.workloads.bridge import BRIDGE
from tests.bench.odd_systems import EMPLOYED_SECONDS, LEFT
from tests.bench.processes import workers
from tests.mounts import small_disk

EMPLOYED = ["sleep", EMPLOYED_SECONDS]
ODD = "tests.bench.odd_systems:"


def failure_of(name: str, folder: Path, **limits: float) -> Failure:
    heard: list[Message] = []
    run_workload("small", [4], [ODD + name], 1, folder, heard.append, **limits)
    (failure,) = (message for message in heard if isinstance(message, Failure))
    assert list(folder.iterdir()) == []
    assert workers() == []
    return failure


def test_a_system_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    failure = failure_of("Sleeper", tmp_path, limit_seconds=2)
    assert (failure.operation, failure.kind) == ("read", LIMIT)
    assert failure.message == "Ended: the limit of 2 s was exceeded"


@pytest.mark.slow
def test_a_system_that_takes_too_much_memory_is_ended_at_its_limit(tmp_path: Path) -> None:
    failure = failure_of("Hoarder", tmp_path, limit_bytes=200_000_000)
    assert (failure.operation, failure.kind) == ("read", LIMIT)
    assert failure.message == "Ended: the limit of 200 MB of memory was exceeded"


def test_a_system_that_is_killed_is_told_as_such(tmp_path: Path) -> None:
    failure = failure_of("Killed", tmp_path)
    assert (failure.operation, failure.kind) == ("query", CRASHED)
    assert "killed by signal 9; possibly out of memory" in failure.message


@pytest.mark.slow
def test_what_a_system_started_ends_with_it_and_its_temporary_files_go(tmp_path: Path) -> None:
    failure = failure_of("Employer", tmp_path, limit_seconds=2)
    assert failure.kind == LIMIT
    left = [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"] == EMPLOYED]
    assert left == []
    assert not Path(tempfile.gettempdir(), LEFT).exists()


@pytest.mark.slow
def test_a_system_that_fills_the_disk_fails_alone_and_the_others_have_room() -> None:
    heard: list[Message] = []
    with small_disk(kilobytes=3000) as disk:
        records = run_workload(
            "small", [4], [ODD + "Filler", "sqlite"], 1, disk, heard.append, seed=filler_first()
        )
        assert list(disk.iterdir()) == []
    (failure,) = (message for message in heard if isinstance(message, Failure))
    assert failure.kind == FAILED and "No space left on device" in failure.message
    assert {record.system for record in records} == {"sqlite"}


def filler_first() -> int:
    from lamella.core.bench.engine.choice import plan_trials
    from lamella.core.bench.workloads.tables import SMALL

    seeds = ((seed, plan_trials(SMALL, [4], ["filler", "sqlite"], 1, False, seed)) for seed in range(20))
    return next(seed for seed, trials in seeds if trials[0].system == "filler")


def test_a_system_that_reads_what_its_runner_says_finds_nothing(tmp_path: Path) -> None:
    heard: list[Message] = []
    assert run_workload("small", [4], [ODD + "Listener"], 1, tmp_path, heard.append)
    assert not [message for message in heard if isinstance(message, Failure)]


@pytest.mark.slow
def test_a_question_that_fails_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload("bridge", [50], [ODD + "Moody"], 2, tmp_path, heard.append)
    failures = [message for message in heard if isinstance(message, Failure)]
    assert [(failure.operation, failure.repeat, failure.kind) for failure in failures] == [
        ("group", 0, FAILED), ("like", 0, CRASHED),
    ]  # fmt: skip
    later_operations = {operation.id for operation in BRIDGE.operations} - {"group", "like"}
    calls = {(record.operation, record.repeat) for record in records}
    assert calls == {(operation, repeat) for operation in later_operations for repeat in (0, 1)}
    assert list(tmp_path.iterdir()) == []


def test_the_watch_looks_only_between_the_beginning_of_a_step_and_its_rest() -> None:
    ended: list[str] = []
    with Watch(psutil.Process().pid, Limits(seconds=0.05), lambda: ended.append("ended")) as watch:
        time.sleep(0.1)
        assert not ended
        watch.begin()
        watch.stop_looking()
        time.sleep(0.1)
        assert not ended
        watch.begin()
        while not ended:
            time.sleep(0.01)
    assert ended == ["ended"] and watch.reason == "the limit of 0.05 s was exceeded"


@pytest.mark.parametrize("limits", [Limits(seconds=1000.0), Limits(memory_bytes=10**15), Limits()])
def test_a_limit_that_is_not_passed_ends_nothing(limits: Limits) -> None:
    ended: list[str] = []
    with Watch(psutil.Process().pid, limits, lambda: ended.append("ended")) as watch:
        watch.begin()
        time.sleep(0.05)
    assert not ended and not watch.reason
