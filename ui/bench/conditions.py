"""The conditions of a benchmark, in a section that folds: limits, processes, disk and interpreter."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.interpreters import Interpreter, examine
from lamella.core.bench.workloads.tables import FLOATS
from lamella.ui import theme
from lamella.ui.bench.caption import Caption
from lamella.ui.tasks import Handle, Tasks

BROWSE, SHIMS = "browse", "shims"
LOOKING = "Looking what it is …"
NAMES = (
    "pypy3",
    *(f"pypy3.{minor}" for minor in range(8, 16)),
    "python3",
    *(f"python3.{minor}" for minor in range(8, 16)),
)


class InterpreterChoice(QWidget):
    """`changed` follows another Python: at once, and again when it is known what that is."""

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box, self.about = QComboBox(accessibleName="Interpreter"), Caption()
        self.other: Interpreter | None = None
        self.problem = ""
        self._tasks = tasks
        self._chosen = 0
        self._handle: Handle | None = None
        self._build()

    @property
    def path(self) -> str | None:
        """None for the one that runs this program."""
        return str(self.other.path) if self.other else None

    def choose(self, path: str) -> None:
        """One of the list, or one that is added to it."""
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
            self.box.setCurrentIndex(self._chosen)
            self.box.blockSignals(False)
            self._browse()
            return
        self._chosen = place
        if self._handle is not None:
            self._handle.cancel()
        self._show(None, "" if path is None else LOOKING)
        if path is not None:
            self._handle = self._tasks.read(
                lambda job: examine(path),
                lambda other: self._show(other, ""),
                lambda error: self._show(None, str(error)),
                owner=self,
                quiet=True,
            )

    def _show(self, other: Interpreter | None, problem: str) -> None:
        self.other, self.problem = other, problem
        theme.variant(self.about, "danger" if problem not in ("", LOOKING) else "caption")
        self.about.tell(problem or (other.sentence if other else ""))
        self.changed.emit()

    def _browse(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self, "A Python interpreter")
        if chosen:
            self.choose(chosen)

    def _build(self) -> None:
        self.box.addItem(f"{platform.python_implementation()} {platform.python_version()}", None)
        self.box.setItemData(0, "The one that runs this program", Qt.ItemDataRole.ToolTipRole)
        for name, path in installed_pythons().items():
            self.box.addItem(name, path)
            self.box.setItemData(self.box.count() - 1, path, Qt.ItemDataRole.ToolTipRole)
        self.box.addItem("Another …", BROWSE)
        self.box.setToolTip(
            "Which Python runs the systems. One that is not the program's own, such as PyPy, can take part"
            f" only the workload “{FLOATS.title}”."
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
    """Paths by name. Left out are links to another one or to this one, and the stand-ins of version managers,
    which run a Python only where one was set."""
    known = {Path(sys.executable).resolve()}
    pythons: dict[str, str] = {}
    for name in NAMES:
        place = shutil.which(name)
        if place is not None and Path(place).parent.name != SHIMS and Path(place).resolve() not in known:
            known.add(Path(place).resolve())
            pythons[name] = place
    return pythons


FIRST_LIMIT = 300
LONGEST_LIMIT = 86_400
FOLDER_WIDTH = 130
"""Of the path that is shown, in pixels."""


class ConditionsForm(QWidget):
    changed = Signal()

    def __init__(self, tasks: Tasks, folder: Path | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.folder = folder or Path(tempfile.gettempdir())
        self.limit = QSpinBox(minimum=0, maximum=LONGEST_LIMIT, value=FIRST_LIMIT, singleStep=30)
        self.fresh = QCheckBox("A new process for every step")
        self.choose, self.python = QPushButton(), InterpreterChoice(tasks)
        self._build()
        self.set_folder(self.folder)

    @property
    def limit_seconds(self) -> float | None:
        return float(self.limit.value()) or None

    def set_folder(self, folder: Path) -> None:
        self.folder = folder
        metrics = QFontMetrics(self.choose.font())
        self.choose.setText(
            metrics.elidedText(str(folder), Qt.TextElideMode.ElideMiddle, FOLDER_WIDTH) + " …"
        )
        self.choose.setToolTip(
            f"Databases are made in {folder} and removed afterwards. Click for another disk."
        )
        self.changed.emit()

    def _choose_folder(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "Folder for the databases", str(self.folder))
        if chosen:
            self.set_folder(Path(chosen))

    def _build(self) -> None:
        self.limit.setSuffix(" s")
        self.limit.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.limit.setSpecialValueText("No limit")
        self.limit.setAccessibleName("Limit of a step in seconds")
        self.limit.setToolTip(
            "What one step of one system may take. To pass it is a result; the others go on."
        )
        self.fresh.setToolTip(
            "Slower, but every read and query is the first of its process: all samples are cold."
        )
        form = QFormLayout(self)
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


class Section(QWidget):
    """`open_first` is None for a part that cannot be folded."""

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
