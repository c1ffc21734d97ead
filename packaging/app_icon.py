"""The program's icon in the format that the system's executables want, from the one drawing."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SIZE = 256


def write(drawing: Path, target: Path) -> Path:
    """`target` ends in .ico, .icns or .png."""
    picture = QImage(SIZE, SIZE, QImage.Format.Format_ARGB32)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(str(drawing)).render(painter)
    painter.end()
    target.parent.mkdir(parents=True, exist_ok=True)
    if not picture.save(str(target)):
        raise OSError(f"{target} cannot be written")
    return target
