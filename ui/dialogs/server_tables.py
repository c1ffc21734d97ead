"""Which table of a Spark server to open: the server, its tables with a search, or a path that it sees."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
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
from lamella.core.remote.connections import Connections
from lamella.core.remote.spark_connect import (
    FORMATS,
    SCHEME,
    ServerAddress,
    ServerTable,
    parse_address,
    server_at,
)
from lamella.ui import theme
from lamella.ui.tasks import Handle, Tasks

MINIMUM_WIDTH, MINIMUM_HEIGHT = 520, 480
NOT_CONNECTED = "Connect to a server to see its tables"
NO_TABLES = "The server lists no tables. Open files there by their path."
Listing = tuple[ServerAddress, list[ServerTable]]


def read_listing(address: ServerAddress, job: Job) -> Listing:
    """Of all databases of all catalogs; one that may not be listed is passed over. Blocks."""
    server, found = server_at(address), list[ServerTable]()
    problem: LamellaError | None = None
    for catalog in server.catalogs(job):
        try:
            for database in server.databases(catalog, job):
                job.report(len(found), None, f"Listing {database}")
                found += server.tables((catalog, database), job)
        except LamellaError as error:
            problem = error
    if problem is not None and not found:
        raise problem
    return address, found


class ServerTables(QDialog):
    """`chosen` has the address of the table or path."""

    chosen = Signal(str)

    def __init__(self, tasks: Tasks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._handle: Handle | None = None
        self._address: ServerAddress | None = None
        self.setWindowTitle("Open a Spark table")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = QLabel("Open a table of a Spark server")
        theme.variant(title, "title")
        about = QLabel("Steps run there, and answers alone travel here. Nothing is uploaded.", wordWrap=True)
        theme.variant(about, "muted")
        self.server = QComboBox(editable=True, accessibleName="Address of the server")
        self.server.addItems(_saved_servers())
        self.server.lineEdit().setPlaceholderText("sc://spark.example.org:15002")
        self.connect_button = QPushButton("Connect")
        self.search = QLineEdit(placeholderText="Search tables", accessibleName="Search tables")
        self.search.setClearButtonEnabled(True)
        self.list = QListWidget(accessibleName="Tables of the server", uniformItemSizes=True)
        self.note = QLabel(NOT_CONNECTED, wordWrap=True)
        theme.variant(self.note, "muted")
        self.format = QComboBox(accessibleName="Format of the files")
        self.format.addItems(FORMATS)
        self.path = QLineEdit(
            placeholderText="/data/trips, s3://bucket/trips", accessibleName="Path on the server"
        )
        cancel, self.open_button = QPushButton("Cancel"), QPushButton("Open")
        theme.variant(self.open_button, "primary")
        self.open_button.setDefault(True)
        self._lay_out(title, about, cancel)
        self.connect_button.clicked.connect(self.connect_to_server)
        self.server.lineEdit().returnPressed.connect(self.connect_to_server)
        self.search.textChanged.connect(self._filter)
        self.list.currentItemChanged.connect(lambda *_: self._update())
        self.list.itemActivated.connect(lambda _: self._open())
        self.path.textChanged.connect(lambda _: self._update())
        cancel.clicked.connect(self.reject)
        self.open_button.clicked.connect(self._open)
        self.finished.connect(lambda _: self._stop())
        self.setMinimumSize(MINIMUM_WIDTH, MINIMUM_HEIGHT)
        self._update()

    @property
    def address(self) -> str:
        """Of what would be opened; empty while nothing is chosen. Raises `BadData` for an odd server."""
        if self._address is None and not self.path.text().strip():
            return ""
        if self.path.text().strip():
            table = ServerTable((), self.format.currentText(), self.path.text().strip())
            server = self._address or parse_address(self._typed())[0]
            return server.of(table)
        item = self.list.currentItem()
        if item is None or item.isHidden() or self._address is None:
            return ""
        return self._address.of(item.data(Qt.ItemDataRole.UserRole))

    def connect_to_server(self) -> None:
        """List the tables of the server that is named."""
        self._stop()
        try:
            address, _ = parse_address(self._typed())
        except LamellaError as error:
            self._fail(error)
            return
        self.note.setText(f"Connecting to {address.host}…")
        theme.variant(self.note, "muted")
        self.connect_button.setEnabled(False)
        self._handle = self._tasks.read(
            lambda job: read_listing(address, job),
            self._show,
            self._fail,
            stopped=lambda: self._say("Stopped"),
            owner=self,
            text=f"Listing tables of {address.host}",
        )

    def _typed(self) -> str:
        text = self.server.currentText().strip()
        return text if "://" in text or not text else f"{SCHEME}{text}"

    def _show(self, listing: Listing) -> None:
        self._address, tables = listing
        self.list.clear()
        several = len({table.parts[:-1] for table in tables}) > 1
        for table in tables:
            text = ".".join(table.parts) if several else table.parts[-1]
            item = QListWidgetItem(visible(text))
            item.setData(Qt.ItemDataRole.UserRole, table)
            self.list.addItem(item)
        count = len(tables)
        self._say(f"{count:,} {'table' if count == 1 else 'tables'}" if count else NO_TABLES)
        self._filter(self.search.text())
        (self.search if count else self.path).setFocus()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        first: QListWidgetItem | None = None
        for row in range(self.list.count()):
            item = self.list.item(row)
            item.setHidden(not all(word in item.text().casefold() for word in words))
            first = first if first is not None or item.isHidden() else item
        if first is not None and (self.list.currentItem() is None or self.list.currentItem().isHidden()):
            self.list.setCurrentItem(first)
        self._update()

    def _say(self, text: str) -> None:
        self.connect_button.setEnabled(True)
        self.note.setText(text)
        theme.variant(self.note, "muted")
        self._update()

    def _fail(self, error: Exception) -> None:
        self._address = None
        self.list.clear()
        self._say(str(error))
        theme.variant(self.note, "danger")

    def _update(self) -> None:
        try:
            ready = bool(self.address)
        except LamellaError:
            ready = False
        self.open_button.setEnabled(ready)

    def _open(self) -> None:
        if self.open_button.isEnabled():
            self.chosen.emit(self.address)
            self.accept()

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _lay_out(self, title: QWidget, about: QWidget, cancel: QWidget) -> None:
        server = _row(self.server, self.connect_button)
        path = QHBoxLayout(spacing=theme.S)
        path.addWidget(self.format)
        path.addWidget(self.path, 1)
        buttons = QHBoxLayout(spacing=theme.S)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.open_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        layout.addWidget(title)
        layout.addWidget(about)
        layout.addLayout(server_row := QFormLayout(horizontalSpacing=theme.M))
        server_row.addRow(_label("&Server", self.server), server)
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.note)
        layout.addLayout(path_row := QFormLayout(horizontalSpacing=theme.M))
        path_row.addRow(_label("Or a &path", self.path), path)
        layout.addLayout(buttons)


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    return label


def _row(wide: QWidget, narrow: QWidget) -> QHBoxLayout:
    row = QHBoxLayout(spacing=theme.S)
    row.addWidget(wide, 1)
    row.addWidget(narrow)
    return row


def _saved_servers() -> Sequence[str]:
    """The endpoints of saved connections."""
    try:
        return [one.endpoint for one in Connections().values() if one.kind == "spark"]
    except LamellaError:
        return []
