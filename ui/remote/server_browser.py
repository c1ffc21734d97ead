"""Looking through what lies on servers, to open or import it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella.core.errors import LamellaError, visible
from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.kinds import KINDS
from lamella.core.remote.listing import pages
from lamella.core.remote.problems import MissingFile
from lamella.core.remote.server import Entry
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.work_dialog import WorkDialog, fit_into_window
from lamella.ui.remote.entry_list import EntryList
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import IconButton
from lamella.ui.widgets.message_bar import DANGER, MessageBar

SIZE = QSize(860, 560)
LIST_WIDTH = 180
MOST_SHOWN = 100_000
"""Entries of one folder; a name typed behind it leads to the others."""
ROLE = Qt.ItemDataRole.UserRole
EXAMPLES = "s3://bucket/folder/   https://host/file.parquet   webhdfs://host:9870/folder/"


class ServerBrowser(WorkDialog):
    """Not modal. `open_requested` and `import_requested` have addresses, `connections_requested` asks for the
    page of connections."""

    open_requested = Signal(list)
    import_requested = Signal(list)
    connections_requested = Signal()
    _page_read = Signal(int, list)

    def __init__(
        self, connections: Connections, tasks: Tasks, address: str = "", parent: QWidget | None = None
    ) -> None:
        """`address` is what is shown first."""
        super().__init__(tasks, parent)
        self._connections = connections
        self._number = 0
        self.folder: Address | None = None
        """What is listed."""
        self.setWindowTitle("Open from a server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        self._page_read.connect(self._append)
        fit_into_window(self, SIZE * theme.current().text_scale)
        self._follow()
        self.read_connections()
        self.address.setText(address)
        self.address.setFocus()
        if address:
            self.go()

    def _make(self) -> None:
        self.places = QListWidget(accessibleName="Connections")
        self.places.itemClicked.connect(self._go_to_place)
        self.places.itemActivated.connect(self._go_to_place)
        self.manage_button = QPushButton("Connections…")
        theme.variant(self.manage_button, "link")
        self.manage_button.clicked.connect(self.connections_requested)
        self.up_button = IconButton("chevron-up", "Up to the folder that holds this one (Alt+Up)")
        self.up_button.clicked.connect(self.go_up)
        QShortcut(QKeySequence("Alt+Up"), self, self.go_up)
        self.address = QLineEdit(placeholderText=EXAMPLES, accessibleName="Address")
        self.address.returnPressed.connect(self.go)
        self.address.textChanged.connect(self._follow)
        self.narrow = QLineEdit(placeholderText="Narrow by name", accessibleName="Narrow by name")
        self.narrow.setClearButtonEnabled(True)
        self.list = EntryList()
        self.narrow.textChanged.connect(self.list.shown.setFilterFixedString)
        self.list.doubleClicked.connect(self._enter)
        self.list.selectionModel().selectionChanged.connect(self._follow)
        self.count = QLabel()
        theme.variant(self.count, "caption")
        self.messages = MessageBar()
        self.messages.float_over(self.list)
        self.open_button, self.import_button = QPushButton("Open"), QPushButton("Import…")
        theme.variant(self.open_button, "primary")
        for button in (self.open_button, self.import_button, self.cancel_button, self.manage_button):
            button.setAutoDefault(False)  # Enter in the address lists it
        self.open_button.clicked.connect(lambda: self._choose(self.open_requested))
        self.import_button.clicked.connect(lambda: self._choose(self.import_requested))

    def _lay_out(self) -> None:
        title = QLabel("Open from a server")
        theme.variant(title, "title")
        left = QVBoxLayout()
        left.setSpacing(theme.S)
        left.addWidget(self.places, 1)
        left.addWidget(self.manage_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.places.setFixedWidth(theme.current().px(LIST_WIDTH))
        top = QHBoxLayout()
        top.setSpacing(theme.S)
        top.addWidget(self.up_button)
        top.addWidget(self.address, 3)
        top.addWidget(self.narrow, 1)
        right = QVBoxLayout()
        right.setSpacing(theme.S)
        right.addLayout(top)
        right.addWidget(self.list, 1)
        right.addWidget(self.count)
        middle = QHBoxLayout()
        middle.setSpacing(theme.L)
        middle.addLayout(left)
        middle.addLayout(right, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addWidget(self.status, 1)
        for button in (self.cancel_button, self.import_button, self.open_button):
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        margin = theme.L + theme.XS
        layout.setContentsMargins(margin, margin, margin, margin)
        layout.setSpacing(theme.M)
        layout.addWidget(title)
        layout.addLayout(middle, 1)
        layout.addWidget(self.progress)
        layout.addLayout(buttons)

    # -------------------------------------------------------- where to look

    def read_connections(self) -> None:
        """List the saved connections, as they are now."""

        def done(known: Sequence[Connection]) -> None:
            self.places.clear()
            for connection in known:
                for root in _roots(connection):
                    place = Address.parse(root).place if connection.places else ""
                    label = f"{connection.name} / {place}" if place else connection.name
                    item = QListWidgetItem(theme.current().icon("database", "muted"), visible(label))
                    item.setData(ROLE, root)
                    item.setToolTip(connection.of_kind.label)
                    self.places.addItem(item)

        def work(job: Job) -> list[Connection]:
            return [one for one in self._connections.values() if one.of_kind.reads_files]

        self._tasks.read(work, done, self._fail, owner=self, quiet=True)

    def _go_to_place(self, item: QListWidgetItem) -> None:
        root = item.data(ROLE)
        self.address.setText(root)
        if root.endswith(("//", "@")):
            self.messages.say("Type the name of the bucket or host behind it, and press Enter.")
            self.address.setFocus()
            self.address.end(False)
        else:
            self.go()

    def go(self) -> None:
        """List the folder whose address is typed; what is a file, or a pattern, is opened."""
        self.messages.clear()
        try:
            address = Address.parse(self.address.text().strip())
        except LamellaError as error:
            self._fail(error)
            return
        if address.is_pattern or address.kind.name == "http":
            self.open_requested.emit([str(address)])
            self.accept()
        else:
            self._read(address)

    def go_up(self) -> None:
        if self.folder is not None and self.folder.key:
            self.address.setText(f"{str(self.folder.parent).rstrip('/')}/")
            self.go()

    def _enter(self, index: QModelIndex) -> None:
        entry = self.list.shown.entry(index)
        if entry.is_folder:
            self.address.setText(f"{str(entry.address).rstrip('/')}/")
            self.go()
        else:
            self._choose(self.open_requested)

    # ------------------------------------------------------------ the list

    def _read(self, address: Address) -> None:
        if self._work is not None:
            self._work.cancel()
        self._number += 1
        number = self._number
        self.folder = address
        self.narrow.clear()
        self.list.entries.clear()

        def work(job: Job) -> bool:
            count = 0
            for page in pages(address, job=job):
                self._page_read.emit(number, page)
                count += len(page)
                if count >= MOST_SHOWN:
                    return False
            return True

        def failed(error: Exception) -> None:
            if number == self._number:
                self._end(number, None)
                self._fail(error)

        handle = self._tasks.read(
            work, lambda whole: self._end(number, whole), failed,
            stopped=lambda: self._end(number, None), owner=self, text=f"Listing {address}",
        )  # fmt: skip
        handle.shown_by = self
        self._work = handle
        self._show_working(True)
        self._follow()

    def _append(self, number: int, page: list[Entry]) -> None:
        if number == self._number:
            self.list.entries.append(page)
            self._count()

    def _end(self, number: int, whole: bool | None) -> None:
        if number != self._number:
            return
        self._work = None
        self._show_working(False)
        self._count()
        if whole is None and self.list.entries.entries:
            self.count.setText(f"{self.count.text()} · stopped")
        if whole is False:
            self.messages.say(
                f"The first {MOST_SHOWN:,} names are listed. Type an address or a pattern to reach others."
            )
        if whole and not self.list.entries.entries:
            self._fail(MissingFile(str(self.folder), "holds no files", fix="Check the address"))
        self._follow()

    def _count(self) -> None:
        entries = self.list.entries.entries
        folders = sum(entry.is_folder for entry in entries) if len(entries) <= MOST_SHOWN else 0
        files = len(entries) - folders
        parts = [f"{count:,} {noun}{'' if count == 1 else 's'}"
                 for count, noun in ((folders, "folder"), (files, "file")) if count]  # fmt: skip
        self.count.setText(" · ".join(parts))

    # ------------------------------------------------------------ choosing

    @property
    def chosen(self) -> list[str]:
        """The addresses of what is selected, or else what is typed."""
        selected = [str(entry.address) for entry in self.list.selected]
        typed = self.address.text().strip()
        return selected or ([typed] if "://" in typed else [])

    def _choose(self, signal: object) -> None:
        chosen = self.chosen
        if chosen:
            signal.emit(chosen)  # type: ignore[attr-defined]
            self.accept()

    def _follow(self, *_: object) -> None:
        selected = self.list.selected
        folders = sum(entry.is_folder for entry in selected)
        noun = "folder as one table" if folders == 1 == len(selected) else f"{len(selected):,} files"
        self.open_button.setText(f"Open {noun}" if len(selected) > 1 or folders else "Open")
        for button in (self.open_button, self.import_button):
            button.setEnabled(bool(self.chosen))
        self.up_button.setEnabled(self.folder is not None and bool(self.folder.key))

    def _fail(self, error: Exception) -> None:
        self.messages.say(message(error), kind=DANGER)

    def _stopped(self) -> None:
        """A listing that is stopped keeps what it has."""

    def _lock(self, locked: bool) -> None:
        """Other folders can be listed meanwhile."""


def _roots(connection: Connection) -> list[str]:
    """The addresses that begin what a connection serves, naming it."""
    scheme = next(kind.schemes[0] for kind in KINDS if kind.name == connection.kind)
    if connection.kind == "hdfs" and connection.endpoint and not connection.places:
        return [f"webhdfs://{connection.endpoint.partition('://')[2].rstrip('/')}/"]
    if connection.places:
        return [f"{scheme}://{place}/" for place in connection.places]
    return [f"{scheme}://{connection.name}@"]
