"""Converts the drawing of the program's icon to the formats that the systems need."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SIZE = 256
DESKTOP_SIZES = (16, 22, 24, 32, 48, 64, 96, 128, 256, 512)
"""The sizes of the icon theme that every Linux desktop falls back to."""


def write(drawing: Path, target: Path, size: int = SIZE) -> Path:
    """Write the icon to `target`, which ends in .ico, .icns or .png."""
    picture = QImage(size, size, QImage.Format.Format_ARGB32)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(str(drawing)).render(painter)
    painter.end()
    target.parent.mkdir(parents=True, exist_ok=True)
    if not picture.save(str(target)):
        raise OSError(f"{target} cannot be written")
    return target


def write_theme(drawing: Path, folder: Path) -> None:
    """Write the drawing and all its sizes in the layout of `hicolor` below /usr/share/icons."""
    for size in DESKTOP_SIZES:
        write(drawing, folder / f"{size}x{size}" / "apps" / drawing.with_suffix(".png").name, size)
    scalable = folder / "scalable" / "apps" / drawing.name
    scalable.parent.mkdir(parents=True, exist_ok=True)
    scalable.write_bytes(drawing.read_bytes())
