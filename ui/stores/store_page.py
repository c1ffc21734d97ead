"""The page of a store: its place, its size and what takes it, and the actions on the whole store."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from lamella.core.errors import LamellaError, visible
from lamella.core.phrases import quantity, size_text
from lamella.core.store.sizes import StoreSizes
from lamella.core.store.store import Store
from lamella.core.store.verify import Report
from lamella.ui import theme
from lamella.ui.stores.sizes_tree import SizesTree
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FlowLayout
from lamella.ui.widgets.message_bar import MessageBar

ACTS = {
    "relations": ("Relations diagram", "The tables and the relations between them"),
    "verify": ("Verify…", "Compare every file with its checksum; nothing is changed"),
    "backup": ("Back up…", "Copy the store to another folder while it is in use"),
    "compact": ("Compact…", "Merge small files and write pending changes to files"),
    "vacuum": ("Vacuum…", "Remove files that no version needs"),
    "rename": ("Rename…", "Rename the folder of the store"),
    "move": ("Move…", "Move the folder of the store to another location"),
}
"""The actions on a store: the text of the button, and its tooltip."""

NO_TABLES = "It has no tables yet. Import… and New table… in the menu File make one in this store."


class Records(Protocol):
    """Remembers the last verification."""

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]: ...


class StorePage(QWidget):
    """`act_requested` has the action on the store: one of `ACTS`, or "expire" or "compact" with a table.
    `table_requested` has the table to open."""

    act_requested = Signal(str, str)
    table_requested = Signal(str)
    status_changed = Signal()
    state_changed = Signal()
    workspace_kind = "store"

    def __init__(
        self,
        store: Store,
        tasks: Tasks,
        records: Records,
        open_tabs: Callable[[Path], int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.store = store
        self.sizes: StoreSizes | None = None
        self._tasks, self._records, self._open_tabs = tasks, records, open_tabs
        self._reading: Handle | None = None
        self.name, self.path, self.facts, self.freed_label = QLabel(), QLabel(), QLabel(), QLabel()
        theme.variant(self.name, "title")
        theme.variant(self.path, "muted")
        theme.variant(self.freed_label, "muted")
        for label in (self.path, self.facts, self.freed_label):
            label.setWordWrap(True)
            label.setMinimumWidth(1)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.tree = SizesTree(self)
        self.messages = MessageBar(self)
        self.buttons: dict[str, QPushButton] = {}
        self._lay_out()
        self.tree.opened.connect(self.table_requested)
        self.tree.menu_requested.connect(self._open_menu)
        self.measure()

    @property
    def status(self) -> str:
        if self.sizes is None:
            return "Measuring…"
        return f"{quantity(len(self.sizes.tables), 'table')} · {size_text(self.sizes.total)}"

    @property
    def is_busy(self) -> bool:
        return self._reading is not None and self._reading.running

    def state(self) -> dict[str, str]:
        return {"store": str(self.store.path)}

    def measure(self) -> None:
        """Read the sizes again."""
        if self._reading is not None:
            self._reading.cancel()
        store = self.store
        self.say_facts()
        self._reading = self._tasks.read(
            store.maintenance.sizes, self._show, self._fail, owner=self, text=f"Measuring {store.name}"
        )

    def use_store(self, store: Store) -> None:
        """Show the same store, which has been opened again or moved."""
        self.store = store
        self.state_changed.emit()
        self.messages.clear()
        self.measure()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if event.spontaneous() or self.is_busy:
            self.say_facts()
        else:
            self.measure()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F5:
            self.measure()
        else:
            super().keyPressEvent(event)

    # -------------------------------------------------------------- verification

    @property
    def _key(self) -> tuple[str, ...]:
        return "store", str(self.store.path)

    @property
    def verified_text(self) -> str:
        record = self._records.layout(self._key)
        try:
            when = dt.datetime.fromisoformat(str(record["verified"])).astimezone()
        except (KeyError, ValueError):
            return "never verified"
        problems = record.get("problems")
        outcome = quantity(problems, "problem") if isinstance(problems, int) and problems else "all was well"
        how = "" if record.get("checksums", True) else ", without checksums"
        return f"last verified {when:%Y-%m-%d %H:%M}: {outcome}{how}"

    # ------------------------------------------------------------------- content

    def _show(self, sizes: StoreSizes) -> None:
        self.sizes = sizes
        self.tree.show_sizes(sizes)
        self.say_facts()

    def say_facts(self) -> None:
        """Show what is known without measuring."""
        self.name.setText(visible(self.store.name))
        self.path.setText(visible(str(self.store.path)))
        tabs = self._open_tabs(self.store.path)
        open_tabs = f"{quantity(tabs, 'tab')} open"
        facts = [*([open_tabs] if tabs else []), self.verified_text]
        if self.store.read_only:
            facts.insert(0, "read-only")
        if self.sizes is not None:
            facts[:0] = [_size_of(self.sizes), f"store format {self.sizes.format}"]
        self.facts.setText(" · ".join(facts))
        self.freed_label.setText(_freeable(self.sizes) if self.sizes is not None else "Measuring…")
        for act in ("compact", "vacuum", "rename", "move"):
            self.buttons[act].setEnabled(not self.store.read_only)
        self.status_changed.emit()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, LamellaError):
            self.messages.say(str(error), ("Try again", self.measure), kind="message-danger")
        else:
            self._tasks.failed.emit(error)

    def _open_menu(self, table: str, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Open", lambda: self.table_requested.emit(table))
        if not self.store.read_only:
            menu.addAction("Compact…", lambda: self.act_requested.emit("compact", table))
            menu.addAction("Expire versions…", lambda: self.act_requested.emit("expire", table))
        menu.popup(place)

    def _lay_out(self) -> None:
        acts = QWidget()
        flow = FlowLayout(theme.S, acts)
        for act, (text, tip) in ACTS.items():
            button = self.buttons[act] = QPushButton(text)
            button.setToolTip(tip)
            button.clicked.connect(lambda _=False, act=act: self.act_requested.emit(act, ""))
            flow.addWidget(button)
        self.expire = QPushButton("Expire versions…")
        self.expire.setToolTip("Drop earlier versions of the table selected below, and free their files")
        self.expire.clicked.connect(lambda: self.act_requested.emit("expire", self.tree.current_table))
        flow.addWidget(self.expire)
        head = QVBoxLayout()
        head.setContentsMargins(theme.L, theme.M, theme.L, theme.M)
        head.setSpacing(theme.XS)
        for widget in (self.name, self.path, self.facts, self.freed_label):
            head.addWidget(widget)
        head.addSpacing(theme.XS)
        head.addWidget(acts)
        frame = QFrame()
        theme.variant(frame, "bar")
        frame.setLayout(head)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(frame)
        layout.addWidget(self.tree, 1)
        self.messages.float_over(self.tree)
        self.setFocusProxy(self.tree)


def record_of(report: Report) -> dict[str, Any]:
    """The record of a verification: its time and result."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return {"verified": now, "problems": len(report.problems), "checksums": report.checksums}


def _size_of(sizes: StoreSizes) -> str:
    """The size of the store, with that of the catalog if most of it belongs to no table."""
    beside = sizes.catalog_bytes + sizes.reserve_bytes
    own = f" ({size_text(beside)} of it the catalog)" if 2 * beside > sizes.total else ""
    return f"{size_text(sizes.total)}{own}"


def _freeable(sizes: StoreSizes) -> str:
    """What can be freed, and how; of an empty store, how it gets a table."""
    plan = sizes.vacuum
    if not sizes.tables and not plan.bytes:
        return NO_TABLES
    needed = [t.compaction for t in sizes.tables if t.compaction is not None and t.compaction.files > 1]
    history = sum(table.history_bytes for table in sizes.tables)
    now = plan.bytes + plan.catalog_bytes
    parts = [f"Vacuum frees {size_text(now)}."] if now else []
    if plan.waiting:
        parts.append(f"{size_text(plan.waiting)} more can be vacuumed once they are no longer being read.")
    if needed:
        count, freed = len(needed), sum(each.freed for each in needed)
        then = f", and vacuum then frees {size_text(freed)}" if freed else ""
        parts.append(f"{count:,} table{' is' if count == 1 else 's are'} worth compacting{then}.")
    if history:
        parts.append(f"Earlier versions take {size_text(history)}; expiring them frees it.")
    return " ".join(parts) or "There is nothing to free."
