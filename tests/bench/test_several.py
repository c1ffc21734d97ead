"""Benchmarks of several workloads: paused, extended and cancelled, in real child processes with few rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.limits import Pause
from lamella.core.bench.engine.place import OWNER, PREFIX, benchmark_folder, remove_abandoned_folders
from lamella.core.bench.engine.protocol import Message, ProcessUsage, StepStart, UnsupportedStep
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.results.run import Recording
from lamella.core.bench.workloads.tables import NEEDLE, SMALL
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job

ROOT = Path(__file__).resolve().parents[2]


def test_several_workloads_run_one_after_the_other_with_one_job(tmp_path: Path) -> None:
    parts = (part_of(SMALL, ["sqlite"], [2], 1), part_of(NEEDLE, ["sqlite", "sqlite-fts5"], [3], 1))
    recording = Recording(Choice(parts, folder=tmp_path))
    fractions: list[float] = []
    job = Job(lambda progress: fractions.append(progress.fraction or 0.0))
    records = runner.run(recording.choice, recording.receive, job)
    assert [record.workload for record in records] == sorted((r.workload for r in records), reverse=True)
    assert {(r.workload, r.rows) for r in records} == {("small", 2), ("needle", 3)}
    assert recording.records == records
    assert [(gap.workload, gap.system) for gap in recording.unsupported_steps] == [("needle", "sqlite-fts5")]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_each_child_tells_what_it_took(tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload("small", [5], ["sqlite"], 2, tmp_path, heard.append)
    (ended,) = (message for message in heard if isinstance(message, ProcessUsage))
    assert (ended.workload, ended.system, ended.rows, ended.table_rows) == ("small", "sqlite", 5, 5)
    assert (ended.repeats, ended.steps) == (2, len(SMALL.steps))
    assert ended.seconds > sum(record.seconds for record in records)
    assert ended.memory_bytes == max(record.peak_rss_bytes for record in records)
    assert ended.disk_bytes == max(record.disk_bytes for record in records) > 0


@pytest.mark.slow
def test_a_paused_benchmark_begins_no_step_until_it_is_resumed(tmp_path: Path) -> None:
    pause, heard, idle_flush = Pause(), list[Message](), threading.Event()

    def hear(message: Message) -> None:
        heard.append(message)
        if isinstance(message, StepStart) and message.step == "read":
            pause.pause()
            idle_flush.set()

    benchmark = threading.Thread(
        target=lambda: run_workload("small", [2], ["sqlite"], 1, tmp_path, hear, pause=pause), daemon=True
    )
    benchmark.start()
    assert idle_flush.wait(30)
    benchmark.join(0.5)
    assert benchmark.is_alive() and pause.is_paused
    assert heard[-1] == StepStart("sqlite", 2, 0, "read")
    pause.resume()
    benchmark.join(30)
    assert not benchmark.is_alive()
    assert isinstance(heard[-1], ProcessUsage)


def test_a_paused_benchmark_can_be_cancelled(tmp_path: Path) -> None:
    pause, job = Pause(), Job()
    pause.pause()
    threading.Timer(0.2, job.cancel).start()
    with pytest.raises(Cancelled):
        run_workload("small", [2], ["sqlite"], 1, tmp_path, job=job, pause=pause)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_pause_does_not_count_against_a_limit(tmp_path: Path) -> None:
    pause, heard = Pause(), list[Message]()

    def hear(message: Message) -> None:
        heard.append(message)
        if isinstance(message, StepStart) and message.step == "read":
            pause.pause()
            threading.Timer(2.5, pause.resume).start()

    records = run_workload("small", [2], ["sqlite"], 1, tmp_path, hear, limit_seconds=2, pause=pause)
    assert {record.operation for record in records} == {operation.id for operation in SMALL.operations}


@pytest.mark.slow
def test_repeats_can_be_added_to_an_earlier_benchmark(tmp_path: Path) -> None:
    records = run_workload("needle", [2], ["sqlite"], 2, tmp_path, first_repeat=3)
    assert {record.repeat for record in records} == {3, 4}


def test_what_does_not_take_part_is_told_once(tmp_path: Path) -> None:
    heard: list[Message] = []
    assert run_workload("small", [1, 2], ["sqlite-fts5"], 1, tmp_path, heard.append) == []
    (message,) = heard
    assert isinstance(message, UnsupportedStep)


@pytest.mark.slow
def test_a_benchmark_that_was_killed_leaves_no_child_and_its_folder_goes_with_the_next_one(
    tmp_path: Path,
) -> None:
    code = (
        "import sys; from pathlib import Path; from lamella.core.bench.engine.runner import run_workload; "
        "from lamella.core.bench.engine.protocol import StepStart\n"
        "def hear(message):\n"
        "    if isinstance(message, StepStart) and message.step == 'read': print('reading', flush=True)\n"
        f"run_workload('small', [2], ['tests.bench.odd_systems:Sleeper'], 1, Path({str(tmp_path)!r}), hear)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as benchmark:
        assert benchmark.stdout is not None and benchmark.stdout.readline() == "reading\n"
        (child,) = psutil.Process(benchmark.pid).children()
        os.kill(benchmark.pid, signal.SIGKILL)
    child.wait(60)
    assert [folder.name.startswith(PREFIX) for folder in tmp_path.iterdir()] == [True]
    with benchmark_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "owner", ["", "{}", "[]", '{"pid": 1, "started": 0.0, "computer": "another computer"}'], ids=len
)
def test_a_folder_whose_owner_is_not_known_to_be_gone_stays(tmp_path: Path, owner: str) -> None:
    folder = tmp_path / f"{PREFIX}somebody"
    folder.mkdir()
    (folder / OWNER).write_text(owner)
    assert remove_abandoned_folders(tmp_path) == []
    assert folder.exists()


def test_a_folder_of_a_benchmark_that_runs_stays(tmp_path: Path) -> None:
    with benchmark_folder(tmp_path) as folder, benchmark_folder(tmp_path) as second_folder:
        assert json.loads((folder / OWNER).read_text())["pid"] == os.getpid()
        assert sorted(tmp_path.iterdir()) == sorted([folder, second_folder])
