"""Single-colour SVG icons, tinted for the palette and sharp at every scale."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

SIZES = (16, 20, 32)
SCALES = (1, 2)


@cache
def source(name: str) -> str:
    """The SVG text of an icon; its strokes are `currentColor`."""
    return files("lamella.resources").joinpath("icons", f"{name}.svg").read_text("utf-8")


def tinted(name: str, color: str) -> bytes:
    return source(name).replace("currentColor", color).encode()


def write_tinted(name: str, color: str, folder: Path) -> str:
    """The path of a tinted copy, for style sheets, which take pictures only by path."""
    path = folder / f"{name}-{color.lstrip('#')}.svg"
    path.write_bytes(tinted(name, color))
    return path.as_posix()


def tinted_icon(name: str, color: str, disabled: str, active: str) -> QIcon:
    """An icon in `color`; in `active` while its button is checked, in `disabled` while it cannot be used."""
    made = QIcon()
    states = (
        (color, QIcon.Mode.Normal, QIcon.State.Off),
        (active, QIcon.Mode.Normal, QIcon.State.On),
        (disabled, QIcon.Mode.Disabled, QIcon.State.Off),
    )
    for tint, mode, state in states:
        renderer = QSvgRenderer(QByteArray(tinted(name, tint)))
        for size in SIZES:
            for scale in SCALES:
                made.addPixmap(_pixmap(renderer, size, scale), mode, state)
    return made


def _pixmap(renderer: QSvgRenderer, size: int, scale: int) -> QPixmap:
    pixmap = QPixmap(size * scale, size * scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, size * scale, size * scale))
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap
