"""How the benchmark in somebody's own file is to be run: its systems, sizes and repeats, and what it will
take."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.costs import Costs, shipped_costs
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import system_names
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import title_of
from lamella.ui.bench.caption import Caption
from lamella.ui.bench.estimate_note import EstimateNote
from lamella.ui.tasks import Tasks

MOST_REPEATS = 1000


class UserScriptDialog(QDialog):
    """`benchmark_requested` carries what was chosen; the dialog closes with it."""

    benchmark_requested = Signal(Choice)

    def __init__(
        self,
        workload: Workload,
        tasks: Tasks,
        costs: Callable[[], Costs] = shipped_costs,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._workload = workload
        self.setWindowTitle(f"Benchmark {workload.title}")
        self.systems = {name: QCheckBox(title_of(name), checked=True) for name in system_names(workload)}
        self.rows = QLineEdit(", ".join(f"{rows}" for rows in workload.default_rows), accessibleName="Rows")
        self.repeats = QSpinBox(
            minimum=1, maximum=MOST_REPEATS, value=workload.default_repeats, accessibleName="Repeats"
        )
        self.note = EstimateNote(tasks, costs)
        self.start, self.cancel = QPushButton("Start"), QPushButton("Cancel")
        self._build()
        self._connect()
        self._tell()

    @property
    def problem(self) -> str:
        """What is missing or wrong; empty when nothing is."""
        if self._sizes() is None:
            return "Rows are whole numbers from 1 on, with commas between them."
        return "" if self._selection() else "Choose at least one system."

    @property
    def choice(self) -> Choice | None:
        if self.problem:
            return None
        part = part_of(self._workload, self._selection(), self._sizes(), self.repeats.value())
        return Choice((part,))

    def _selection(self) -> list[str]:
        return [name for name, box in self.systems.items() if box.isChecked()]

    def _sizes(self) -> list[int] | None:
        words = [word.strip().replace("_", "") for word in self.rows.text().split(",") if word.strip()]
        if not words or not all(word.isdecimal() and int(word) for word in words):
            return None
        return sorted({int(word) for word in words})

    def _tell(self) -> None:
        theme.variant(self.rows, "" if self._sizes() else "invalid")
        self.note.show_choice(self.choice, self.problem)
        self._offer()

    def _offer(self) -> None:
        problem = self.problem or self.note.refusal
        self.start.setEnabled(not problem)
        self.start.setToolTip(problem or "Run every chosen system of the file, each in processes of its own")

    def _start(self) -> None:
        choice = self.choice
        if choice is not None:
            self.benchmark_requested.emit(choice)
            self.accept()

    def _build(self) -> None:
        title, about, where = QLabel(self._workload.title), Caption(), Caption()
        theme.variant(title, "title")
        about.tell(self._workload.about)
        where.tell(self._workload.id)
        theme.variant(self.start, "primary")
        self.start.setDefault(True)
        boxes = QVBoxLayout()
        boxes.setSpacing(theme.XS)
        for box in self.systems.values():
            boxes.addWidget(box)
        form = QFormLayout()
        form.setHorizontalSpacing(theme.L)
        form.setVerticalSpacing(theme.M)
        form.addRow("Systems", boxes)
        form.addRow("Rows", self.rows)
        form.addRow("Repeats", self.repeats)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.start)
        self.note.layout().setContentsMargins(0, 0, 0, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.setSpacing(theme.M)
        for widget in (title, about, where):
            layout.addWidget(widget)
        layout.addLayout(form)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
        self.setMinimumWidth(26 * theme.current().line_height())

    def _connect(self) -> None:
        for box in self.systems.values():
            box.toggled.connect(lambda _: self._tell())
        self.rows.textChanged.connect(lambda _: self._tell())
        self.repeats.valueChanged.connect(lambda _: self._tell())
        self.note.changed.connect(self._offer)
        self.start.clicked.connect(self._start)
        self.cancel.clicked.connect(self.reject)
