"""Which Python runs the systems: this one, one found on this computer, or one that is looked for."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QVBoxLayout, QWidget

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
        for name, path in found().items():
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


def found() -> dict[str, str]:
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
