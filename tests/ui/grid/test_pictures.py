from __future__ import annotations

import pyarrow as pa
import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QColor, QImage

from lamella.ui.grid import model
from lamella.ui.grid.model import SIDE, thumbnails
from tests.ui.grid.fake_rows import TableRows


def encoded(color: str, width: int = 400, height: int = 300, format_: str = "PNG") -> bytes:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(color))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, format_)
    return bytes(buffer.data().data())


@pytest.mark.parametrize("format_", ["PNG", "JPEG"])
def test_pictures_become_thumbnails(qapp, format_) -> None:
    values = pa.chunked_array(
        [[encoded("red", format_=format_), None, b"", b"\x89PNG", encoded("blue", 10, 10)]]
    )
    actual = thumbnails(values)
    assert set(actual) == {0, 4}
    assert actual[0].height() == SIDE.height() and actual[0].width() <= SIDE.width()
    assert actual[4].height() == 10
    assert actual[0].pixelColor(5, 5).red() > 240


@pytest.mark.qt_log_ignore("libpng|Corrupt|JPEG|Unsupported marker", extend=True)
def test_what_only_begins_like_a_picture_is_none(qapp, monkeypatch) -> None:
    whole = encoded("red")
    assert (
        thumbnails(pa.chunked_array([[whole[:40], b"\xff\xd8\xff" + b"x" * 50, whole.hex().encode()]])) == {}
    )
    assert thumbnails(pa.chunked_array([["\x89PNG"]])) == {}
    monkeypatch.setattr(model, "MOST_PIXELS", 1000)
    assert thumbnails(pa.chunked_array([[whole]])) == {}


def test_a_cell_shows_its_picture(grid, settle) -> None:
    rows = [encoded("#ff0000", 40, 40), encoded("#0000ff", 40, 40), b"none", None] * 20
    grid.show_rows(TableRows(pa.table({"n": range(80), "image": rows})))
    settle(grid)
    grid.fit_columns()
    image = grid.viewport().grab().toImage()

    def middle(row: int) -> QColor:
        rect = grid.cell_rect((row, 1))
        return image.pixelColor(rect.left() + 14, rect.center().y())

    assert middle(0).name() == "#ff0000" and middle(1).name() == "#0000ff"
    assert grid.grid_model.pages.text(0, 1).startswith(f"{len(rows[0]):,} B")
