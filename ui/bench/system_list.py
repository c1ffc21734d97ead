"""The systems, in groups: which take part, which are installed, and a way to find one among many."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.child import Introduction
from lamella.core.bench.engine.interpreters import Interpreter
from lamella.core.bench.registry import Entry
from lamella.core.bench.workloads.model import Workload
from lamella.ui import theme
from lamella.ui.bench.asking import Asking
from lamella.ui.bench.parts import no_part
from lamella.ui.bench.server_field import ServerField
from lamella.ui.bench.system_groups import grouped, installed_versions
from lamella.ui.bench.system_row import SystemRow
from lamella.ui.tasks import Tasks

FIRST_CHOICE = ("lamella", "sqlite")
WITH_SERVER = "mongodb"


class SystemList(QWidget):
    """Versions come from what is installed, at once; configurations are asked for in another process when the
    pointer or the keyboard first comes here, for a tooltip alone needs them."""

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._workloads: tuple[Workload, ...] = ()
        self._other: Interpreter | None = None
        self.find = QLineEdit(placeholderText="Find a system", accessibleName="Find a system")
        self.all, self.none = QPushButton("All that are ready"), QPushButton("None")
        self.server = ServerField()
        self.asking = Asking(tasks, self)
        self.rows: dict[str, SystemRow] = {}
        self._headings: dict[str, QLabel] = {}
        self._groups = grouped()
        self._nothing = QLabel("No system is called like that.")
        self._build()
        self._look_up()

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(name for name, row in self.rows.items() if row.chosen)

    def choose(self, names: Collection[str]) -> None:
        """Tick exactly these, where they can be ticked."""
        for name, row in self.rows.items():
            row.box.blockSignals(True)
            row.box.setChecked(name in names and row.ready)
            row.box.blockSignals(False)
        self.changed.emit()

    def set_workloads(self, workloads: Sequence[Workload]) -> None:
        """Turn off who takes no part in any of them."""
        self._workloads = tuple(workloads)
        self.asking.set_families(workload.family for workload in workloads)
        self._tell_parts()

    def set_interpreter(self, other: Interpreter | None) -> None:
        """Turn off who cannot be run in another Python; None for this one."""
        self._other = other
        for row in self.rows.values():
            row.set_missing("" if other else row.entry.missing)
        self._tell_parts()

    def _tell_parts(self) -> None:
        for row in self.rows.values():
            row.set_part(no_part(row.entry, self._workloads, self._other))
        self._show_found()
        self.changed.emit()

    def _take(self, told: Introduction) -> None:
        row = self.rows.get(told.backend)
        if row is not None:
            row.set_told(told.version, told.description)
            if self._other is None:
                row.set_missing(told.problem)
                self.changed.emit()

    def _not_told(self, error: Exception) -> None:
        for row in self.rows.values():
            row.set_told("", str(error))

    def _look_up(self) -> None:
        """What is installed, off this thread."""
        entries = [row.entry for row in self.rows.values()]
        self._tasks.read(lambda job: installed_versions(entries), self._show_versions, owner=self, quiet=True)

    def _show_versions(self, versions: dict[str, str]) -> None:
        for name, version in versions.items():
            self.rows[name].set_version(version)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.FocusIn) and self.isEnabled():
            self.asking.ask()
        return super().eventFilter(watched, event)

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addWidget(self.find)
        layout.addLayout(self._buttons())
        for title, entries in self._groups.items():
            heading = QLabel(title)
            theme.variant(heading, "caption")
            heading.setContentsMargins(0, theme.S, 0, 0)
            self._headings[title] = heading
            layout.addWidget(heading)
            for entry in entries:
                layout.addWidget(self._row(entry))
                if entry.id == WITH_SERVER:
                    layout.addWidget(self.server)
        theme.variant(self._nothing, "muted")
        layout.addWidget(self._nothing)
        self._nothing.hide()
        self._connect()
        self.choose(FIRST_CHOICE)

    def _connect(self) -> None:
        self.find.setClearButtonEnabled(True)
        for button in self.find.findChildren(QToolButton):
            button.setAccessibleName("Show all systems")
        self.find.textChanged.connect(self._show_found)
        self.all.clicked.connect(lambda: self.choose([name for name, row in self.rows.items() if row.ready]))
        self.none.clicked.connect(lambda: self.choose(()))
        self.asking.heard.connect(self._take)
        self.asking.failed.connect(self._not_told)

    def _buttons(self) -> QHBoxLayout:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        for button in (self.all, self.none):
            theme.variant(button, "link")
            buttons.addWidget(button)
        buttons.addStretch(1)
        return buttons

    def _row(self, entry: Entry) -> SystemRow:
        row = self.rows[entry.id] = SystemRow(entry)
        row.set_missing(entry.missing)
        row.toggled.connect(self.changed)
        for widget in (row, row.box):
            widget.installEventFilter(self)
        return row

    def _show_found(self) -> None:
        wanted = self.find.text().strip().casefold()
        found = 0
        for title, entries in self._groups.items():
            shown = [entry for entry in entries if wanted in f"{entry.title} {entry.id}".casefold()]
            found += len(shown)
            self._headings[title].setVisible(bool(shown))
            for entry in entries:
                self.rows[entry.id].setVisible(entry in shown)
                if entry.id == WITH_SERVER:
                    self.server.setVisible(entry in shown and self.rows[entry.id].takes_part)
        self._nothing.setVisible(not found)
