"""The overlay of the window while files are dragged over it: two zones to drop them on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from lamella.core.datasets.formats import STORE, Kind, kind_of, sentence
from lamella.core.errors import LamellaError
from lamella.core.store.paths import is_store
from lamella.ui import theme
from lamella.ui.tasks import Handle, Tasks
from lamella.ui.widgets.hosts import parent_of

ICON_SIZE = 40
ZONE_SIZE = QSize(440, 280)
ZONES_STRETCH = 4
VEIL = 235  # of 255: the window shows through a little


class DropOverlay(QWidget):
    """Covers `window` and handles its drags. Files are recognised on a reading thread."""

    open_requested = Signal(list)
    import_requested = Signal(list)

    def __init__(self, window: QWidget, tasks: Tasks, store_name: str = "") -> None:
        super().__init__(window)
        self._tasks = tasks
        self._looking: Handle | None = None
        self._paths: list[Path] = []
        self._openable = True
        self.title = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.title, "title")
        self.why = QLabel(alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        theme.variant(self.why, "muted")
        self.open_zone = DropZone("open", "Open in place", "View, filter and sort. The files do not change.")
        self.import_zone = DropZone("import", "", "Copy the rows into a table that you can edit, with undo.")
        self.set_store_name(store_name)
        self._lay_out()
        self.setAcceptDrops(True)
        self.setAccessibleName("Drop files")
        self.hide()
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def set_store_name(self, name: str) -> None:
        """Name the store that imports go to."""
        self.import_zone.set_title(f"Import into {name}" if name else "Import")

    def refuse_import(self, why: str) -> None:
        """Say why nothing can be imported: there is no store to import into."""
        self.import_zone.set_title("Nothing can be imported now")
        self.import_zone.about.setText(why)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.setGeometry(parent_of(self).rect())
        if event.type() == QEvent.Type.DragEnter and isinstance(event, QDragEnterEvent):
            return self._begin(event)
        return False

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._light(self._zone_at(event.position()))
        event.acceptProposedAction() if self._openable else event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._end()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = self._paths or local_paths(event.mimeData())
        if not self._openable:
            event.ignore()
            self._end()
            return
        zone = self._zone_at(event.position())
        event.acceptProposedAction()
        self._end()
        (self.import_requested if zone is self.import_zone else self.open_requested).emit(paths)

    def paintEvent(self, event: QPaintEvent) -> None:
        veil = QColor(theme.current().color("window"))
        veil.setAlpha(VEIL)
        QPainter(self).fillRect(self.rect(), veil)

    def _lay_out(self) -> None:
        zones = QHBoxLayout()
        zones.setSpacing(theme.XL)
        zones.addStretch(1)
        zones.addWidget(self.open_zone, 20)
        zones.addWidget(self.import_zone, 20)
        zones.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * theme.XL, theme.XL, 2 * theme.XL, 2 * theme.XL)
        layout.setSpacing(theme.L)
        layout.addStretch(1)
        layout.addWidget(self.title)
        layout.addWidget(self.why)
        layout.addLayout(zones, ZONES_STRETCH)
        layout.addStretch(1)
        self._layout, self._zones = layout, zones

    def _begin(self, event: QDragEnterEvent) -> bool:
        if event.source() is not None:
            return False  # drags from this window are already open in it
        self._paths = local_paths(event.mimeData())
        if not self._paths:
            return False
        paths = self._paths
        self.title.setText(first_words(paths))
        self._looking = self._tasks.read(
            lambda job: [_kind_of(path) for path in paths], self._say, quiet=True, owner=self
        )
        self._offer(True)
        self._light(None)
        self.setGeometry(parent_of(self).rect())
        self.show()
        self.raise_()
        event.acceptProposedAction()
        return True

    def _say(self, kinds: list[Kind]) -> None:
        if [kind.path for kind in kinds] == self._paths:
            self.title.setText(sentence(kinds))
            refused = kinds[0].problem if len(kinds) == 1 else None
            self.why.setText(str(LamellaError(refused.why, fix=refused.fix)) if refused else "")
            self._offer(any(kind.problem is None for kind in kinds))

    def _offer(self, openable: bool) -> None:
        """Show the zones, unless the files cannot be opened."""
        self._openable = openable
        for zone in (self.open_zone, self.import_zone):
            zone.setVisible(openable)
        self.why.setVisible(not openable and bool(self.why.text()))
        self._layout.setStretchFactor(self._zones, ZONES_STRETCH if openable else 0)

    def _end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._paths = []
        self.hide()

    def _zone_at(self, place: QPointF) -> DropZone:
        """The zone at a position. Everywhere outside the import zone, a drop opens the files."""
        return self.import_zone if place.x() >= self.width() / 2 else self.open_zone

    def _light(self, lit: DropZone | None) -> None:
        for zone in (self.open_zone, self.import_zone):
            zone.set_lit(zone is lit)


class DropZone(QWidget):
    """One of the two zones, with a description of what dropping there does."""

    def __init__(self, icon: str, title: str, about: str) -> None:
        super().__init__()
        self._icon_name, self.lit = icon, False
        self.icon = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.title = QLabel(title, alignment=Qt.AlignmentFlag.AlignCenter)
        theme.variant(self.title, "title")
        top = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        self.about = QLabel(about, alignment=top, wordWrap=True)
        theme.variant(self.about, "muted")
        layout = QVBoxLayout(self)
        layout.setSpacing(theme.S)
        layout.setContentsMargins(theme.L, theme.L, theme.L, theme.L)
        layout.addStretch(1)
        for label in (self.icon, self.title, self.about):
            layout.addWidget(label)
        layout.addStretch(1)
        theme.current().changed.connect(self._retint)
        self._retint()

    def set_title(self, title: str) -> None:
        self.title.setText(title)

    def set_lit(self, lit: bool) -> None:
        if lit != self.lit:
            self.lit = lit
            self._retint()

    def _retint(self) -> None:
        look = theme.current()
        self.setMaximumSize(look.px(ZONE_SIZE.width()), look.px(ZONE_SIZE.height()))
        self.about.setMinimumHeight(2 * look.line_height())  # so that titles side by side are level
        icon = look.icon(self._icon_name, "accent" if self.lit else "muted")
        self.icon.setPixmap(icon.pixmap(look.icon_size(ICON_SIZE)))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        look = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        style = Qt.PenStyle.SolidLine if self.lit else Qt.PenStyle.DashLine
        painter.setPen(QPen(look.color("accent" if self.lit else "border_strong"), 2, style))
        painter.setBrush(look.color("accent_soft" if self.lit else "surface"))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 2 * theme.RADIUS, 2 * theme.RADIUS)


def local_paths(data: QMimeData) -> list[Path]:
    """The local files and folders in a drag."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def _kind_of(path: Path) -> Kind:
    return Kind(path, STORE) if is_store(path) else kind_of(path)


def first_words(paths: Sequence[Path]) -> str:
    """The text that is shown until the files are recognised."""
    return paths[0].name if len(paths) == 1 else f"{len(paths):,} files"
