"""A tab of the workspace that is opened when it is first looked at, or says why it cannot be opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from lamella.core.errors import visible
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import sentences
from lamella.ui.tasks import Handle
from lamella.ui.widgets.controls import breakable
from lamella.ui.widgets.hosts import set_focus_proxy

SLOW_MS = 500
"""How long opening may take before the tab says that it is opening; most tabs are faster."""

WAITS = "It opens after the files that the program was started with."
WIDTH, BAR_WIDTH = 460, 160
Choice = tuple[str, Callable[[], object]]


class PendingTab(QWidget):
    """Keeps `saved_state`, the state of a tab of the kind `workspace_kind`, whether or not it can be opened.

    `restore` is called to open it and ends in `become` or `fail`, after which `settled` is emitted. The work
    that it starts is set as `handle`, so that closing the tab stops it.
    """

    became = Signal(QWidget)
    settled = Signal()
    close_requested = Signal()
    state_changed = Signal()

    def __init__(
        self,
        kind: str,
        title: str,
        saved: Mapping[str, Any],
        restore: Callable[[PendingTab], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.workspace_kind, self.saved_state = kind, saved
        self.handle: Handle | None = None
        self.problem: Exception | None = None
        self.is_opening = self.is_over = False
        self._name, self._restore = visible(title), restore
        self._ways_out: Sequence[Choice] = ()
        self._slow = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow.timeout.connect(self._refresh)
        self.body: Body | None = None

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key of the dataset, if the tab shows one."""
        key = self.saved_state.get("key")
        if not isinstance(key, list) or not key or not all(isinstance(part, str) for part in key):
            return None
        return tuple(key)

    def is_of_store(self, path: Path) -> bool:
        """Whether it shows a store or one of its tables."""
        key = self.key
        return self.saved_state.get("store") == str(path) or (key is not None and key[0] == str(path))

    @property
    def has_keyboard(self) -> bool:
        """Whether the keyboard focus of its window is in this tab, which may not be shown yet."""
        focus = self.window().focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    def state(self) -> dict[str, Any]:
        return dict(self.saved_state)

    def open(self) -> None:
        """Open the tab, once; after a failure, `retry` tries again."""
        if self.is_opening or self.is_over or self.problem is not None:
            return
        self.is_opening = True
        self._slow.start()
        self._refresh()
        self._restore(self)

    def retry(self) -> None:
        """Open the tab, unless it is being opened."""
        self.problem = None
        self.open()

    def become(self, widget: QWidget) -> None:
        """Replace this tab by the one that was opened."""
        if not self.is_over:
            self.is_over, self.is_opening = True, False
            self._slow.stop()
            self.became.emit(widget)
            self.settled.emit()

    def fail(self, error: Exception, *ways: Choice) -> None:
        """Say why the tab was not opened, and offer the `ways`, another try, and closing it."""
        if not self.is_over:
            self.is_opening, self.problem, self._ways_out = False, error, ways
            self._slow.stop()
            self._refresh()
            self.settled.emit()

    def stop(self) -> None:
        """Stop what is still running for the tab."""
        self.is_over = True
        self._slow.stop()
        self.settled.emit()
        if self.handle is not None:
            self.handle.cancel()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.body is None:  # most of many tabs are never looked at
            self.body = Body(self)
            layout = QVBoxLayout(self)
            layout.addStretch(1)
            layout.addWidget(self.body, alignment=Qt.AlignmentFlag.AlignHCenter)
            layout.addStretch(2)
            if not self.is_opening and self.problem is None:
                self._slow.start()
            self._refresh()

    def _refresh(self) -> None:
        if self.body is None:
            return
        had_keyboard = self.has_keyboard
        close: Choice = ("Close this tab", self.close_requested.emit)
        if self.problem is not None:
            what, why, fix = sentences(self.problem)
            place = breakable(" / ".join(part for part in self.key or () if part))
            self.body.show_texts(what, why or place, fix)
            self.body.show_ways([*self._ways_out, ("Try again", self.retry), close])
        elif not self.is_opening and not self._slow.isActive():
            self.body.show_texts(self._name, WAITS)
            self.body.show_ways([("Open now", self.open), close])
        elif self._slow.isActive():
            self.body.show_texts("")
            self.body.show_ways([])
        else:
            self.body.show_texts(f"Opening {self._name}")
            self.body.show_ways([close])
        self.body.bar.setVisible(self.is_opening and not self._slow.isActive())
        set_focus_proxy(self, self.body.first)
        self.setAccessibleName(self.body.text)
        if had_keyboard:
            self.setFocus()  # hiding a button moves the focus out of the tab


class Body(QWidget):
    """A headline, a text and buttons."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedWidth(WIDTH)
        self.buttons: list[QPushButton] = []
        self.labels = [QLabel(self) for _ in range(3)]
        for label, look in zip(self.labels, ("title", "", "muted"), strict=True):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            theme.variant(label, look)
        self.bar = QProgressBar(self, minimum=0, maximum=0, textVisible=False)
        self.bar.setFixedWidth(BAR_WIDTH)
        self.bar.setAccessibleName("Opening")
        self._row = QHBoxLayout()
        self._row.setSpacing(theme.S)
        self._row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.S)
        for widget in (*self.labels, self.bar):
            layout.addWidget(widget)
        layout.addSpacing(theme.S)
        layout.addLayout(self._row)

    @property
    def first(self) -> QWidget | None:
        return self.buttons[0] if self.buttons else None

    @property
    def text(self) -> str:
        return " ".join(label.text() for label in self.labels if label.text())

    def show_texts(self, headline: str, why: str = "", fix: str = "") -> None:
        for label, text in zip(self.labels, (headline, why, fix), strict=True):
            label.setText(visible(text))
            label.setVisible(bool(text))

    def show_ways(self, ways: Sequence[Choice]) -> None:
        for button in self.buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = [self._button(text, act) for text, act in ways]
        for place, button in enumerate(self.buttons):
            self._row.insertWidget(place, button)
        if len(self.buttons) > 1:
            theme.variant(self.buttons[0], "primary")

    def _button(self, text: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.clicked.connect(lambda _checked=False: act())
        return button
