"""The systems of a benchmark in groups: which take part, their versions, and what is missing."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from lamella.core.bench.engine.child import Introduction, ask_introductions
from lamella.core.bench.engine.interpreters import Interpreter
from lamella.core.bench.registry import ENTRIES, Entry
from lamella.core.bench.workloads.model import Workload
from lamella.core.jobs import Job
from lamella.ui import theme
from lamella.ui.bench.workload_choice import no_part
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.items import children_of, top_items

COPY, COPIED = "Copy install command", "Copied"
NAME, VERSION = 0, 1
"""The columns of the list."""


class SystemRow(QTreeWidgetItem):
    """A system; disabled if it takes no part in the workload, or cannot run here."""

    def __init__(self, entry: Entry, heading: QTreeWidgetItem) -> None:
        super().__init__(heading, [entry.title, ""])
        self.entry = entry
        self.version = ""
        self._missing, self._part, self._description = "", "", ""
        self.setTextAlignment(VERSION, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setFont(VERSION, theme.current().font(theme.TextSize.CAPTION))
        self.set_ticked(False)
        self.show_state()

    @property
    def is_selected(self) -> bool:
        return self.checkState(NAME) is Qt.CheckState.Checked and self.ready

    @property
    def takes_part(self) -> bool:
        return not self._part

    @property
    def ready(self) -> bool:
        """Whether it can be ticked; also valid while a benchmark runs and all choices are disabled."""
        return not (self._missing or self._part)

    def set_ticked(self, ticked: bool) -> None:
        self.setCheckState(NAME, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def set_part(self, reason: str) -> None:
        """Set why it takes no part in what is measured; empty if it does."""
        self._part = reason
        self.show_state()

    def set_missing(self, missing: str) -> None:
        """Set why it cannot run here, with the command that fixes it; empty if it can."""
        self._missing = missing
        self.show_state()

    def set_version(self, version: str) -> None:
        self.version = version
        self.show_state()

    def set_description(self, version: str, description: str) -> None:
        """Set the system's description of itself; empty before it was asked."""
        self._description = f"{version}: {description}" if version else description
        self.version = self.version or version
        self.show_state()

    @property
    def command(self) -> str:
        """The command that makes it runnable; empty if nothing is missing."""
        return "" if self._part else self._missing.partition("Run: ")[2]

    def copy_command(self) -> None:
        if self.command:
            QGuiApplication.clipboard().setText(self.command)
            self.setText(VERSION, COPIED)

    def show_state(self) -> None:
        """Apply the state in the theme's current colours."""
        look = theme.current()
        on, flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable, Qt.ItemFlag.ItemIsUserCheckable
        self.setFlags(on | flags if self.ready else on)
        self.setForeground(NAME, look.color("text" if self.ready else "muted"))
        self.setForeground(VERSION, look.color("accent" if self.command else "muted"))
        self.setText(VERSION, COPY if self.command else self.version)
        about = f" {self._description}" if self._description else ": reading its configuration…"
        tip = self._part or self._missing or f"{self.entry.title}{about}"
        self.setToolTip(NAME, tip)
        self.setToolTip(VERSION, "Copies the command that installs it" if self.command else tip)
        self.setData(NAME, Qt.ItemDataRole.AccessibleDescriptionRole, tip)


class SystemTree(QTreeWidget):
    """Systems under headings. Enter or a click on a missing one copies the command that installs it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Systems of the benchmark")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(VERSION, QHeaderView.ResizeMode.ResizeToContents)
        self.itemClicked.connect(lambda item, column: self._copy(item) if column == VERSION else None)
        self.itemActivated.connect(lambda item, column: self._copy(item))

    def _copy(self, item: QTreeWidgetItem) -> None:
        if isinstance(item, SystemRow):
            item.copy_command()

    def heading(self, title: str) -> QTreeWidgetItem:
        item = QTreeWidgetItem(self, [title])
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setFirstColumnSpanned(True)
        item.setExpanded(True)
        return item

    def sizeHint(self) -> QSize:
        """The size of all rows, which scroll on a low screen."""
        lines = [item for item in top_items(self) if not item.isHidden()]
        count = sum(1 + sum(not child.isHidden() for child in children_of(item)) for item in lines)
        bar = self.verticalScrollBar().sizeHint().width()
        room = self.sizeHintForColumn(NAME) + self.sizeHintForColumn(VERSION) + theme.M + bar
        return QSize(room, max(1, count) * max(1, self.sizeHintForRow(0)) + 2 * self.frameWidth())


GROUPS = {
    "Stores": ("lamella", "parquetdb", "deltalake", "pytables", "h5py", "zodb"),
    "Databases": (
        *("sqlite", "sqlite-wal", "sqlite-obj", "sqlalchemy-core", "sqlalchemy-orm"),
        *("sqlite-parquet", "sqlite-parquet-one-table", "sqlite-parquet-dask", "sqlite-fts5"),
        *("duckdb", "duckdb-parquet", "mongodb", "spark-connect"),
    ),
    "Data frames": ("pyarrow", "pyarrow-tuned", "polars", "pandas"),
    "Files": ("csv", "csv-numpy", "jsonl", "pickle", "pickle-obj"),
    "Objects": ("folder", "s3", "hdfs"),
}
OTHERS = "Others"

PACKAGES = {
    "lamella": "lamella",
    "duckdb": "duckdb",
    "duckdb-parquet": "duckdb",
    "pyarrow": "pyarrow",
    "pyarrow-tuned": "pyarrow",
    "pandas": "pandas",
    "csv-numpy": "numpy",
}
"""The pip names of systems that need nothing beyond this program's own requirements."""


def systems_by_group() -> dict[str, list[Entry]]:
    """All systems of the table; those without a group are together at the end."""
    listed_systems = {name for names in GROUPS.values() for name in names}
    groups = {title: [ENTRIES[name] for name in names if name in ENTRIES] for title, names in GROUPS.items()}
    groups[OTHERS] = [entry for name, entry in ENTRIES.items() if name not in listed_systems]
    return {title: entries for title, entries in groups.items() if entries}


def installed_versions(entries: Sequence[Entry]) -> dict[str, str]:
    """The versions by system; those without a package of their own have the version of SQLite or of Python.

    Reads files and imports nothing.
    """
    return {entry.id: _version_text(entry) for entry in entries}


def _version_text(entry: Entry) -> str:
    package = entry.requires[0][1] if entry.requires else PACKAGES.get(entry.id, "")
    if package:
        try:
            return version(package)
        except PackageNotFoundError:
            return ""
    if entry.id.startswith("sqlite"):
        return sqlite3.sqlite_version
    return f"Python {platform.python_version()}" if entry.id in GROUPS["Files"] else ""


class Asking(QObject):
    """Asks the systems for their descriptions, one after the other; each emits `heard`. `stop` ends it when a
    benchmark starts."""

    heard = Signal(Introduction)
    failed = Signal(Exception)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._families: tuple[str, ...] = ()
        self._families_under_way: set[str] = set()
        self._handle: Handle | None = None

    @property
    def running(self) -> bool:
        return self._handle is not None

    def set_families(self, families: Iterable[str]) -> None:
        """Set the families to ask for; nothing is asked yet."""
        self._families = tuple(dict.fromkeys(families))

    def ask(self) -> None:
        """Ask for the families not asked for yet; does nothing while a request is running."""
        families = tuple(family for family in self._families if family not in self._families_under_way)
        if self._handle is not None or not families:
            return
        self._families_under_way.update(families)

        def work(job: Job) -> None:
            ask_introductions(families, self.heard.emit, job)

        handle = self._tasks.read(
            work,
            lambda _: self._over(handle),
            lambda error: self._over(handle, error),
            on_cancel=lambda: self._over(handle),
            owner=self,
            quiet=True,
        )
        self._handle = handle

    def ask_again(self) -> None:
        """Ask for all families again."""
        self.stop()
        self.ask()

    def stop(self) -> None:
        """Stop asking; families without an answer will be asked for again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._families_under_way = set()

    def _over(self, handle: Handle, error: Exception | None = None) -> None:
        if self._handle is handle:
            self._handle = None
        if error is not None:
            self.failed.emit(error)


class ServerField(QWidget):
    """The address of a server. `changed` is emitted after another address was typed."""

    changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.uri = QLineEdit(accessibleName="Address of the MongoDB server")
        self._before = ""
        label = QLabel("MongoDB at")
        theme.variant(label, "caption")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.S)
        layout.addWidget(label)
        layout.addWidget(self.uri, 1)
        self.uri.setToolTip("mongodb://user:password@host:port; a benchmark creates its own databases there")
        self.uri.editingFinished.connect(self._take)

    def show_uri(self, uri: str) -> None:
        self._before = uri
        self.uri.setText(uri)
        self.uri.setCursorPosition(0)

    def _take(self) -> None:
        typed = self.uri.text().strip()
        if typed != self._before:
            self._before = typed
            self.changed.emit(typed)


FIRST_CHOICE = ("lamella", "sqlite")
WITH_SERVER = "mongodb"


class SystemList(QWidget):
    """The list of systems. Versions are read at once from what is installed; configurations, which only
    tooltips show, are asked for in another process when the pointer or the keyboard first enters the list."""

    changed = Signal()

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._workloads: tuple[Workload, ...] = ()
        self._other_interpreter: Interpreter | None = None
        self.search = QLineEdit(placeholderText="Find a system", accessibleName="Find a system")
        self.all_button, self.none_button = QPushButton("All systems that are ready"), QPushButton("None")
        self.tree, self.server = SystemTree(), ServerField()
        self.asking = Asking(tasks, self)
        self.rows: dict[str, SystemRow] = {}
        self._headings: list[QTreeWidgetItem] = []
        self._nothing = QLabel("No system matches.")
        self._build()
        self._look_up()

    @property
    def selection(self) -> tuple[str, ...]:
        return tuple(name for name, row in self.rows.items() if row.is_selected)

    @property
    def ready(self) -> tuple[str, ...]:
        """All systems that can be ticked."""
        return tuple(name for name, row in self.rows.items() if row.ready)

    def choose(self, names: Collection[str]) -> None:
        """Tick exactly these, as far as they can be ticked."""
        with QSignalBlocker(self.tree):
            for name, row in self.rows.items():
                row.set_ticked(name in names and row.ready)
        self.changed.emit()

    def set_workloads(self, workloads: Sequence[Workload]) -> None:
        """Disable systems that take no part in any of these workloads."""
        self._workloads = tuple(workloads)
        self.asking.set_families(workload.family for workload in workloads)
        self._show_parts()

    def set_interpreter(self, interpreter: Interpreter | None) -> None:
        """Disable systems that cannot run in another Python; None for this one."""
        self._other_interpreter = interpreter
        with QSignalBlocker(self.tree):
            for row in self.rows.values():
                row.set_missing("" if interpreter else row.entry.missing)
        self._show_parts()

    def _show_parts(self) -> None:
        with QSignalBlocker(self.tree):
            for row in self.rows.values():
                row.set_part(no_part(row.entry, self._workloads, self._other_interpreter))
        self._show_matches()
        self.changed.emit()

    def _take(self, introduction: Introduction) -> None:
        row = self.rows.get(introduction.system)
        if row is None:
            return
        with QSignalBlocker(self.tree):
            row.set_description(introduction.version, introduction.description)
            if self._other_interpreter is None:
                row.set_missing(introduction.problem)
        if self._other_interpreter is None:
            self.changed.emit()

    def _show_failure(self, error: Exception) -> None:
        with QSignalBlocker(self.tree):
            for row in self.rows.values():
                row.set_description("", str(error))

    def _look_up(self) -> None:
        """Look up what is installed, off the GUI thread."""
        entries = [row.entry for row in self.rows.values()]
        self._tasks.read(lambda job: installed_versions(entries), self._show_versions, owner=self, quiet=True)

    def _show_versions(self, versions: dict[str, str]) -> None:
        with QSignalBlocker(self.tree):
            for name, version in versions.items():
                self.rows[name].set_version(version)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.FocusIn) and self.isEnabled():
            self.asking.ask()
        return super().eventFilter(watched, event)

    # ------------------------------------------------------------------- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.XS)
        layout.addWidget(self.search)
        layout.addLayout(self._buttons())
        for title, entries in systems_by_group().items():
            heading = self.tree.heading(title)
            self._headings.append(heading)
            for entry in entries:
                row = self.rows[entry.id] = SystemRow(entry, heading)
                row.set_missing(entry.missing)
        theme.variant(self._nothing, "muted")
        for widget in (self.tree, self._nothing, self.server):
            layout.addWidget(widget)
        self._nothing.hide()
        self._restyle()
        self._connect()
        self.choose(FIRST_CHOICE)

    def _connect(self) -> None:
        add_clear_button(self.search).say("Show all systems")
        self.search.textChanged.connect(self._show_matches)
        self.all_button.clicked.connect(lambda: self.choose(self.ready))
        self.none_button.clicked.connect(lambda: self.choose(()))
        self.tree.itemChanged.connect(lambda item, column: self.changed.emit())
        for widget in (self.tree, self.tree.viewport()):
            widget.installEventFilter(self)
        self.asking.heard.connect(self._take)
        self.asking.failed.connect(self._show_failure)
        theme.current().changed.connect(self._restyle)

    def _buttons(self) -> QHBoxLayout:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        for button in (self.all_button, self.none_button):
            theme.variant(button, "link")
            buttons.addWidget(button)
        buttons.addStretch(1)
        return buttons

    def _restyle(self) -> None:
        look = theme.current()
        with QSignalBlocker(self.tree):
            for heading in self._headings:
                heading.setForeground(NAME, look.color("muted"))
                heading.setFont(NAME, look.font(theme.TextSize.CAPTION))
            for row in self.rows.values():
                row.setFont(VERSION, look.font(theme.TextSize.CAPTION))
                row.show_state()
        self._fit()

    def _show_matches(self) -> None:
        words = self.search.text().strip().casefold()
        for row in self.rows.values():
            row.setHidden(words not in f"{row.entry.title} {row.entry.id}".casefold())
        for heading in self._headings:
            heading.setHidden(all(row.isHidden() for row in children_of(heading)))
        server = self.rows.get(WITH_SERVER)
        self.server.setVisible(server is not None and server.takes_part and not server.isHidden())
        nothing = all(heading.isHidden() for heading in self._headings)
        self._nothing.setVisible(nothing)
        self.tree.setVisible(not nothing)
        self._fit()

    def _fit(self) -> None:
        """Widen the list so that no name is cut off, even when versions arrive later."""
        self.tree.setMinimumWidth(self.tree.sizeHint().width())
        self.tree.updateGeometry()
