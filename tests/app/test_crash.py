"""An unexpected exception is logged and reported, on any thread."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import pytest
from PySide6.QtGui import QGuiApplication

from lamella.app import crash, logs
from lamella.app.crash import CrashReporter
from lamella.core.errors import FileProblem

uncaught = pytest.mark.qt_no_exception_capture  # these tests raise what pytest-qt would count as a failure


@pytest.fixture
def log():
    handler = logs.start()
    yield logs.log_path()
    logs.stop(handler)


@pytest.fixture
def errors(log):
    errors = []
    uninstall = crash.install(errors.append)
    yield errors
    uninstall()


@uncaught
def test_an_exception_nobody_caught_is_logged_and_told(errors, log, capsys):
    error = ValueError("dep_delay broke")
    sys.excepthook(ValueError, error, None)
    assert errors == [error]
    assert "dep_delay broke" in log.read_text() and "dep_delay broke" in capsys.readouterr().err


@uncaught
def test_one_on_a_thread_is_told_too(errors, capsys):
    def fail() -> None:
        raise KeyError("on a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert [str(error) for error in errors] == ["'on a thread'"]
    assert "on a thread" in capsys.readouterr().err


@uncaught
def test_ctrl_c_is_not_a_crash(errors, capsys):
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert errors == [] and "KeyboardInterrupt" in capsys.readouterr().err


def test_the_hooks_are_given_back(log):
    before = sys.excepthook
    crash.install(lambda error: None)()
    assert sys.excepthook is before


def test_the_report_has_trace_versions_and_the_end_of_the_log(log):
    logging.getLogger("anything").warning("the last thing that happened")
    try:
        raise ValueError("broken")
    except ValueError as error:
        text = crash.report_text(error)
    assert "test_crash.py" in text and "ValueError: broken" in text
    assert "duckdb " in text and "the last thing that happened" in text


def test_the_dialog_shows_the_error_and_copies_the_details(qtbot, log):
    reporter = CrashReporter()
    reporter.tell(ValueError("first"))
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    reporter.tell(FileProblem("/data/a.csv", "second"))
    qtbot.waitUntil(lambda: "second" in reporter.dialog.details.toPlainText())
    reporter.dialog.copy_details()
    copied = QGuiApplication.clipboard().text()
    assert "ValueError: first" in copied and "/data/a.csv" in copied
    reporter.dialog.reject()
    qtbot.waitUntil(lambda: reporter.dialog is None)
    reporter.tell(ValueError("third"))
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    assert "first" not in reporter.dialog.details.toPlainText()
    reporter.dialog.reject()
    qtbot.waitUntil(lambda: reporter.dialog is None)


def test_an_error_told_on_a_thread_is_shown_on_the_gui_thread(qtbot, log):
    reporter = CrashReporter()
    thread = threading.Thread(target=reporter.tell, args=(ValueError("elsewhere"),))
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: reporter.dialog is not None)
    assert reporter.dialog.thread() is reporter.thread()
    reporter.dialog.reject()
    qtbot.waitUntil(lambda: reporter.dialog is None)


def test_the_log_keeps_its_last_lines_only(log):
    for number in range(100):
        logging.getLogger("x").info("line %d", number)
    lines = logs.last_lines(3).splitlines()
    assert [line.split()[-1] for line in lines] == ["97", "98", "99"]


FAULT = """
from lamella.app import crash
crash.record_stacks()
def read_missing_memory():
    import ctypes
    ctypes.string_at(0)
read_missing_memory()
"""


def test_a_fault_in_native_code_leaves_the_stacks_beside_the_log(log):
    program = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, check=False)
    assert program.returncode != 0
    assert "in read_missing_memory" in crash.stacks_path().read_text("utf8")


def test_stacks_that_cannot_be_written_are_logged(log, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(crash.faulthandler, "is_enabled", lambda: False)  # pytest enables it
    monkeypatch.setattr(crash, "stacks_path", lambda: tmp_path / "missing" / "crash.log")
    crash.record_stacks()()
    assert "stacks cannot be recorded" in caplog.text
