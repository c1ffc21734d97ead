"""One system in the list: a box to tick, its version, and what to type where it is not installed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QToolButton, QWidget

from lamella.core.bench.registry import Entry
from lamella.ui import theme

ASKING = "is being asked how it is configured …"


class SystemRow(QWidget):
    """Off where the system takes no part in the workload, or cannot run here."""

    toggled = Signal()

    def __init__(self, entry: Entry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entry = entry
        self.box = QCheckBox(entry.title)
        self.version, self.copy = QLabel(), QToolButton()
        self._missing, self._part, self._told = "", "", ""
        self._build()
        self._tell()

    @property
    def chosen(self) -> bool:
        return self.box.isChecked() and self.ready

    @property
    def takes_part(self) -> bool:
        return not self._part

    @property
    def ready(self) -> bool:
        """Whether it can be ticked, also while a benchmark runs and all choices are off."""
        return not (self._missing or self._part)

    def set_part(self, reason: str) -> None:
        """Why it takes no part in what is measured; empty when it does."""
        self._part = reason
        self._tell()

    def set_missing(self, missing: str) -> None:
        """Why it cannot run here, with the command that mends it; empty when it can."""
        self._missing = missing
        self._tell()

    def set_version(self, version: str) -> None:
        self.version.setText(version)

    def set_told(self, version: str, description: str) -> None:
        """What it says of itself; empty while it was not asked."""
        self._told = f"{version}: {description}" if version else description
        if version and not self.version.text():
            self.version.setText(version)
        self._tell()

    @property
    def command(self) -> str:
        """What to type so that it can run; empty where nothing is missing."""
        return self._missing.partition("Run: ")[2]

    def _tell(self) -> None:
        self.box.setEnabled(self.ready)
        self.copy.setVisible(bool(self.command) and not self._part)
        self.version.setVisible(not self.copy.isVisibleTo(self))
        reason = self._part or self._missing
        tip = reason or f"{self.entry.title} {self._told or ASKING}"
        for widget in (self, self.box):
            widget.setToolTip(tip)
        self.box.setAccessibleDescription(tip)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command)
        self.copy.setText("Copied")

    def _build(self) -> None:
        theme.variant(self.version, "caption")
        theme.variant(self.copy, "chip")
        self.copy.setText("Copy install command")
        self.copy.setToolTip("Copies the command that installs it")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(self.box)
        layout.addStretch(1)
        layout.addWidget(self.version)
        layout.addWidget(self.copy)
        self.box.toggled.connect(self.toggled)
        self.copy.clicked.connect(self._copy)
