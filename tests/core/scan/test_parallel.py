"""Several threads share tasks: the answers come in order, an error or a cancel ends it, and forked children
do the same."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.errors import Cancelled, FileProblem
from lamella.core.jobs import Job
from lamella.core.scan.open_file import OpenFile
from lamella.core.scan.parallel import end_threads, run_tasks
from lamella.core.scan.parquet_file import footer_of

TASKS = list(range(200))


def test_answers_come_in_the_order_of_the_tasks() -> None:
    assert run_tasks(lambda task, file: task * 2, TASKS) == [task * 2 for task in TASKS]
    assert run_tasks(lambda task, file: task * 2, TASKS, alone=True) == [task * 2 for task in TASKS]
    assert run_tasks(lambda task, file: task, []) == []


def test_an_error_is_raised_to_the_caller_wherever_it_happens() -> None:
    """The calling thread waits in its first task until another one has failed."""
    failed = threading.Event()
    caller = threading.current_thread()

    def work(task: int, file: OpenFile) -> int:
        if threading.current_thread() is caller:
            assert pa.cpu_count() == 1 or failed.wait(60)
            return task
        failed.set()
        raise FileProblem(Path("some.parquet"), "could not be read")

    if pa.cpu_count() > 1:
        with pytest.raises(FileProblem, match="could not be read"):
            run_tasks(work, TASKS)
    assert run_tasks(lambda task, file: task, TASKS) == TASKS


def test_nobody_begins_a_task_after_an_error() -> None:
    tasks: list[int] = []

    def work(task: int, file: OpenFile) -> None:
        tasks.append(task)
        raise ValueError(task)

    with pytest.raises(ValueError):
        run_tasks(work, TASKS)
    assert len(tasks) <= pa.cpu_count()


def test_the_caller_can_cancel() -> None:
    job = Job()

    def work(task: int, file: OpenFile) -> None:
        job.cancel()

    with pytest.raises(Cancelled):
        run_tasks(work, TASKS, lambda task: job.check())


def test_callers_on_several_threads_do_not_wait_for_each_other() -> None:
    """Each of them begins its tasks before any has ended."""
    met = threading.Barrier(4)

    def call(number: int) -> list[int]:
        first = threading.local()

        def begun(task: int) -> None:
            if not getattr(first, "over", False):
                first.over = True
                met.wait(60)

        return run_tasks(lambda task, file: task + number, TASKS, begun)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [[t + number for t in TASKS] for number in range(4)]


def test_every_thread_reads_files_of_its_own(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.parquet" for n in range(4)]
    for n, path in enumerate(paths):
        pq.write_table(pa.table({"n": np.arange(1_000) + n}), path, row_group_size=100)

    def work(task: int, file: OpenFile) -> int:
        rows = file.read(footer_of(paths[task % 4]), [task % 10], ["n"])
        return int(rows.column("n")[0].as_py())

    assert run_tasks(work, TASKS) == [task % 10 * 100 + task % 4 for task in TASKS]


def decoders() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "decode"]


@pytest.fixture
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("two_processors")
def test_threads_stay_until_they_are_ended() -> None:
    run_tasks(lambda task, file: task, TASKS)
    assert decoders()
    end_threads()
    assert decoders() == []
    end_threads()
    assert run_tasks(lambda task, file: task, TASKS) == TASKS
    assert decoders()


@pytest.mark.usefixtures("two_processors")
def test_threads_that_are_ended_do_first_what_they_were_called_for() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(task: int, file: OpenFile) -> int:
        if task == 0:
            begun.set()
            assert ended.wait(60)
        return task

    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(run_tasks, work, TASKS)
        assert begun.wait(60)
        threading.Timer(0, ended.set).start()
        end_threads()
        assert answers.result(60) == TASKS
        assert run_tasks(lambda task, file: task, TASKS) == TASKS


def test_threads_end_with_the_program() -> None:
    program = """
import atexit, threading
atexit.register(lambda: print([t.name for t in threading.enumerate()]))
import pyarrow as pa
from lamella.core.scan.parallel import run_tasks
pa.cpu_count = lambda: 2
run_tasks(lambda task, file: task, range(200))
print([t.name for t in threading.enumerate()])
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == ["['MainThread', 'decode']", "['MainThread']"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    run_tasks(lambda task, file: task, TASKS)
    child = os.fork()
    if child == 0:
        os._exit(0 if run_tasks(lambda task, file: task, TASKS) == TASKS else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_wait_refer_to_nothing_of_their_last_work() -> None:
    class Work:
        def __call__(self, task: int, file: OpenFile) -> int:
            return task

    work = Work()
    gone = threading.Event()
    weakref.finalize(work, gone.set)
    assert run_tasks(work, range(64)) == list(range(64))
    del work
    assert gone.wait(timeout=60)
