"""The preview of a change in SQL: how many rows, the first of them before and after, and a button to apply
it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from lamella.core.arrow.types import type_text
from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.editing.change_preview import PreviewTable
from lamella.ui.sql.runner import PendingChange

VERBS = {"insert": "Insert", "update": "Update", "delete": "Delete", "create": "Create the table with"}


class ChangePanel(QWidget):
    """`accepted` is emitted to make the change, `given_up` to discard it, `typed` with a key for the
    statement."""

    accepted = Signal()
    given_up = Signal()
    typed = Signal(QKeyEvent)

    def __init__(self, pending: PendingChange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pending = pending
        self.preview = PreviewTable()
        self.preview.show_preview(
            pending.effect.preview, plain_after=pending.change.kind in ("insert", "create")
        )
        self.title, self.news = QLabel(self._title()), QLabel(self._words())
        theme.variant(self.title, "title")
        theme.variant(self.news, "muted")
        self.news.setWordWrap(True)
        rows = pending.effect.matching
        self.apply = QPushButton(f"{VERBS[pending.change.kind]} {quantity(rows, 'row')}")
        self.apply.setEnabled(bool(pending.effect.total) or pending.change.kind == "create")
        theme.variant(self.apply, "primary")
        self.cancel = QPushButton("Cancel")
        self.apply.clicked.connect(self.accepted)
        self.cancel.clicked.connect(self.given_up)
        self._lay_out()
        self.setFocusProxy(self.apply if self.apply.isEnabled() else self.cancel)

    @property
    def status(self) -> str:
        return "Nothing has changed yet"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button with the keyboard, Esc discards the change. Text is for the statement."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            (self.cancel if self.cancel.hasFocus() else self.apply).click()
        elif event.key() == Qt.Key.Key_Escape:
            self.cancel.click()
        elif event.text().isprintable() and event.text().strip():
            self.typed.emit(event)
        else:
            super().keyPressEvent(event)

    def lock(self) -> None:
        """Disable the panel while the change is made; it keeps the keyboard."""
        if self.apply.hasFocus() or self.cancel.hasFocus():
            self.preview.setFocus()
        self.apply.setEnabled(False)
        self.cancel.setEnabled(False)

    def _title(self) -> str:
        change = self.pending.change
        name = visible(change.table)
        return {
            "insert": f"Insert into {name}", "update": f"Update {name}", "delete": f"Delete from {name}",
            "create": f"Create table {name}",
        }[change.kind]  # fmt: skip

    def _words(self) -> str:
        pending = self.pending
        effect, kind = pending.effect, pending.change.kind
        store = f"in store {visible(pending.store.name)}"
        if kind == "update":
            same = effect.matching - effect.changed
            sentence = f"{quantity(effect.matching, 'row')} {_are(effect.matching)} set {store}"
            sentence += f"; {same:,} of them already have these values." if same else "."
        elif kind == "delete":
            sentence = f"{quantity(effect.deleted, 'row')} {_are(effect.deleted)} deleted {store}."
        else:
            sentence = f"{quantity(effect.inserted, 'row')} {_are(effect.inserted)} added {store}."
        for name, (before, after) in effect.types.items():
            sentence += (
                f" '{visible(name)}' becomes {type_text(after)}."
                if before is not None
                else f" '{visible(name)}' is new."
            )
        count = len(effect.preview.kinds)
        if count < effect.total:
            sentence += f" The first {count} are shown."
        undo = "" if kind == "create" else " It is one commit, and can be undone."
        return sentence + undo

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.news, 1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.apply)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        layout.setSpacing(theme.S)
        layout.addWidget(self.title)
        layout.addLayout(buttons)
        layout.addWidget(self.preview, 1)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
