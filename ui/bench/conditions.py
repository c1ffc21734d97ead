"""Under which conditions a benchmark runs: limits, processes, disk and interpreter."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QCheckBox, QFileDialog, QFormLayout, QPushButton, QSpinBox, QWidget

from lamella.ui import theme
from lamella.ui.bench.interpreter_choice import InterpreterChoice
from lamella.ui.tasks import Tasks

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
