"""The browser of servers, for files and Spark tables, to open or import them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
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
from lamella.core.phrases import quantity
from lamella.core.remote.addresses import Address
from lamella.core.remote.connections import Connection, Connections
from lamella.core.remote.kinds import KINDS
from lamella.core.remote.listing import pages
from lamella.core.remote.paths import path_or_address
from lamella.core.remote.problems import MissingFile
from lamella.core.remote.server import Entry
from lamella.core.remote.spark_catalog import CatalogEntry, CatalogFolder, look_into
from lamella.core.remote.spark_connect import (
    FORMATS,
    ServerAddress,
    ServerTable,
    is_server_address,
    parse_address,
)
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import message
from lamella.ui.dialogs.work_dialog import WorkDialog, fit_into_window
from lamella.ui.remote.entry_list import EntryList
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import EmptyNote, IconButton
from lamella.ui.widgets.field_buttons import add_clear_button
from lamella.ui.widgets.message_bar import DANGER, MessageBar

SIZE = QSize(860, 560)
LIST_WIDTH = 180
MOST_ENTRIES = 100_000
"""The maximum number of entries shown of one folder; others can be reached by typing their address."""
ROLE = Qt.ItemDataRole.UserRole
EXAMPLES = "s3://bucket/folder/   https://host/file.parquet   sc://host/"
LEVELS = ("catalog", "database", "table")
"""What a Spark server, a catalog and a database contain."""
NO_IMPORT = "The rows of a Spark table stay on the server. Open it, and export what you need."
NO_TABLES = "No tables are listed here. Open files by a path that the server can read."


class ServerBrowser(WorkDialog):
    """The browser, which is not modal. `open_requested` and `import_requested` have addresses;
    `connections_requested` is emitted to open the dialog of connections."""

    open_requested = Signal(list)
    import_requested = Signal(list)
    connections_requested = Signal()
    _page_read = Signal(int, list)
    _reached = Signal(int, object)

    def __init__(
        self, connections: Connections, tasks: Tasks, address: str = "", parent: QWidget | None = None
    ) -> None:
        """`address` is shown first."""
        super().__init__(tasks, parent)
        self._connections = connections
        self._number = 0
        self.folder: Address | CatalogFolder | None = None
        """The folder that is listed."""
        self.setWindowTitle("Open from a server")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make()
        self._lay_out()
        self._page_read.connect(self._append)
        self._reached.connect(self._reach)
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
        self.up_button = IconButton("chevron-up", "Up to the parent folder (Alt+Up)")
        self.up_button.clicked.connect(self.go_up)
        QShortcut(QKeySequence("Alt+Up"), self, self.go_up)
        self.address = QLineEdit(placeholderText=EXAMPLES, accessibleName="Address")
        self.address.returnPressed.connect(self.go)
        self.address.textChanged.connect(self._follow)
        self.narrow = QLineEdit(placeholderText="Narrow by name", accessibleName="Narrow by name")
        add_clear_button(self.narrow)
        self.list = EntryList()
        self.hint = EmptyNote(self.list, "Choose a connection, or type an address and press Enter")
        self.narrow.textChanged.connect(self.list.sorted_entries.setFilterFixedString)
        self.list.doubleClicked.connect(self._enter)
        self.list.selectionModel().selectionChanged.connect(self._follow)
        self.path = ServerPath()
        self.path.hide()
        self.path.changed.connect(self._follow)
        self.path.chosen.connect(lambda: self._choose(self.open_requested))
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
        theme.current().changed.connect(self._draw_icons)

    def _lay_out(self) -> None:
        title = QLabel("Open from a server")
        theme.variant(title, "title")
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
        right.addWidget(self.path)
        middle = QGridLayout()
        middle.setHorizontalSpacing(theme.L)
        middle.setVerticalSpacing(theme.S)
        middle.addWidget(self.places, 0, 0)
        middle.addLayout(right, 0, 1)
        middle.addWidget(self.manage_button, 1, 0, Qt.AlignmentFlag.AlignLeft)
        middle.addWidget(self.count, 1, 1)
        middle.setColumnStretch(1, 1)
        middle.setRowStretch(0, 1)
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
        """List the saved connections."""

        def show(connections: Sequence[Connection]) -> None:
            self.places.clear()
            for connection in connections:
                for root in _roots(connection):
                    places = connection.places and connection.of_kind.reads_files
                    place = Address.parse(root).place if places else ""
                    label = f"{connection.name} / {place}" if place else connection.name
                    item = QListWidgetItem(visible(label))
                    item.setData(ROLE, root)
                    item.setToolTip(connection.of_kind.label)
                    self.places.addItem(item)
            self._draw_icons()

        def work(job: Job) -> list[Connection]:
            return list(self._connections.values())

        self._tasks.read(work, show, self._fail, owner=self, quiet=True)

    def _draw_icons(self) -> None:
        for row in range(self.places.count()):
            self.places.item(row).setIcon(theme.current().icon("database"))

    def _go_to_place(self, item: QListWidgetItem) -> None:
        root = item.data(ROLE)
        self.address.setText(root)
        if root.endswith(("//", "@")):
            self.messages.say("Type the name of the bucket or host after it, and press Enter.")
            self.address.setFocus()
            self.address.end(False)
        else:
            self.go()

    def go(self) -> None:
        """List the folder whose address is typed; open a file or a pattern."""
        self.messages.clear()
        text = self.address.text().strip()
        try:
            catalog = CatalogFolder.parse(text)
            if catalog is not None:
                self._read(catalog)
            elif is_server_address(text):
                self._open(path_or_address(text))
            else:
                address = Address.parse(text)
                is_folder = not address.is_pattern and address.kind.name != "http"
                self._read(address) if is_folder else self._open(address)
        except LamellaError as error:
            self._fail(error)

    def _open(self, address: object) -> None:
        self.open_requested.emit([str(address)])
        self.accept()

    def go_up(self) -> None:
        folder = self._parent
        if folder is not None:
            self.address.setText(folder_text(folder))
            self.messages.clear()
            self._read(folder, past_single=False)

    @property
    def _parent(self) -> Address | CatalogFolder | None:
        if isinstance(self.folder, Address):
            return self.folder.parent if self.folder.key else None
        return None if self.folder is None else self.folder.parent

    def _enter(self, index: QModelIndex) -> None:
        entry = self.list.sorted_entries.entry(index)
        if not entry.is_folder:
            self._choose(self.open_requested)
            return
        self.address.setText(entry.address if isinstance(entry, CatalogEntry) else folder_text(entry.address))
        self.go()

    # ------------------------------------------------------------ the list

    def _read(self, folder: Address | CatalogFolder, past_single: bool = True) -> None:
        if self._work is not None:
            self._work.cancel()
        self._number += 1
        number = self._number
        self._show_folder(folder)
        self.narrow.clear()
        self.list.entries.clear()

        def work(job: Job) -> bool:
            if isinstance(folder, CatalogFolder):
                reached, entries = look_into(folder, job, past_single)
                self._reached.emit(number, reached)
                self._page_read.emit(number, entries)
                return True
            count = 0
            for page in pages(folder, job=job):
                self._page_read.emit(number, page)
                count += len(page)
                if count >= MOST_ENTRIES:
                    return False
            return True

        def fail(error: Exception) -> None:
            if number == self._number:
                self._end(number, None)
                self._fail(error)

        handle = self._tasks.read(
            work, lambda whole: self._end(number, whole), fail,
            on_cancel=lambda: self._end(number, None), owner=self, text=f"Listing {folder}",
        )  # fmt: skip
        handle.progress_widget = self
        self._work = handle
        self._show_working(True)
        self._follow()

    def _show_folder(self, folder: Address | CatalogFolder) -> None:
        self.hint.clear()
        self.folder = folder
        server = folder.server if isinstance(folder, CatalogFolder) else None
        is_catalog = server is not None
        self.list.show_status(not is_catalog)
        self.path.show_server(server)
        self.import_button.setToolTip(NO_IMPORT if is_catalog else "")

    def _reach(self, number: int, folder: CatalogFolder) -> None:
        """Go into a folder that is the only entry of the requested one."""
        if number == self._number:
            self._show_folder(folder)
            self.address.setText(str(folder))

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
                f"The first {MOST_ENTRIES:,} names are listed. Type an address or a pattern to reach others."
            )
        if whole and not self.list.entries.entries and isinstance(self.folder, CatalogFolder):
            self.messages.say(NO_TABLES)
        elif whole and not self.list.entries.entries:
            self._fail(MissingFile(str(self.folder), "holds no files", fix="Check the address"))
        self._follow()

    def _count(self) -> None:
        entries = self.list.entries.entries
        if isinstance(self.folder, CatalogFolder):
            noun = LEVELS[len(self.folder.parts)]
            self.count.setText(quantity(len(entries), noun))
            return
        folders = sum(entry.is_folder for entry in entries) if len(entries) <= MOST_ENTRIES else 0
        files = len(entries) - folders
        parts = [quantity(count, noun)
                 for count, noun in ((folders, "folder"), (files, "file")) if count]  # fmt: skip
        self.count.setText(" · ".join(parts))

    # ------------------------------------------------------------ choosing

    @property
    def chosen_addresses(self) -> list[str]:
        """The addresses of the selection, or the address typed if nothing is selected."""
        if self.path.address:
            return [self.path.address]
        entries = self.list.selected_entries
        selected = [
            str(entry.address)
            for entry in entries
            if not (entry.is_folder and isinstance(entry, CatalogEntry))
        ]
        typed = self.address.text().strip()
        is_catalog = is_server_address(typed) and typed.partition(";")[0].endswith("/")
        return selected or ([typed] if "://" in typed and not is_catalog and not entries else [])

    def _choose(self, signal: SignalInstance) -> None:
        addresses = self.chosen_addresses
        if addresses:
            signal.emit(addresses)
            self.accept()

    def _follow(self, *_: object) -> None:
        selected = self.list.selected_entries
        folders = sum(entry.is_folder for entry in selected)
        is_catalog = isinstance(self.folder, CatalogFolder)
        noun = "folder as one table" if folders == 1 == len(selected) else f"{len(selected):,} files"
        if is_catalog:
            noun, folders = f"{len(selected):,} tables", 0
        self.open_button.setText(f"Open {noun}" if len(selected) > 1 or folders else "Open")
        addresses = self.chosen_addresses
        self.open_button.setEnabled(bool(addresses))
        self.import_button.setEnabled(bool(addresses) and not any(map(is_server_address, addresses)))
        self.up_button.setEnabled(self._parent is not None)

    def _fail(self, error: Exception) -> None:
        self.messages.say(message(error), kind=DANGER)

    def _handle_stop(self) -> None:
        """Keep the entries listed so far."""

    def _lock(self, locked: bool) -> None:
        """Lock nothing: other folders can be listed meanwhile."""


def folder_text(folder: Address | CatalogFolder) -> str:
    """The address of a folder, ending with a slash."""
    return str(folder) if isinstance(folder, CatalogFolder) else f"{str(folder).rstrip('/')}/"


def _roots(connection: Connection) -> list[str]:
    """The root addresses of what a connection serves, with its name."""
    if connection.kind == "spark":
        return [str(CatalogFolder(parse_address(connection.endpoint)[0]))]
    scheme = next(kind.schemes[0] for kind in KINDS if kind.name == connection.kind)
    if connection.kind == "hdfs" and connection.endpoint and not connection.places:
        server = urlsplit(connection.endpoint)
        return [f"{'hdfs' if server.scheme == 'hdfs' else 'webhdfs'}://{server.netloc}/"]
    if connection.places:
        return [f"{scheme}://{place}/" for place in connection.places]
    return [f"{scheme}://{connection.name}@"]


class ServerPath(QWidget):
    """A path that a Spark server sees, and the format of its files, for data that is not in its catalogs.
    `chosen` is emitted when Enter is pressed in it."""

    changed = Signal()
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.server: ServerAddress | None = None
        self.format = QComboBox(accessibleName="Format of the files")
        self.format.addItems(FORMATS)
        self.path = QLineEdit(
            placeholderText="/data/trips   s3://bucket/trips", accessibleName="Path that the server can read"
        )
        add_clear_button(self.path)
        label = QLabel("Or a path that the server can read")
        label.setBuddy(self.path)
        theme.variant(label, "muted")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.S)
        for widget in (label, self.format):
            row.addWidget(widget)
        row.addWidget(self.path, 1)
        self.path.textChanged.connect(lambda _: self.changed.emit())
        self.path.returnPressed.connect(self.chosen)

    def show_server(self, server: ServerAddress | None) -> None:
        """Show the fields for a Spark server; None hides them, while files are browsed."""
        if server != self.server:
            self.path.clear()
        self.server = server
        self.setVisible(server is not None)

    @property
    def address(self) -> str:
        """The address of the typed path; empty if nothing is typed, or if it is not a path."""
        text = self.path.text().strip()
        if self.server is None or not text:
            return ""
        try:
            return self.server.of(ServerTable((), self.format.currentText(), text))
        except LamellaError:
            return ""
