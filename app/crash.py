"""The handling of unexpected errors: they are logged, and shown with details to copy. A fault in native code,
which ends the program, leaves the stacks of its threads in a file beside the log."""

from __future__ import annotations

import faulthandler
import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from lamella.app import __version__, logs, paths
from lamella.core.errors import LamellaError
from lamella.ui import theme

LIBRARIES = ("PySide6_Essentials", "pyqtgraph", "pyarrow", "duckdb", "sqlglot", "numpy", "pandas")
log = logging.getLogger(__name__)


def log_and_tell(error: BaseException) -> None:
    """Report an error of the command line: details go to the log, one line and its path to the terminal."""
    handler = logs.start()
    log.critical("Unexpected error", exc_info=error)
    logs.stop(handler)
    print(f"lamella: unexpected error: {type(error).__name__}: {error}", file=sys.stderr)
    place = f"in {logs.log_path()}" if handler.is_complete else "above; the log cannot be written"
    print(f"lamella: this is a bug; the details are {place}", file=sys.stderr)


def report_text(error: BaseException) -> str:
    """Everything needed to investigate the error: traceback, versions and the last lines of the log."""
    trace = "".join(traceback.format_exception(error))
    return f"{trace}\n{_versions()}\n\nLast lines of the log:\n{logs.last_lines()}"


def install(tell: Callable[[BaseException], None]) -> Callable[[], None]:
    """Log every uncaught exception, on any thread, and pass it to `tell` on that thread.

    Returns a function that restores the previous hooks.
    """
    before = sys.excepthook, threading.excepthook, sys.unraisablehook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            before[0](kind, error, trace)
            return
        log.critical("Unexpected error", exc_info=(kind, error, trace))
        before[0](kind, error, trace)
        tell(error)

    def report_of_thread(event: threading.ExceptHookArgs) -> None:
        if event.exc_value is not None:
            report(event.exc_type, event.exc_value, event.exc_traceback)

    def log_unraisable(event: sys.UnraisableHookArgs) -> None:
        log.error("Ignored in %r", event.object, exc_info=event.exc_value)
        before[2](event)

    def uninstall() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before

    sys.excepthook, threading.excepthook = report, report_of_thread
    sys.unraisablehook = log_unraisable
    return uninstall


def stacks_path() -> Path:
    return paths.log_folder() / "crash.log"


def record_stacks() -> Callable[[], None]:
    """Append the stacks of all threads to `stacks_path()` if a fault in native code, such as an access to
    memory that is not there, ends the program. Returns a function that stops it. `-X faulthandler` has
    precedence."""
    if faulthandler.is_enabled():
        return lambda: None
    try:
        file = stacks_path().open("a", encoding="utf8")
    except OSError as error:
        log.warning("%s: stacks cannot be recorded: %s", stacks_path(), error)
        return lambda: None
    faulthandler.enable(file)

    def stop() -> None:
        faulthandler.disable()
        file.close()

    return stop


def summary(error: BaseException) -> str:
    if isinstance(error, LamellaError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version  # takes 8 ms, because it imports email

    lines = [f"Lamella {__version__}", f"Python {platform.python_version()}", platform.platform()]
    for name in LIBRARIES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name}: version unknown")
    return "\n".join(lines)


HEADLINE = "Something went wrong unexpectedly"
ADVICE = (
    "The error is in the log. Saved data is not affected, and you can go on working; "
    "restart Lamella if it behaves oddly. The details below help to fix the problem."
)


class CrashReporter(QObject):
    """Shows errors of any thread in one dialog, on the GUI thread."""

    _raised = Signal(object)

    def __init__(self, window: QWidget | None = None) -> None:
        super().__init__(window)
        self.dialog: CrashDialog | None = None
        self._window = window
        self._raised.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, error: BaseException) -> None:
        """Show an error. Any thread."""
        self._raised.emit(error)

    def _show(self, error: BaseException) -> None:
        if self.dialog is not None:
            self.dialog.add(error)
            return
        self.dialog = CrashDialog(error, self._window)
        self.dialog.finished.connect(self._close_dialog)
        self.dialog.open()

    def _close_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None


class CrashDialog(QDialog):
    def __init__(self, error: BaseException, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Crash report")
        self.resize(760, 520)
        self.details = QPlainTextEdit(report_text(error))
        self.details.setReadOnly(True)
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setFont(theme.current().mono_font("caption"))
        self.details.setAccessibleName("Details of the error")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addLayout(self._headline())
        layout.addWidget(_wrapped_label(summary(error), selectable=True))
        layout.addWidget(_wrapped_label(ADVICE))
        layout.addWidget(self.details, 1)
        layout.addWidget(_wrapped_label(f"The log is {logs.log_path()}", selectable=True))
        layout.addWidget(self._buttons())

    def add(self, error: BaseException) -> None:
        """Append another error to the open dialog."""
        self.details.appendPlainText(f"\n{'─' * 40}\n\n{report_text(error)}")

    def copy_details(self) -> None:
        QGuiApplication.clipboard().setText(self.details.toPlainText())

    def _headline(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(theme.S)
        sign, words = QLabel(), QLabel(HEADLINE)
        sign.setPixmap(theme.current().icon("warning", "text").pixmap(24, 24))
        words.setFont(theme.current().font("title", bold=True))
        row.addWidget(sign)
        row.addWidget(words, 1)
        return row

    def _buttons(self) -> QDialogButtonBox:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        copy = buttons.addButton("Copy details", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self.copy_details)
        return buttons


def _wrapped_label(text: str, selectable: bool = False) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
