"""A path that a Spark server sees, and the format of its files: for what is in none of its catalogs."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QWidget

from lamella.core.errors import LamellaError
from lamella.core.remote.spark_connect import FORMATS, ServerAddress, ServerTable
from lamella.ui import theme


class ServerPath(QWidget):
    """`chosen` when Enter is pressed in the path."""

    changed = Signal()
    chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.server: ServerAddress | None = None
        self.format = QComboBox(accessibleName="Format of the files")
        self.format.addItems(FORMATS)
        self.path = QLineEdit(
            placeholderText="/data/trips   s3://bucket/trips", accessibleName="Path that the server sees"
        )
        self.path.setClearButtonEnabled(True)
        label = QLabel("Or a &path that the server sees")
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
        """None where files are looked through, and no server's tables."""
        if server != self.server:
            self.path.clear()
        self.server = server
        self.setVisible(server is not None)

    @property
    def address(self) -> str:
        """Of what is typed; empty for nothing, and for what is no path."""
        text = self.path.text().strip()
        if self.server is None or not text:
            return ""
        try:
            return self.server.of(ServerTable((), self.format.currentText(), text))
        except LamellaError:
            return ""
