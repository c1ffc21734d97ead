"""The crash report: what broke, in a window, with the details to copy."""

from __future__ import annotations

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

from lamella.app import crash, logs
from lamella.ui import theme

HEADLINE = "Something went wrong that should not have"
ADVICE = (
    "It has been written to the log. Nothing that was saved is affected, and you can go on working; "
    "start Lamella again if it behaves oddly. The details below help to mend it."
)


class CrashReporter(QObject):
    """Shows one dialog at a time, on the GUI thread, whichever thread the error comes from."""

    _told = Signal(object)

    def __init__(self, window: QWidget | None = None) -> None:
        super().__init__(window)
        self.dialog: CrashDialog | None = None
        self._window = window
        self._told.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, error: BaseException) -> None:
        """Any thread."""
        self._told.emit(error)

    def _show(self, error: BaseException) -> None:
        if self.dialog is not None:
            self.dialog.add(error)
            return
        self.dialog = CrashDialog(error, self._window)
        self.dialog.finished.connect(self._closed)
        self.dialog.open()

    def _closed(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None


class CrashDialog(QDialog):
    def __init__(self, error: BaseException, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Crash report")
        self.resize(760, 520)
        self.details = QPlainTextEdit(crash.report_text(error))
        self.details.setReadOnly(True)
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.details.setFont(theme.current().mono_font("caption"))
        self.details.setAccessibleName("Details of the error")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addLayout(self._headline())
        layout.addWidget(_wrapped(crash.summary(error), selectable=True))
        layout.addWidget(_wrapped(ADVICE))
        layout.addWidget(self.details, 1)
        layout.addWidget(_wrapped(f"The log is {logs.log_path()}", selectable=True))
        layout.addWidget(self._buttons())

    def add(self, error: BaseException) -> None:
        """Another error while the dialog is open."""
        self.details.appendPlainText(f"\n{'─' * 40}\n\n{crash.report_text(error)}")

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


def _wrapped(text: str, selectable: bool = False) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
