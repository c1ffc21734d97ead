"""Icons of resources/icons, in colours of the palette."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QByteArray, QRect, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QStyleOption

from lamella.ui.override_errors import complete_exceptions

complete_exceptions()  # the module of the theme imports this one first


@cache
def icon_svg(name: str) -> str:
    """The SVG text of an icon; its strokes are `currentColor`."""
    return files("lamella.resources").joinpath("icons", f"{name}.svg").read_text("utf-8")


def tint_icon(name: str, color: str) -> bytes:
    return icon_svg(name).replace("currentColor", color).encode()


def write_tinted(name: str, color: str, folder: Path) -> str:
    """Write a tinted copy and return its path: style sheets take pictures only by path."""
    path = folder / f"{name}-{color.lstrip('#')}.svg"
    path.write_bytes(tint_icon(name, color))
    return path.as_posix()


class TintedIconEngine(QIconEngine):
    """Draws an icon in `color`, in `active` while its button is checked, and in `disabled` while it is
    disabled. Each size is drawn when it is first needed: a window has some fifty icons, each in one or two
    sizes of the many that texts and screens may have."""

    def __init__(self, name: str, color: str, disabled: str, active: str) -> None:
        super().__init__()
        self._name, self._color, self._disabled_color, self._active_color = name, color, disabled, active
        self._pixmaps: dict[tuple[int, int, str, bool], QPixmap] = {}

    def clone(self) -> QIconEngine:
        return TintedIconEngine(self._name, self._color, self._disabled_color, self._active_color)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        ratio = painter.device().devicePixelRatio()
        pixmap = QPixmap(self.pixmap(rect.size() * ratio, mode, state))
        pixmap.setDevicePixelRatio(ratio)
        painter.drawPixmap(rect.topLeft(), pixmap)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """The icon in a size in device pixels."""
        disabled, checked = mode == QIcon.Mode.Disabled, state == QIcon.State.On
        color = self._disabled_color if disabled else self._active_color if checked else self._color
        selected = mode == QIcon.Mode.Selected
        key = (size.width(), size.height(), color, selected)
        if key not in self._pixmaps:
            pixmap = self._render(size, color)
            if selected:  # styles blend it with the colour of the selection, as they do with other icons
                option = QStyleOption()
                option.palette = QApplication.palette()
                pixmap = QApplication.style().generatedIconPixmap(mode, pixmap, option)
            self._pixmaps[key] = pixmap
        return self._pixmaps[key]

    def _render(self, size: QSize, color: str) -> QPixmap:
        pixmap = QPixmap(size)
        if size.isEmpty():  # of a button that is not laid out yet
            return pixmap
        pixmap.fill(Qt.GlobalColor.transparent)
        renderer = QSvgRenderer(QByteArray(tint_icon(self._name, color)))
        renderer.setAspectRatioMode(Qt.AspectRatioMode.KeepAspectRatio)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        renderer.render(painter)
        painter.end()
        return pixmap


def tinted_icon(name: str, color: str, disabled: str, active: str) -> QIcon:
    return QIcon(TintedIconEngine(name, color, disabled, active))
