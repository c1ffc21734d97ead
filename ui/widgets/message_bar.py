"""A bar with one message and buttons to act on it. It never takes the keyboard focus."""

from __future__ import annotations

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from lamella.core.errors import visible
from lamella.ui import theme

SHOWN_MS = 12_000
DANGER = "message-danger"
MOST_LINES = 2
"""Lines of text beside the buttons; if the text needs more, they are below it."""
Choice = tuple[str, Callable[[], object]]


class MessageBar(QWidget):
    """A message has a `kind`: "message", "message-success" or "message-danger"; the last one stays until it
    is closed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame = QFrame(self)
        self.label = QLabel(self._frame)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._host: QWidget | None = None
        self._host_bar: QWidget | None = None
        self._buttons: list[QPushButton] = []
        self._close = QToolButton(self._frame)
        self._close.setAccessibleName("Close the message")
        self._close.clicked.connect(self.clear)
        self._around = QHBoxLayout(self)
        self._around.setContentsMargins(theme.S, theme.S, theme.S, theme.S)
        self._around.addWidget(self._frame)
        self._layout = QGridLayout(self._frame)
        self._layout.setContentsMargins(theme.M, theme.XS, theme.XS, theme.XS)
        self._layout.setColumnStretch(0, 1)
        self._row = QWidget(self._frame)
        self._row_layout = QHBoxLayout(self._row)
        self._row_layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self.label, 0, 0)
        self._layout.addWidget(self._row, 0, 1)
        self._layout.addWidget(self._close, 0, 2)
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self._timer.timeout.connect(self.clear)
        theme.current().changed.connect(self._restyle)
        self._restyle()
        self.hide()

    def say(self, text: str, *choices: Choice, kind: str = "message", stays: bool = False) -> None:
        """Show a message, replacing the previous one. Each choice is a button that also closes it."""
        self._drop_buttons()
        text = visible(text)
        self.label.setText(text)
        self.setAccessibleName(text)
        theme.variant(self._frame, kind)
        for place, (label, act) in enumerate(choices):
            self._add(label, act, place == 0 and stays)
        self._row.setVisible(bool(choices))
        self.show()
        self._fold(self.width())
        self._place()
        self._timer.stop() if stays or kind == DANGER else self._timer.start()

    def clear(self) -> None:
        self._timer.stop()
        self._drop_buttons()
        self.hide()

    def float_over(self, host: QWidget, bar: QWidget | None = None) -> None:
        """Float over the bottom edge of `host`, above its scroll `bar`, so that messages do not move
        anything."""
        self._host, self._host_bar = host, bar
        self.setParent(host)
        self._frame.setProperty("floating", True)
        for watched in (host, bar):
            if watched is not None:
                watched.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide):
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() is QEvent.Type.LayoutRequest:
            self._place()
        return handled

    def _place(self) -> None:
        if self._host is None or self.isHidden():
            return
        width = self._host.width()
        self._fold(width)
        self._layout.activate()
        self._around.activate()
        height = self._around.totalHeightForWidth(width)
        self.setGeometry(0, max(0, self._host.height() - self._bar_height - height), width, height)
        self.raise_()

    @property
    def _bar_height(self) -> int:
        bar = self._host_bar
        if bar is None or not shiboken6.isValid(bar):  # the host's deletion takes its scroll bars first
            return 0
        return bar.height() if bar.isVisible() else 0

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold(self.width())

    def _fold(self, width: int) -> None:
        """Put the buttons beside the text or below it, in a bar of this width."""
        margins = self._around.contentsMargins() + self._layout.contentsMargins()
        right = self._row.sizeHint().width() + self._close.sizeHint().width()
        room = width - margins.left() - margins.right() - right - 2 * self._layout.horizontalSpacing()
        lines = self.label.heightForWidth(max(1, room)) // self.label.fontMetrics().lineSpacing()
        below = bool(self._buttons) and lines > MOST_LINES
        if below != (self._layout.itemAtPosition(1, 0) is not None):
            self._layout.removeWidget(self._row)
            self._layout.addWidget(
                self._row, *((1, 0, 1, 3, Qt.AlignmentFlag.AlignRight) if below else (0, 1))
            )

    @property
    def buttons(self) -> list[QPushButton]:
        return list(self._buttons)

    def _add(self, label: str, act: Callable[[], object], primary: bool) -> None:
        button = QPushButton(label, self._frame)
        theme.variant(button, "primary" if primary else "ghost")
        button.clicked.connect(lambda: self._do(act))
        self._row_layout.addWidget(button)
        button.show()  # layouts show new widgets only later, and hidden ones have no size
        self._buttons.append(button)

    def _do(self, act: Callable[[], object]) -> None:
        self.clear()
        act()

    def _drop_buttons(self) -> None:
        for button in self._buttons:
            self._row_layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = []

    def _restyle(self) -> None:
        self._close.setIconSize(theme.current().icon_size())
        self._close.setIcon(theme.current().icon("close"))
