"""The error dialog: what went wrong, why, and what to do, with details to copy."""

from __future__ import annotations

import traceback

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import FileProblem, LamellaError, visible
from lamella.ui import theme

WIDTH, LARGE_ICON = 480, 32
PADDING = 11
"""What a field has to the left of its text."""

BUG_WHAT = "Something unexpected went wrong"
BUG_FIX = "Your data is unchanged. You can continue working; copy the details if you want to report it."


class ErrorDialog(QDialog):
    """Not modal: the window behind it stays usable."""

    def __init__(self, error: Exception, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Lamella")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.details = details(error)
        what, why, fix = sentences(error)
        self._icon = QLabel(self)
        texts = QVBoxLayout()
        texts.setSpacing(theme.S)
        for text, look in ((what, "title"), (why, ""), (fix, "muted")):
            if text:
                texts.addWidget(self._label(text, look))
        if isinstance(error, FileProblem):
            texts.addWidget(self._path(str(error.path)))
        top = QHBoxLayout()
        top.setSpacing(theme.L)
        top.addWidget(self._icon, alignment=Qt.AlignmentFlag.AlignTop)
        top.addLayout(texts, 1)
        self._box = QPlainTextEdit(self.details, self)
        self._box.setReadOnly(True)
        self._box.setAccessibleName("Details")
        self._box.hide()
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.L)
        layout.addLayout(top)
        layout.addWidget(self._box)
        layout.addLayout(self._buttons())
        self.setAccessibleName(what)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def _label(self, text: str, look: str) -> QLabel:
        label = QLabel(visible(text), self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.variant(label, look)
        return label

    def _path(self, path: str) -> QLineEdit:
        """The path of the file, for copying; however long, it does not widen the dialog."""
        field = QLineEdit(visible(path), self)
        field.setReadOnly(True)
        field.setCursorPosition(0)
        field.setToolTip(field.text())
        field.setAccessibleName("File")
        theme.variant(field, "flat")
        field.setTextMargins(-PADDING, 0, 0, 0)
        return field

    def _buttons(self) -> QHBoxLayout:
        self._details_button = QPushButton("Details", self)
        copy = QPushButton("Copy details", self)
        close = QPushButton("Close", self)
        theme.variant(self._details_button, "ghost")
        theme.variant(close, "primary")
        close.setDefault(True)
        close.setFocus()  # otherwise Enter would press the first button
        self._details_button.clicked.connect(self._toggle)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.details))
        close.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addWidget(self._details_button)
        row.addStretch()
        row.addWidget(copy)
        row.addWidget(close)
        return row

    def _restyle(self) -> None:
        look = theme.current()
        self._icon.setPixmap(look.icon("warning", "danger").pixmap(look.icon_size(LARGE_ICON)))
        self._box.setFont(look.mono_font("caption"))
        self.setMinimumWidth(look.px(WIDTH))

    def _toggle(self) -> None:
        self._box.setVisible(self._box.isHidden())
        self._details_button.setText("Details" if self._box.isHidden() else "Hide details")
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Resize to the height of the texts: that of Qt's size hint is for lines of half the width."""
        self._layout.activate()
        self.resize(self.width(), self._layout.totalHeightForWidth(self.width()))


def sentences(error: Exception) -> tuple[str, str, str]:
    """What happened, why, what to do."""
    if isinstance(error, LamellaError):
        return error.headline, error.why, error.fix_in("window")
    return BUG_WHAT, f"{type(error).__name__}: {error}", BUG_FIX


def message(error: Exception) -> str:
    """The whole message on one line."""
    return str(LamellaError(*sentences(error)))


def details(error: Exception) -> str:
    return visible("".join(traceback.format_exception(error)).strip())
