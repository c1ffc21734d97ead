from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import shiboken6
from PySide6.QtCore import QObject, QThread
from PySide6.QtWidgets import QApplication

from lamella.core.errors import BadData, Cancelled
from lamella.core.jobs import Job
from lamella.ui import tasks as tasks_module
from lamella.ui.tasks import READERS, Handle, Tasks, has_unanswered_reads


def test_work_runs_elsewhere_and_answers_on_the_gui_thread(tasks, qtbot) -> None:
    threads: list[tuple[bool, bool]] = []
    gui = QApplication.instance().thread()

    def done(worker) -> None:
        threads.append((worker is gui, QThread.currentThread() is gui))

    tasks.read(lambda job: QThread.currentThread(), done)
    qtbot.waitUntil(lambda: threads == [(False, True)])


def test_three_reads_run_at_the_same_time(tasks, qtbot) -> None:
    together = threading.Barrier(3, timeout=60)
    answers: list[int] = []
    for _ in range(3):
        tasks.read(lambda job: together.wait(), answers.append)
    qtbot.waitUntil(lambda: sorted(answers) == [0, 1, 2])


def test_writes_run_one_after_the_other_in_order(tasks, qtbot) -> None:
    trace: list[str] = []
    answers: list[int] = []

    def work(n: int):
        def run(job) -> int:
            trace.append(f"begin {n}")
            trace.append(f"end {n}")
            return n

        return run

    for n in range(5):
        tasks.write(work(n), answers.append)
    qtbot.waitUntil(lambda: answers == [0, 1, 2, 3, 4])
    assert trace == [f"{word} {n}" for n in range(5) for word in ("begin", "end")]


def test_an_error_reaches_its_owner_or_else_the_signal(tasks, qtbot) -> None:
    def fail(job):
        raise BadData("no rows")

    own: list[Exception] = []
    tasks.read(fail, on_error=own.append)
    qtbot.waitUntil(lambda: len(own) == 1)
    with qtbot.waitSignal(tasks.failed) as signal:
        tasks.write(fail)
    assert "no rows" in str(signal.args[0])
    assert len(own) == 1


def test_a_cancelled_read_says_only_that_it_stopped(tasks, qtbot) -> None:
    running = threading.Event()
    heard: list[str] = []

    def work(job) -> None:
        running.set()
        while True:
            job.report(1)

    handle = tasks.read(
        work,
        lambda _: heard.append("done"),
        lambda _: heard.append("failed"),
        on_cancel=lambda: heard.append("stopped"),
    )
    assert running.wait(60)
    handle.cancel()
    qtbot.waitUntil(lambda: heard == ["stopped"])
    assert not handle.running


def test_a_read_that_finishes_after_its_cancel_is_dropped(tasks, qtbot) -> None:
    go_on = threading.Event()
    heard: list[object] = []
    handle = tasks.read(lambda job: go_on.wait(60), heard.append)
    handle.cancel()
    with qtbot.waitSignal(tasks.finished):
        go_on.set()
    assert heard == []


def test_a_write_that_went_through_before_its_cancel_is_reported(tasks, qtbot) -> None:
    running, go_on = threading.Event(), threading.Event()
    heard: list[str] = []

    def work(job) -> str:
        running.set()
        go_on.wait(60)
        return "committed"

    handle = tasks.write(work, heard.append)
    assert running.wait(60)
    handle.cancel()
    go_on.set()
    qtbot.waitUntil(lambda: heard == ["committed"])


def test_nothing_is_called_for_a_destroyed_owner(tasks, qtbot) -> None:
    go_on = threading.Event()
    owner, heard = QObject(), []
    tasks.read(lambda job: go_on.wait(60), heard.append, owner=owner)
    import shiboken6

    shiboken6.delete(owner)
    with qtbot.waitSignal(tasks.finished):
        go_on.set()
    assert heard == []


def test_busy_counts_all_but_quiet_work(tasks, qtbot) -> None:
    go_on = threading.Event()
    changes: list[bool] = []
    tasks.busy_changed.connect(changes.append)
    tasks.read(lambda job: go_on.wait(60), quiet=True)
    assert changes == [] and tasks.running == []
    tasks.read(lambda job: go_on.wait(60))
    tasks.write(lambda job: go_on.wait(60))
    assert changes == [True] and len(tasks.running) == 2 and len(tasks.writing) == 1
    go_on.set()
    qtbot.waitUntil(lambda: changes == [True, False])


def test_progress_arrives_on_the_gui_thread(tasks, qtbot) -> None:
    reports: list[tuple[int, bool]] = []
    gui = QApplication.instance().thread()

    def progress(p) -> None:
        reports.append((p.done, QThread.currentThread() is gui))

    tasks.read(lambda job: job.report(7, 7, "rows"), on_progress=progress)
    qtbot.waitUntil(lambda: reports == [(7, True)])


def test_shutdown_cancels_and_waits(qapp) -> None:
    tasks = Tasks()
    running, ended = threading.Event(), threading.Event()

    def work(job) -> None:
        running.set()
        try:
            while True:
                job.report(1)
        except Cancelled:
            ended.set()
            raise

    tasks.read(work)
    assert running.wait(60)
    tasks.shutdown()
    assert ended.is_set()


def test_the_end_does_not_wait_for_ever_for_a_read_that_never_answers(qtbot, monkeypatch, caplog) -> None:
    monkeypatch.setattr(tasks_module, "PATIENCE_SECONDS", 0.01)
    tasks, runs, answers = Tasks(), threading.Event(), threading.Event()

    def work(job) -> None:
        runs.set()
        assert answers.wait(60)

    tasks.read(work, text="Reading a disk")
    assert runs.wait(60) and not has_unanswered_reads()
    tasks.shutdown()
    assert has_unanswered_reads() and "Reading a disk" in caplog.text
    answers.set()
    qtbot.waitUntil(lambda: not has_unanswered_reads())


def test_the_end_does_not_wait_for_reads_that_never_began(qapp, monkeypatch, caplog) -> None:
    go_on, heard = threading.Event(), []

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            go_on.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(tasks_module, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(tasks_module, "PATIENCE_SECONDS", 0.5)
    tasks = Tasks()
    for _ in range(READERS):
        tasks.read(lambda job: go_on.wait(60))
    tasks.read(heard.append, text="Waiting for a thread")
    tasks.shutdown()
    assert caplog.text == "" and heard == [] and not has_unanswered_reads()


def test_what_is_asked_for_after_the_end_is_over_at_once(qapp) -> None:
    tasks, heard = Tasks(), []
    tasks.shutdown()
    handles = [tasks.read(heard.append, heard.append), tasks.write(heard.append, heard.append)]
    assert not any(handle.running for handle in handles)
    assert heard == [] and tasks.running == []


def test_what_the_end_cut_short_runs_no_more(qapp) -> None:
    tasks, go_on = Tasks(), threading.Event()
    waiting = [tasks.write(lambda job: go_on.wait(0.01)) for _ in range(3)]
    tasks.shutdown()
    assert not any(handle.running for handle in waiting)


def test_discard_gets_the_result_of_a_cancelled_read(tasks, qtbot) -> None:
    begun, go_on = threading.Event(), threading.Event()
    answers, discarded = [], []

    def work(job) -> str:
        begun.set()
        assert go_on.wait(60)
        return "open store"

    handle = tasks.read(work, answers.append, discard=discarded.append)
    assert begun.wait(60)
    handle.cancel()
    go_on.set()
    qtbot.waitUntil(lambda: bool(discarded))
    assert (answers, discarded) == ([], ["open store"])


def test_discard_gets_the_result_when_the_owner_is_gone(tasks, qtbot) -> None:
    owner, answers, discarded = QObject(), [], []
    go_on = threading.Event()
    tasks.read(lambda job: go_on.wait(60), answers.append, discard=discarded.append, owner=owner)
    shiboken6.delete(owner)
    go_on.set()
    qtbot.waitUntil(lambda: bool(discarded))
    assert (answers, discarded) == ([], [True])


def test_discard_gets_a_result_that_was_not_delivered_before_the_shutdown(qapp) -> None:
    tasks, ready = Tasks(), threading.Event()
    answers, discarded = [], []
    tasks.write(lambda job: "first", answers.append, discard=discarded.append)
    tasks.write(lambda job: ready.set(), answers.append)
    assert ready.wait(60)  # and no event of Qt was handled since
    tasks.shutdown()
    qapp.processEvents()
    assert (answers, discarded) == ([], ["first"])


def test_discard_does_not_get_what_done_gets(tasks, qtbot) -> None:
    answers, discarded = [], []
    tasks.read(lambda job: 1, answers.append, discard=discarded.append)
    qtbot.waitUntil(lambda: bool(answers))
    assert (answers, discarded) == ([1], [])


def test_work_goes_on_without_reads_that_never_answer(tasks, qtbot, monkeypatch, caplog) -> None:
    """Stopping them frees what waits for them, and their threads."""
    monkeypatch.setattr("lamella.ui.tasks.GRACE_MS", 20)
    answer = threading.Event()
    heard: list[str] = []
    discarded: list[str] = []

    def read(name: str, work: Callable[[Job], object]) -> Handle:
        return tasks.read(
            work, lambda _: heard.append(f"{name} done"), on_cancel=lambda: heard.append(f"{name} stopped"),
            discard=lambda _: discarded.append(name), text=name,
        )  # fmt: skip

    hung = [read("hung", lambda job: answer.wait(60)) for _ in range(READERS)]
    waiting = read("waiting", lambda job: None)
    read("next", lambda job: None)
    waiting.cancel()
    qtbot.waitUntil(lambda: heard == ["waiting stopped"])
    assert not tasks.unanswered_reads
    hung[0].cancel()
    qtbot.waitUntil(lambda: len(heard) == 3)
    assert heard[1:] == ["hung stopped", "next done"]
    assert tasks.unanswered_reads == hung[:1] and tasks.running == hung[1:]
    assert "Given up without an answer: hung" in caplog.text
    with qtbot.waitSignal(tasks.unanswered_changed):
        answer.set()
    qtbot.waitUntil(lambda: not tasks.running)
    assert not tasks.unanswered_reads and discarded == ["hung"]
    assert sorted(heard[3:]) == ["hung done"] * (READERS - 1)
