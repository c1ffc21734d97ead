"""What to measure, in one line: workloads, sizes, systems, repeats and conditions."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.choice import PUBLISHED_SCALE, SMALL_SCALE, Choice, Part, part_of
from lamella.core.bench.engine.costs import Costs
from lamella.core.bench.engine.interpreters import Interpreter, examine, objection
from lamella.core.bench.registry import WORKLOADS, entry_named
from lamella.core.bench.results.compare import REFERENCE
from lamella.core.bench.results.figures import short_titles, shown_rows
from lamella.core.bench.results.published_results import publications
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.tables import FLOATS
from lamella.core.phrases import quantity
from lamella.ui import theme
from lamella.ui.bench.caption import Caption, EstimateNote
from lamella.ui.bench.system_list import SystemList
from lamella.ui.bench.workload_choice import SizeChoice, WorkloadChoice, reason_against
from lamella.ui.dialogs.file_dialog import ask_file, ask_folder
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.controls import FieldForm, NumberBox
from lamella.ui.widgets.popover import ChoiceButton

MOST_REPEATS = 1000
MINUTE, PUBLISHED, INSTALLED, TABLE = "60 seconds", "As published", "Everything installed", "This table…"
PRESETS = {
    MINUTE: "The small benchmark of Lamella and SQLite, within a minute",
    PUBLISHED: "This workload at the published sizes, with Lamella and the systems measured there",
    INSTALLED: "This workload with every system that is ready",
    TABLE: "The table of the open tab, copied into each system",
}
MINUTE_ROWS, MINUTE_REPEATS = (1, 10, 100, 1_000, 10_000, 100_000), 5
LAMELLA = "lamella"
NAMED_SYSTEMS = 2
"""Up to this many systems are named on their button; more are counted."""

UNKNOWN_PYTHON = "Checking what this Python can run…"


class BenchmarkControls(QWidget):
    """The choices of a benchmark. `changed` is emitted after every choice, `workload_changed` after another
    workload; `table_requested` asks for a benchmark of the open table."""

    changed = Signal()
    workload_changed = Signal()
    table_requested = Signal()

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
        self.repeats = NumberBox(minimum=1, maximum=MOST_REPEATS, accessibleName="Repeats")
        self.note = EstimateNote(tasks, costs, words_apart=True, parent=self)
        self.presets = {title: QPushButton(title) for title in PRESETS}
        self.copy = QPushButton("Copy as command")
        self._build()
        self._connect()
        self._take_workload()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return self.workload_choice.workloads

    @property
    def choice(self) -> Choice:
        """What would be measured; valid only while there is no `problem`."""
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
        """Why nothing can be started; empty if a benchmark can."""
        python = self.conditions.python
        if python.problem:
            return UNKNOWN_PYTHON
        if not self.workloads:
            return "Choose at least one workload."
        if not any(self._systems_for(workload) for workload in self.workloads):
            return (
                python.interpreter and self._objection(python.interpreter)
            ) or "Choose at least one system."
        sizes = "" if self.workload_choice.several else self.size_choice.problem
        return sizes or self.note.refusal

    def _objection(self, interpreter: Interpreter) -> str:
        """Why the other Python can run none of the workloads; empty if it can run one."""
        reasons = [objection(interpreter, REFERENCE, workload) for workload in self.workloads]
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
        rows, interpreter = self.systems.rows, self.conditions.python.interpreter
        return [
            name
            for name in self.systems.selection
            if not reason_against(rows[name].entry, workload, interpreter)
        ]

    # ------------------------------------------------------------------- choices

    def _take_workload(self) -> None:
        """Start from the workload's own sizes and repeats."""
        several = self.workload_choice.several
        self.note.can_fit = not several
        for button in (self.sizes_button, self.repeats_button):
            button.setVisible(not several)
        self.systems.set_workloads(self.workloads or tuple(WORKLOADS.values()))
        if not several:
            (workload,) = self.workloads
            self.size_choice.set_workload(workload)
            self._sizes.heading.setText("Rows that change" if workload.table_rows else "Rows")
            self.repeats.setValue(workload.default_repeats)
        self.workload_changed.emit()
        self._tell()

    def take_preset(self, title: str) -> None:
        """Choose one of PRESETS, by its title."""
        choice = self.workload_choice
        if title == PUBLISHED:
            self._take_published_rows()
        elif title == INSTALLED:
            self.systems.all_button.click()
        elif title == TABLE:
            self.workload_button.popover.close()
            self.table_requested.emit()
        else:
            choice.choose("small")
            self.size_choice.choose(MINUTE_ROWS)
            self.repeats.setValue(MINUTE_REPEATS)
            self.systems.choose((LAMELLA, REFERENCE))

    def _take_published_rows(self) -> None:
        if self.workload_choice.several:
            scale = self.workload_choice.scale
            scale.setCurrentIndex(scale.findData(PUBLISHED_SCALE))
        elif sizes := self.workloads[0].published_rows:
            self.size_choice.choose(sizes)
        systems = {line.system for workload in self.workloads for line in publications(workload.id)}
        if systems:
            self.systems.choose({LAMELLA, *systems})

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self.choice.commands))

    def _tell(self) -> None:
        self.note.show_choice(None, "")
        problem = self.problem
        self.note.show_choice(None if problem else self.choice, problem)
        self.copy.setEnabled(not problem)
        self._say_choices()
        self.changed.emit()

    def _say_choices(self) -> None:
        titles = [workload.title for workload in self.workloads]
        self.workload_button.say(
            titles[0] if len(titles) == 1 else f"{len(titles)} workloads", "\n".join(titles)
        )
        sizes = self.size_choice.selection
        span = (
            f"{sizes[0]:,} – {shown_rows(sizes[-1])}"
            if len(sizes) > 1
            else shown_rows(sizes[0])
            if sizes
            else ""
        )
        self.sizes_button.say(span or "No rows", ", ".join(f"{rows:,}" for rows in sizes))
        systems = [entry_named(name).title for name in self.systems.selection]
        short = " and ".join(short_titles(systems))
        self.systems_button.say(
            short if 0 < len(systems) <= NAMED_SYSTEMS else f"{len(systems)} systems", "\n".join(systems)
        )
        count = self.repeats.value()
        self.repeats_button.say(quantity(count, "repeat"))

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        self._sizes = Section("Rows", self.size_choice)
        self.workload_button = ChoiceButton("Workload", _form(self._preset_line(), self.workload_choice))
        self.sizes_button = ChoiceButton("Rows", _form(self._sizes))
        self.systems_button = ChoiceButton("Systems", _form(self.systems))
        self.repeats_button = ChoiceButton("Repeats", _form(self._repeat_line()))
        self.settings_button = ChoiceButton("Settings", _form(self.conditions, self.copy))
        theme.variant(self.copy, "link")
        self.copy.setToolTip("The command for the same benchmark in a terminal")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        for button in self.buttons:
            layout.addWidget(button)

    @property
    def buttons(self) -> tuple[ChoiceButton, ...]:
        return (
            self.workload_button,
            self.sizes_button,
            self.systems_button,
            self.repeats_button,
            self.settings_button,
        )

    def _preset_line(self) -> QWidget:
        line = QWidget()
        layout = QVBoxLayout(line)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for title, about in PRESETS.items():
            button = self.presets[title]
            theme.variant(button, "link")
            button.setToolTip(about)
            button.clicked.connect(lambda _=False, title=title: self.take_preset(title))
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        return line

    def _repeat_line(self) -> QWidget:
        line = QWidget()
        layout = QHBoxLayout(line)
        layout.setContentsMargins(0, 0, 0, 0)
        label = QLabel("Repeats")
        label.setBuddy(self.repeats)
        self.repeats.setMinimumWidth(6 * theme.L)
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
        python.changed.connect(lambda: self.systems.set_interpreter(python.interpreter))
        self.note.changed.connect(self.changed)
        self.note.fit_requested.connect(self.size_choice.choose)
        self.copy.clicked.connect(self._copy)


def _form(*widgets: QWidget) -> QWidget:
    form = QWidget()
    layout = QVBoxLayout(form)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.M)
    for widget in widgets:
        layout.addWidget(widget)
    layout.addStretch(1)
    return form


BROWSE, SHIMS = "browse", "shims"
LOOKING = "Checking what it is…"
NAMES = (
    "pypy3",
    *(f"pypy3.{minor}" for minor in range(8, 16)),
    "python3",
    *(f"python3.{minor}" for minor in range(8, 16)),
)


class InterpreterChoice(QWidget):
    """Chooses a Python. `changed` is emitted at once, and again when it is known which Python it is."""

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box, self.about = QComboBox(accessibleName="Interpreter"), Caption()
        self.interpreter: Interpreter | None = None
        self.problem = ""
        self._tasks = tasks
        self._choice = 0
        self._handle: Handle | None = None
        self._build()

    @property
    def path(self) -> str | None:
        """The path of the interpreter; None for the one that runs this program."""
        return str(self.interpreter.path) if self.interpreter else None

    def choose(self, path: str) -> None:
        """Choose a Python of the list, adding it if necessary."""
        place = self.box.findData(path)
        if place < 0:
            place = self.box.count() - 1
            self.box.blockSignals(True)
            self.box.insertItem(place, Path(path).name, path)
            self.box.blockSignals(False)
        self.box.setCurrentIndex(place)

    def _take(self, place: int) -> None:
        path = self.box.itemData(place)
        if path == BROWSE:
            self.box.blockSignals(True)
            self.box.setCurrentIndex(self._choice)
            self.box.blockSignals(False)
            self._browse()
            return
        self._choice = place
        if self._handle is not None:
            self._handle.cancel()
        self._show(None, "" if path is None else LOOKING)
        if path is not None:
            self._handle = self._tasks.read(
                lambda job: examine(path),
                lambda interpreter: self._show(interpreter, ""),
                lambda error: self._show(None, str(error)),
                owner=self,
                quiet=True,
            )

    def _show(self, interpreter: Interpreter | None, problem: str) -> None:
        self.interpreter, self.problem = interpreter, problem
        theme.variant(self.about, "danger" if problem not in ("", LOOKING) else "caption")
        self.about.tell(problem or (interpreter.sentence if interpreter else ""))
        self.changed.emit()

    def _browse(self) -> None:
        ask_file(self, "A Python interpreter", lambda path: self.choose(str(path)))

    def _build(self) -> None:
        self.box.addItem(f"{platform.python_implementation()} {platform.python_version()}", None)
        self.box.setItemData(0, "The Python that runs this program", Qt.ItemDataRole.ToolTipRole)
        for name, path in installed_pythons().items():
            self.box.addItem(name, path)
            self.box.setItemData(self.box.count() - 1, path, Qt.ItemDataRole.ToolTipRole)
        self.box.addItem("Another…", BROWSE)
        self.box.setToolTip(
            "Which Python runs the systems. One other than the program's own, such as PyPy, can take part"
            f" only in the workload '{FLOATS.title}'."
        )
        self.box.setMinimumContentsLength(12)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addWidget(self.box)
        layout.addWidget(self.about)
        self.about.hide()
        self.box.currentIndexChanged.connect(self._take)


def installed_pythons() -> dict[str, str]:
    """Paths by name, without links to another one or to this one, and without the stand-ins of version
    managers, which run a Python only if one is configured."""
    interpreters = {Path(sys.executable).resolve()}
    pythons: dict[str, str] = {}
    for name in NAMES:
        place = shutil.which(name)
        if (
            place is not None
            and Path(place).parent.name != SHIMS
            and Path(place).resolve() not in interpreters
        ):
            interpreters.add(Path(place).resolve())
            pythons[name] = place
    return pythons


FIRST_LIMIT = 300
LONGEST_LIMIT = 86_400
FOLDER_WIDTH = 130
"""Pixels for the path that is shown, at the usual text size."""


class ConditionsForm(QWidget):
    changed = Signal()

    def __init__(self, tasks: Tasks, folder: Path | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.folder = folder or Path(tempfile.gettempdir())
        self.limit = NumberBox(minimum=0, maximum=LONGEST_LIMIT, value=FIRST_LIMIT, singleStep=30)
        self.fresh = QCheckBox("A new process for every step")
        self.choose, self.python = QPushButton(), InterpreterChoice(tasks)
        self._build()
        self.set_folder(self.folder)

    @property
    def limit_seconds(self) -> float | None:
        return float(self.limit.value()) or None

    def set_folder(self, folder: Path) -> None:
        self.folder = folder
        self._show_folder()
        self.choose.setToolTip(
            f"Databases are made in {folder} and removed afterwards. Click for another disk."
        )
        self.changed.emit()

    def _show_folder(self) -> None:
        metrics, room = QFontMetrics(self.choose.font()), theme.current().px(FOLDER_WIDTH)
        text = metrics.elidedText(str(self.folder), Qt.TextElideMode.ElideMiddle, room)
        self.choose.setText(f"{text} …")

    def _choose_folder(self) -> None:
        ask_folder(self, "Folder for the databases", self.set_folder, self.folder)

    def _build(self) -> None:
        self.limit.setSuffix(" s")
        self.limit.setSpecialValueText("No limit")
        self.limit.setAccessibleName("Limit of a step in seconds")
        self.limit.setToolTip(
            "The maximum time for a step of a system. Exceeding it counts as a result; the others continue."
        )
        self.fresh.setToolTip(
            "Slower, but every read and query is the first in its process: all samples are cold."
        )
        form = FieldForm(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(theme.M)
        form.setVerticalSpacing(theme.S)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Limit of a step", self.limit)
        form.addRow("Folder", self.choose)
        form.addRow("Python", self.python)
        form.addRow(self.fresh)
        self.limit.valueChanged.connect(self.changed)
        self.fresh.toggled.connect(self.changed)
        self.python.changed.connect(self.changed)
        self.choose.clicked.connect(self._choose_folder)
        theme.current().changed.connect(self._show_folder)


class Section(QWidget):
    """A section of the form. `open_first` is None for one that cannot be folded."""

    def __init__(self, title: str, *widgets: QWidget, open_first: bool | None = None) -> None:
        super().__init__()
        self.body = QWidget()
        inner = QVBoxLayout(self.body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(theme.S)
        for widget in widgets:
            inner.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        self.toggle = QToolButton(self, text=title, checkable=True)
        self.heading = QLabel(title, self)
        self.toggle.setHidden(open_first is None)
        self.heading.setHidden(open_first is not None)
        theme.variant(self.heading, "heading")
        if open_first is None:
            layout.addWidget(self.heading)
        else:
            self._foldable(layout, open_first)
        layout.addWidget(self.body)

    def _foldable(self, layout: QVBoxLayout, open_first: bool) -> None:
        theme.variant(self.toggle, "fold")
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.toggled.connect(self.unfold)
        theme.current().changed.connect(self._restyle)
        line = QHBoxLayout()
        line.addWidget(self.toggle)
        line.addStretch(1)
        layout.addLayout(line)
        self.toggle.setChecked(open_first)
        self.unfold(open_first)

    def _restyle(self) -> None:
        self.unfold(self.toggle.isChecked())

    def unfold(self, opened: bool) -> None:
        self.body.setVisible(opened)
        self.toggle.setIcon(theme.current().icon("chevron-down" if opened else "chevron-right"))
