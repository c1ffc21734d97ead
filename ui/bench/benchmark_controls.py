"""What to measure: workloads, sizes, systems, how often, and under which conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSpinBox, QVBoxLayout, QWidget

from lamella.core.bench.engine.choice import PUBLISHED_SCALE, SMALL_SCALE, Choice, Part, part_of
from lamella.core.bench.engine.costs import Costs
from lamella.core.bench.engine.interpreters import Interpreter, objection
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.results.compare import REFERENCE
from lamella.core.bench.workloads.model import Workload
from lamella.ui import theme
from lamella.ui.bench.conditions import ConditionsForm, Section
from lamella.ui.bench.estimate_note import EstimateNote
from lamella.ui.bench.size_choice import SizeChoice
from lamella.ui.bench.system_list import SystemList
from lamella.ui.bench.workload_choice import WorkloadChoice, reason_against
from lamella.ui.tasks import Tasks

MOST_REPEATS = 1000
UNKNOWN_PYTHON = "It is not known yet what that Python can run."


class BenchmarkControls(QWidget):
    """`changed` follows every choice; `workload_changed` only another workload."""

    changed = Signal()
    workload_changed = Signal()

    def __init__(
        self,
        tasks: Tasks,
        costs: Callable[[], Costs],
        folder: Path | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.workload_choice, self.size_choice = WorkloadChoice(), SizeChoice()
        self.systems, self.conditions = SystemList(tasks), ConditionsForm(tasks, folder)
        self.repeats = QSpinBox(minimum=1, maximum=MOST_REPEATS, accessibleName="Repeats")
        self.note = EstimateNote(tasks, costs)
        self._build()
        self._connect()
        self._take_workload()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return self.workload_choice.workloads

    @property
    def choice(self) -> Choice:
        """What would be measured; only where there is no `problem`."""
        form = self.conditions
        return Choice(
            parts=tuple(part for part in map(self._part, self.workloads) if part.systems),
            fresh=form.fresh.isChecked(),
            folder=form.folder,
            interpreter=form.python.path,
            limit_seconds=form.limit_seconds,
        )

    @property
    def problem(self) -> str:
        """Why nothing can be started; empty when it can."""
        python = self.conditions.python
        if python.problem:
            return UNKNOWN_PYTHON
        if not self.workloads:
            return "Choose at least one workload."
        if not any(self._systems_for(workload) for workload in self.workloads):
            return (python.other and self._objection(python.other)) or "Choose at least one system."
        sizes = "" if self.workload_choice.several else self.size_choice.problem
        return sizes or self.note.refusal

    def _objection(self, other: Interpreter) -> str:
        """Why that Python can run none of the workloads; empty when it can run one."""
        reasons = [objection(other, REFERENCE, workload) for workload in self.workloads]
        return "" if "" in reasons else f"{reasons[0]}."

    def _part(self, workload: Workload) -> Part:
        systems = self._systems_for(workload)
        if not self.workload_choice.several:
            own = replace(workload, table_rows=self.size_choice.table_rows)
            return part_of(own, systems, self.size_choice.selection, self.repeats.value())
        if self.workload_choice.scale.currentData() == SMALL_SCALE:
            return part_of(workload.at_small_scale(), systems, scale=SMALL_SCALE)
        return part_of(workload, systems, scale=PUBLISHED_SCALE if workload.published_rows else None)

    def _systems_for(self, workload: Workload) -> list[str]:
        rows, other = self.systems.rows, self.conditions.python.other
        return [
            name for name in self.systems.selection if not reason_against(rows[name].entry, workload, other)
        ]

    # ------------------------------------------------------------------- choices

    def _take_workload(self) -> None:
        """A workload's own sizes and repeats are where a choice starts."""
        several = self.workload_choice.several
        self.note.can_fit = not several
        for section in (self._sizes, self._samples):
            section.setVisible(not several)
        self.systems.set_workloads(self.workloads or tuple(WORKLOADS.values()))
        if not several:
            (workload,) = self.workloads
            self.size_choice.set_workload(workload)
            self._sizes.heading.setText("Rows that change" if workload.table_rows else "Rows")
            self.repeats.setValue(workload.default_repeats)
        self.workload_changed.emit()
        self._tell()

    def _tell(self) -> None:
        self.note.show_choice(None, "")
        problem = self.problem
        self.note.show_choice(None if problem else self.choice, problem)
        self.changed.emit()

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        self._sizes = Section("Rows", self.size_choice)
        self._samples = Section("Samples", self._repeat_line())
        inner = QWidget()
        parts = QVBoxLayout(inner)
        parts.setContentsMargins(theme.L, theme.M, theme.L, theme.L)
        parts.setSpacing(theme.L)
        for section in (
            Section("Workload", self.workload_choice),
            self._sizes,
            self._samples,
            Section("Conditions", self.conditions, open_first=False),
            Section("Systems", self.systems),
        ):
            parts.addWidget(section)
        parts.addStretch(1)
        area = QScrollArea(widgetResizable=True, frameShape=QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        theme.variant(area, "panel")
        area.setWidget(inner)
        area.setMinimumWidth(inner.minimumSizeHint().width() + theme.L)
        line = QFrame()
        theme.variant(line, "line")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(area, 1)
        layout.addWidget(line)
        layout.addWidget(self.note)

    def _repeat_line(self) -> QWidget:
        line = QWidget()
        layout = QHBoxLayout(line)
        layout.setContentsMargins(0, 0, 0, 0)
        label = QLabel("Repeats")
        label.setBuddy(self.repeats)
        self.repeats.setMinimumWidth(6 * theme.L)
        self.repeats.setAlignment(Qt.AlignmentFlag.AlignRight)
        layout.addWidget(label)
        layout.addStretch(1)
        layout.addWidget(self.repeats)
        return line

    def _connect(self) -> None:
        self.workload_choice.changed.connect(self._take_workload)
        for part in (self.size_choice, self.systems, self.conditions):
            part.changed.connect(self._tell)
        self.repeats.valueChanged.connect(self._tell)
        python = self.conditions.python
        python.changed.connect(lambda: self.systems.set_interpreter(python.other))
        self.note.changed.connect(self.changed)
        self.note.fit_requested.connect(self.size_choice.choose)
