"""What to race: the workload, the systems, the sizes, how often, and on which disk."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.bench.backends import ENTRIES, Entry, load
from core.bench.plan import estimated_seconds, memory_problem
from core.bench.workloads import ALL_SIZES, WORKLOADS, Workload
from ui import theme
from ui.bench.durations import about

DEFAULT_SYSTEMS = ("lamella", "sqlite")


@dataclass(frozen=True)
class Choice:
    """A race that was asked for."""

    workload: Workload
    rows: tuple[int, ...]
    systems: tuple[str, ...]
    repeats: int
    fresh: bool
    folder: Path


class RaceControls(QWidget):
    """`changed` follows every choice; `workload_changed` only another workload."""

    changed = Signal()
    workload_changed = Signal()

    def __init__(self, folder: Path | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.folder = folder or Path(tempfile.gettempdir())
        self.workloads = QComboBox(accessibleName="Workload")
        self.systems = {entry.id: self._system(entry) for entry in ENTRIES.values() if entry.takes("table")}
        self.sizes = {rows: self._size(rows) for rows in ALL_SIZES}
        self.repeats = QSpinBox(minimum=1, maximum=100, accessibleName="Repeats")
        self.fresh = QCheckBox("A new process for every step")
        self._about, self._time, self._place = QLabel(), QLabel(), QLabel()
        self._build()
        self._fill()

    @property
    def choice(self) -> Choice:
        return Choice(
            workload=self.workload,
            rows=tuple(rows for rows, box in self.sizes.items() if box.isChecked() and box.isEnabled()),
            systems=tuple(name for name, box in self.systems.items() if box.isChecked() and box.isEnabled()),
            repeats=self.repeats.value(),
            fresh=self.fresh.isChecked(),
            folder=self.folder,
        )

    @property
    def workload(self) -> Workload:
        return WORKLOADS[self.workloads.currentData()]

    @property
    def seconds(self) -> float:
        """A rough estimate of what the choice will take."""
        asked = self.choice
        return estimated_seconds(asked.workload, asked.rows, len(asked.systems), asked.repeats, asked.fresh)

    @property
    def problem(self) -> str:
        """Why nothing can be started; empty when it can."""
        asked = self.choice
        if not asked.systems:
            return "Choose at least one system."
        return "" if asked.rows else "Choose at least one number of rows."

    def set_folder(self, folder: Path) -> None:
        self.folder = folder
        self._tell()

    # ------------------------------------------------------------------ building

    def _system(self, entry: Entry) -> QCheckBox:
        box = QCheckBox(entry.title)
        if entry.missing:
            box.setEnabled(False)
            box.setToolTip(entry.missing)
        else:
            system = load(entry.id)
            box.setText(f"{entry.title}  {system.version()}")
            box.setToolTip(f"{entry.title} {system.version()}: {system.describe()}.")
            box.setChecked(entry.id in DEFAULT_SYSTEMS)
        box.toggled.connect(self._tell)
        return box

    def _size(self, rows: int) -> QCheckBox:
        box = QCheckBox(f"{rows:,}")
        problem = memory_problem(rows)
        box.setEnabled(not problem)
        box.setToolTip(problem or f"{rows:,} rows of 100 columns")
        box.toggled.connect(self._tell)
        return box

    def _build(self) -> None:
        self._about.setWordWrap(True)
        self._time.setWordWrap(True)
        self._place.setWordWrap(True)
        self.fresh.setToolTip(
            "Slower, but every read and query is the first of its process: all samples are cold."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.S)
        self._section(layout, "Workload", self.workloads, self._about)
        self._section(layout, "Systems", *self.systems.values())
        self._section(layout, "Rows", self._size_grid())
        self._section(layout, "Samples", self._repeat_form(), self.fresh)
        self._section(layout, "Disk", self._place, self._choose_button())
        self._section(layout, "Time", self._time)
        layout.addStretch(1)
        for label in (self._about, self._time, self._place):
            theme.variant(label, "caption")

    def _section(self, layout: QVBoxLayout, title: str, *widgets: QWidget) -> None:
        heading = QLabel(title)
        theme.variant(heading, "heading")
        if layout.count():
            layout.addSpacing(theme.S)
        layout.addWidget(heading)
        for widget in widgets:
            layout.addWidget(widget)

    def _size_grid(self) -> QWidget:
        grid = QWidget()
        layout = QGridLayout(grid)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(theme.S)
        half = (len(self.sizes) + 1) // 2
        for place, box in enumerate(self.sizes.values()):
            layout.addWidget(box, place % half, place // half)
        return grid

    def _repeat_form(self) -> QWidget:
        form = QWidget()
        layout = QHBoxLayout(form)
        layout.setContentsMargins(0, 0, 0, 0)
        label = QLabel("Repeats")
        label.setBuddy(self.repeats)
        self.repeats.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.repeats.setMinimumWidth(6 * theme.L)
        layout.addWidget(label)
        layout.addStretch(1)
        layout.addWidget(self.repeats)
        return form

    def _choose_button(self) -> QPushButton:
        button = QPushButton("Another folder …")
        button.setToolTip("The databases are made in a folder of their own here and removed afterwards")
        button.clicked.connect(self._choose_folder)
        return button

    def _fill(self) -> None:
        for workload in WORKLOADS.values():
            self.workloads.addItem(workload.title, workload.id)
        self.workloads.currentIndexChanged.connect(self._take_workload)
        self.repeats.valueChanged.connect(self._tell)
        self.fresh.toggled.connect(self._tell)
        self._take_workload()

    # -------------------------------------------------------------------- choices

    def _take_workload(self) -> None:
        """The workload's own sizes and repeats are where a choice starts."""
        self._about.setText(self.workload.about)
        self.repeats.setValue(self.workload.default_repeats)
        for rows, box in self.sizes.items():
            box.setChecked(rows in self.workload.default_rows)
        self.workload_changed.emit()
        self._tell()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "Folder for the databases", str(self.folder))
        if chosen:
            self.set_folder(Path(chosen))

    def _tell(self) -> None:
        self._place.setText(f"Databases are made in {self.folder} and removed afterwards.")
        self._time.setText(self.problem or f"About {about(self.seconds)} on two cores.")
        self.changed.emit()
