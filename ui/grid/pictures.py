"""Thumbnails of binary values that are pictures, made on workers."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from lamella.core.filters.kinds import Kind, kind_of

BEGINNINGS = {b"\x89PNG\r\n\x1a\n": b"png", b"\xff\xd8\xff": b"jpeg"}
MOST_BYTES = 8 << 20
MOST_PIXELS = 50_000_000
SIDE = QSize(144, 48)  # enough for a row at twice the pixels
LONGEST_BEGINNING = max(map(len, BEGINNINGS))


def thumbnails(values: pa.ChunkedArray) -> dict[int, QImage]:
    """By row; nothing for what is no picture, or one too large to be looked at in passing."""
    if kind_of(values.type) is not Kind.BINARY:
        return {}
    found = {}
    for row, value in enumerate(values):
        if value.is_valid and (image := thumbnail(memoryview(value.as_buffer()))) is not None:
            found[row] = image
    return found


def thumbnail(data: memoryview) -> QImage | None:
    beginning = bytes(data[:LONGEST_BEGINNING])
    format_ = next((name for begin, name in BEGINNINGS.items() if beginning.startswith(begin)), None)
    if format_ is None or len(data) > MOST_BYTES:
        return None
    buffer = QBuffer()
    buffer.setData(QByteArray(bytes(data)))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, format_)
    size = reader.size()
    if size.isEmpty() or size.width() * size.height() > MOST_PIXELS:
        return None
    small = size.scaled(SIDE, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
    if small.height() < size.height():
        reader.setScaledSize(small)
    image = reader.read()
    return None if image.isNull() else image
