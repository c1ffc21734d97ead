"""The page of a window in which nothing is open: a place to drop files, recent files, and things to try."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from lamella.core.datasets.formats import openable_formats
from lamella.core.errors import visible
from lamella.core.jobs import Job
from lamella.core.phrases import size_text
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.spark_connect import listed_name, server_table
from lamella.ui import theme
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.controls import ElidedLabel

WIDEST = 800
MOST_RECENT = 5
LARGE_ICON = 32
MISSING_TEXT = "no longer there"
TRIES = (
    ("late", "filter", "Find the late flights", "Filter 336,776 rows, and see how the columns follow."),
    ("airlines", "sum", "Compare airlines", "Group the flights by carrier, sorted by their mean delay."),
    (
        "benchmark",
        "benchmark",
        "Measure on your machine",
        "Compare Lamella with SQLite and with Parquet.",
    ),
)
"""Id, icon, title and what happens."""


class RowButton(QPushButton):
    """A button with an icon, a title and a line below it, and figures at the right. The texts wrap, unless
    they are to be `cut`."""

    def __init__(self, icon: str, title: str, text: str, accent: bool = False, cut: bool = False) -> None:
        super().__init__()
        self._icon_name, self._accent = icon, accent
        theme.variant(self, "row")
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._icon, self._figures = QLabel(), QLabel()
        name, below = (
            ElidedLabel(part, Qt.TextElideMode.ElideMiddle) if cut else QLabel(part, wordWrap=True)
            for part in (title, text)
        )
        for label in (below, self._figures):
            theme.variant(label, "caption")
        self._figures.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(name)
        texts.addWidget(below)
        layout = self._layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.S, theme.XS, theme.S, theme.XS)
        layout.setSpacing(theme.M)
        layout.addWidget(self._icon)
        layout.addLayout(texts, 1)
        layout.addWidget(self._figures)
        for label in self.findChildren(QLabel):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    @property
    def figures(self) -> str:
        return self._figures.text()

    def show_figures(self, text: str) -> None:
        self._figures.setText(text)

    def hasHeightForWidth(self) -> bool:
        return self._layout.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        return self._layout.totalHeightForWidth(width) if self.hasHeightForWidth() else -1

    def sizeHint(self) -> QSize:
        return self._layout.totalSizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._layout.totalMinimumSize()

    def _restyle(self) -> None:
        look = theme.current()
        icon = look.icon(self._icon_name, "accent" if self._accent else "muted")
        self._icon.setPixmap(icon.pixmap(look.icon_size()))


class StartPage(QScrollArea):
    """The start page. `file_chosen` has a recent file, `try_chosen` the id of a row of `TRIES`. `choices`
    become buttons, the first one the main button; `sample` opens the sample."""

    file_chosen = Signal(object)
    try_chosen = Signal(str)

    def __init__(
        self, tasks: Tasks, choices: Sequence[QAction], sample: QAction, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._paths: list[Path] = []
        self._listed_paths: list[Path] = []
        self.recent: list[RowButton] = []
        self.tries: dict[str, RowButton] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Start")
        page = QWidget(self.viewport())
        inside = QWidget(page)
        inside.setMaximumWidth(theme.current().px(WIDEST))
        around = QHBoxLayout(page)
        around.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.XL)
        around.addStretch(1)
        around.addWidget(inside, 100)
        around.addStretch(1)
        self._icon = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        middle, columns = QVBoxLayout(inside), QGridLayout()
        middle.setSpacing(theme.XL)
        middle.addStretch(1)
        middle.addWidget(self._drop_area(choices))
        middle.addLayout(columns)
        middle.addStretch(3)
        columns.setHorizontalSpacing(theme.XL)
        columns.setVerticalSpacing(theme.S)
        for place, (head, rows) in enumerate((self._recent_column(), self._tries_column(sample))):
            columns.addLayout(head, 0, place)
            columns.addLayout(rows, 1, place, Qt.AlignmentFlag.AlignTop)
            columns.setColumnStretch(place, 1)
        self.setWidget(page)
        theme.current().changed.connect(self._restyle)
        self._restyle()

    def show_recent(self, paths: Sequence[Path]) -> None:
        """Show the first of these files; their sizes follow later."""
        paths = list(paths[:MOST_RECENT])
        if paths != self._paths:
            self._paths = paths
            if self.isVisible():
                self._list_recent()
                self._read_figures()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._list_recent()
        self._read_figures()

    def _list_recent(self) -> None:
        """Show the files. Not done while the page is hidden, since each file that is opened changes them."""
        if self._paths != self._listed_paths:
            self._listed_paths = self._paths
            for row in self.recent:
                row.deleteLater()
            self.recent = [self._recent_row(path) for path in self._paths]
            self._empty_label.setVisible(not self._paths)

    def _recent_row(self, path: Path) -> RowButton:
        icon = "file" if server_table(path) is None else "table"
        row = RowButton(icon, visible(listed_name(path)), visible(str(path.parent)), cut=True)
        row.setToolTip(visible(str(path)))
        row.clicked.connect(lambda: self.file_chosen.emit(path))
        self._recent.addWidget(row)
        return row

    def _read_figures(self) -> None:
        paths = list(self._paths)

        def show(figures: list[str]) -> None:
            if paths == self._paths:
                for row, text in zip(self.recent, figures, strict=True):
                    row.show_figures(text)

        if paths and self.isVisible():
            self._tasks.read(lambda job: _figures(paths, job), show, owner=self, quiet=True)

    def _drop_area(self, choices: Sequence[QAction]) -> QFrame:
        area = QFrame()
        theme.variant(area, "drop")
        title = QLabel("Drop files or a folder anywhere", alignment=Qt.AlignmentFlag.AlignCenter)
        theme.variant(title, "display")
        hint = QLabel(f"{openable_formats()}, of any size. Files stay where they are.", wordWrap=True)
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        theme.variant(hint, "muted")
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.S)
        buttons.addStretch(1)
        for place, action in enumerate(choices):
            button = _button(action, "primary" if place == 0 else "")
            buttons.addWidget(button)
            if place == 0:
                self.setFocusProxy(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(area)
        layout.setContentsMargins(theme.XL, theme.XL, theme.XL, theme.XL)
        layout.setSpacing(theme.S)
        for widget in (self._icon, title, hint):
            layout.addWidget(widget)
        layout.addSpacing(theme.XS)
        layout.addLayout(buttons)
        return area

    def _recent_column(self) -> tuple[QHBoxLayout, QVBoxLayout]:
        self._recent = QVBoxLayout()
        self._recent.setSpacing(0)
        self._empty_label = QLabel("Files that you open are listed here.", wordWrap=True)
        theme.variant(self._empty_label, "muted")
        self._empty_label.setContentsMargins(theme.S, 0, 0, 0)
        self._recent.addWidget(self._empty_label)
        return _head("Recent"), self._recent

    def _tries_column(self, sample: QAction) -> tuple[QHBoxLayout, QVBoxLayout]:
        rows = QVBoxLayout()
        rows.setSpacing(0)
        for key, icon, title, text in TRIES:
            row = self.tries[key] = RowButton(icon, title, text, accent=True)
            row.clicked.connect(lambda _=False, key=key: self.try_chosen.emit(key))
            rows.addWidget(row)
        return _head("Try with the sample", _button(sample)), rows

    def _restyle(self) -> None:
        look = theme.current()
        self._icon.setPixmap(look.icon("import", "accent").pixmap(look.icon_size(LARGE_ICON)))


def _button(action: QAction, variant: str = "") -> QPushButton:
    button = QPushButton(action.text())
    theme.variant(button, variant)
    button.setToolTip(action.toolTip())
    button.clicked.connect(action.trigger)
    return button


def _head(title: str, button: QPushButton | None = None) -> QHBoxLayout:
    label, line = QLabel(title), QHBoxLayout()
    theme.variant(label, "heading")
    label.setContentsMargins(theme.S, 0, 0, 0)
    line.addWidget(label, 1)
    if button is not None:
        line.addWidget(button)
    return line


def _figures(paths: Sequence[Path], job: Job) -> list[str]:
    """The figures of files. Blocks."""
    return ["" if job.cancelled else _figures_of(path) for path in paths]


def _figures_of(path: Path) -> str:
    """The size of a file and the day it was written. Remote files have none: servers are not asked until a
    file is opened."""
    if isinstance(path, RemotePath):
        return path.address.kind.label
    try:
        status = path.stat()
    except OSError:
        return MISSING_TEXT
    day = time.strftime("%Y-%m-%d", time.localtime(status.st_mtime))
    return f"folder\n{day}" if path.is_dir() else f"{size_text(status.st_size)}\n{day}"
