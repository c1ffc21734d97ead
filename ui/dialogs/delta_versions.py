"""The dialog that chooses which version of a Delta table a tab shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.delta import DeltaDataset, DeltaVersion
from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.items import top_items

NUMBER, TIME, OPERATION, ROWS, MESSAGE, ENGINE = range(6)
SIZE, ROW_HEIGHT = QSize(760, 420), 28
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class VersionChoice(QDialog):
    """`chosen` carries the number of a version; None for the newest, with which the tab then stays up to
    date."""

    chosen = Signal(object)

    def __init__(self, dataset: DeltaDataset, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown_version = dataset.version
        self._newest = dataset.newest
        self.setWindowTitle("Versions")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.title = QLabel(f"Versions of {visible(dataset.name)}")
        theme.variant(self.title, "title")
        self.status = QLabel("Reading the log…", wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        theme.variant(self.status, "caption")
        self.list = QTreeWidget(rootIsDecorated=False, accessibleName="Versions", uniformRowHeights=True)
        self.list.setHeaderLabels(["Version", "Time", "Operation", "Rows added", "Message", "Written by"])
        self.list.headerItem().setTextAlignment(ROWS, RIGHT)
        header = self.list.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self.list.currentItemChanged.connect(lambda *_: self._update())
        self.list.itemDoubleClicked.connect(lambda *_: self._choose())
        cancel, self.show_button = QPushButton("Cancel"), QPushButton("Show")
        theme.variant(self.show_button, "primary")
        self.show_button.setDefault(True)
        cancel.clicked.connect(self.reject)
        self.show_button.clicked.connect(self._choose)
        row = QHBoxLayout(spacing=theme.S)
        row.addWidget(self.status, 1)
        row.addWidget(cancel)
        row.addWidget(self.show_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(self.title)
        layout.addWidget(self.list, 1)
        layout.addLayout(row)
        self.resize(SIZE * theme.current().text_scale)
        self._update()

        def read(job: Job) -> list[DeltaVersion]:
            return dataset.versions()

        tasks.read(read, self._list, self._fail, owner=self, text=f"Reading versions of {dataset.name}")

    @property
    def current(self) -> int | None:
        """The number of the selected version."""
        item = self.list.currentItem()
        number: int | None = item.data(NUMBER, Qt.ItemDataRole.UserRole) if item is not None else None
        return number

    def mark(self, number: int) -> None:
        for item in top_items(self.list):
            if item.data(NUMBER, Qt.ItemDataRole.UserRole) == number:
                self.list.setCurrentItem(item)

    def _list(self, versions: Sequence[DeltaVersion]) -> None:
        self._newest = versions[0].number if versions else self._newest
        self.list.addTopLevelItems([self._item(version) for version in versions])
        self.status.setText("" if versions else "The log has no version that can be opened")
        self.mark(self._shown_version)
        self.list.setFocus()
        self._update()

    def _item(self, version: DeltaVersion) -> QTreeWidgetItem:
        time = f"{version.time.astimezone():%Y-%m-%d %H:%M:%S}" if version.time else ""
        rows = "" if version.rows is None else f"{version.rows:,}"
        note = " (shown)" if version.number == self._shown_version else ""
        item = QTreeWidgetItem(
            [
                f"{version.number:,}{note}", time, visible(version.operation), rows,
                visible(version.message), visible(version.engine),
            ]
        )  # fmt: skip
        item.setToolTip(MESSAGE, visible(version.message))
        item.setData(NUMBER, Qt.ItemDataRole.UserRole, version.number)
        wide = self.fontMetrics().horizontalAdvance(item.text(NUMBER)) + theme.XL
        item.setSizeHint(NUMBER, QSize(wide, max(ROW_HEIGHT, self.fontMetrics().height() + theme.S)))
        item.setTextAlignment(ROWS, RIGHT)
        return item

    def _fail(self, error: Exception) -> None:
        self.status.setText(str(error) if isinstance(error, LamellaError) else "The log could not be read")

    def _update(self) -> None:
        current = self.current
        self.show_button.setEnabled(current is not None and current != self._shown_version)
        self.show_button.setText("Show" if current is None else f"Show version {current:,}")

    def _choose(self) -> None:
        if self.show_button.isEnabled():
            self.chosen.emit(None if self.current == self._newest else self.current)
            self.accept()
