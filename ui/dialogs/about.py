"""The version of Lamella, and the software it is built on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from lamella import resources
from lamella.ui import theme

STANDS_ON = ("duckdb", "pyarrow", "PySide6-Essentials", "pyqtgraph", "sqlglot", "numpy")


class AboutDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About Lamella")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = QLabel("Lamella", self)
        theme.variant(title, "display")
        about = QLabel("View, filter and edit data of any size, with undo, and measure it.", self)
        theme.variant(about, "muted")
        about.setWordWrap(True)
        lines = QLabel(versions(), self)
        lines.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        theme.variant(lines, "caption")
        copy, close = QPushButton("Copy versions", self), QPushButton("Close", self)
        theme.variant(close, "primary")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(versions()))
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addStretch()
        if text := licences():
            licences_button = QPushButton("Licences", self)
            licences_button.clicked.connect(lambda: LicencesDialog(text, self).open())
            buttons.addWidget(licences_button)
        buttons.addWidget(copy)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.L)
        layout.setSpacing(theme.M)
        for widget in (title, about, lines):
            layout.addWidget(widget)
        layout.addLayout(buttons)
        self.setMinimumWidth(400)


class LicencesDialog(QDialog):
    """The licences of everything in the installed program."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Licences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = QPlainTextEdit(text, self, readOnly=True, accessibleName="Licences")
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        close.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.text)
        layout.addWidget(close)
        self.resize(720, 560)


def licences() -> str:
    """The licences: a file of a few hundred kilobytes in the bundle; empty where packages are installed
    separately, with licences of their own."""
    try:
        return resources.path("licences.txt").read_text("utf8")
    except FileNotFoundError:
        return ""


def versions() -> str:
    """One line for each component, Python and the operating system first."""
    lines = [f"Python {platform.python_version()}, {platform.platform()}"]
    for name in ("lamella", *STANDS_ON):
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from source, or bundled without its metadata
            lines.append(f"{name}, version unknown")
    return "\n".join(lines)
