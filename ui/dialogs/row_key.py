"""The dialog that chooses the columns that identify the rows of a server's table."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.spark import SparkTable
from lamella.core.errors import visible
from lamella.core.filters.kinds import ORDERED_KINDS, kind_of
from lamella.core.jobs import Job
from lamella.core.query.agg import count
from lamella.core.query.expressions import col
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.tasks import Handle, Tasks

MINIMUM_WIDTH, MINIMUM_HEIGHT = 440, 440
ABOUT = (
    "The rows of a Spark table have no order. Choose a key, columns whose values identify each row: the rows"
    " are sorted by it, and more can be fetched after the last one."
)
UNIQUE = "Every row has a different key."
NAME = Qt.ItemDataRole.UserRole


class RowKeyDialog(QDialog):
    """`chosen` carries the names of the columns in the order in which they were checked; empty for no key."""

    chosen = Signal(list)

    def __init__(self, table: SparkTable, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table, self._tasks = table, tasks
        self._handle: Handle | None = None
        self.key = list(table.key)
        self.setWindowTitle("Key of the rows")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.list = QListWidget(accessibleName="Columns of the key", uniformItemSizes=True)
        for field in table.schema:
            if kind_of(field.type) in ORDERED_KINDS:
                item = QListWidgetItem()
                item.setData(NAME, field.name)
                is_part = field.name in self.key
                item.setCheckState(Qt.CheckState.Checked if is_part else Qt.CheckState.Unchecked)
                self.list.addItem(item)
        self.note = QLabel(wordWrap=True)
        self.check_button, cancel = QPushButton("Check on the server"), QPushButton("Cancel")
        self.use_button = QPushButton()
        theme.variant(self.use_button, "primary")
        self.use_button.setDefault(True)
        self._lay_out(cancel)
        self.list.itemChanged.connect(self._follow)
        self.check_button.clicked.connect(self.check)
        cancel.clicked.connect(self.reject)
        self.use_button.clicked.connect(self._choose)
        self.finished.connect(lambda _: self._stop())
        self.setMinimumSize(MINIMUM_WIDTH, MINIMUM_HEIGHT)
        self._show()

    def check(self) -> None:
        """Ask the server whether the key identifies every row."""
        self._stop()
        table, key = self._table, list(self.key)

        def work(job: Job) -> int:
            return table.query().group_by(*key).agg(rows=count()).where(col("rows") > 1).count(job)

        def show_result(several: int) -> None:
            keys = "key stands" if several == 1 else "keys stand"
            self._say(
                UNIQUE if not several else f"{several:,} {keys} for several rows. Add a column.", several
            )

        self._say("Checking…")
        self.check_button.setEnabled(False)
        self._handle = self._tasks.read(
            work, show_result, lambda error: self._say(message(error), True),
            on_cancel=lambda: self._say("Stopped"), owner=self, text=f"Checking the key of {table.name}",
        )  # fmt: skip

    def _follow(self, item: QListWidgetItem) -> None:
        name, is_checked = item.data(NAME), item.checkState() is Qt.CheckState.Checked
        if is_checked == (name in self.key):
            return  # only its text has changed
        self.key = [*self.key, name] if is_checked else [column for column in self.key if column != name]
        self._stop()
        self._show()

    def _show(self) -> None:
        for row in range(self.list.count()):
            item = self.list.item(row)
            name = item.data(NAME)
            place = f"   {self.key.index(name) + 1}" if name in self.key and len(self.key) > 1 else ""
            item.setText(f"{visible(name)}{place}")
        self.use_button.setText("Use this key" if self.key or not self._table.key else "Use no key")
        self.use_button.setEnabled(self.key != list(self._table.key))
        self._say("" if self.key else "Choose the columns in the order of the key.")

    def _say(self, text: str, is_problem: object = False) -> None:
        self.note.setText(text)
        theme.variant(self.note, "danger" if is_problem else "muted")
        self.check_button.setEnabled(bool(self.key))

    def _choose(self) -> None:
        self.chosen.emit(list(self.key))
        self.accept()

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _lay_out(self, cancel: QPushButton) -> None:
        title, about = QLabel("Key of the rows"), QLabel(ABOUT, wordWrap=True)
        theme.variant(title, "title")
        theme.variant(about, "muted")
        buttons = QHBoxLayout(spacing=theme.S)
        buttons.addWidget(self.check_button)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.use_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        for widget in (title, about):
            layout.addWidget(widget)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
