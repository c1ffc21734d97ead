"""Icons are drawn in the colours of their states, as sharp as the screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from lamella.ui.style.icons import tinted_icon

NORMAL, DISABLED, CHECKED = "#ff0000", "#00ff00", "#0000ff"
Mode, State = QIcon.Mode, QIcon.State


@pytest.fixture
def icon(qapp: QApplication) -> QIcon:
    return tinted_icon("close", NORMAL, DISABLED, CHECKED)


def strongest(image: QImage) -> str:
    """The most opaque colour."""
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    color = max(pixels, key=QColor.alpha)
    return QColor(color.red(), color.green(), color.blue()).name()


@pytest.mark.parametrize(
    ("mode", "state", "color"),
    [
        (Mode.Normal, State.Off, NORMAL),
        (Mode.Active, State.Off, NORMAL),
        (Mode.Normal, State.On, CHECKED),
        (Mode.Disabled, State.Off, DISABLED),
        (Mode.Disabled, State.On, DISABLED),
    ],
)
def test_an_icon_has_the_colour_of_its_state(
    icon: QIcon, mode: QIcon.Mode, state: QIcon.State, color: str
) -> None:
    assert strongest(icon.pixmap(QSize(16, 16), 1.0, mode, state).toImage()) == color


@pytest.mark.parametrize(("ratio", "side"), [(1.0, 16), (1.5, 24), (2.0, 32)])
def test_an_icon_has_the_pixels_of_the_screen(icon: QIcon, ratio: float, side: int) -> None:
    pixmap = icon.pixmap(QSize(16, 16), ratio)
    assert pixmap.size() == QSize(side, side) and pixmap.devicePixelRatio() == ratio


def test_an_icon_is_painted_into_its_place_alone(icon: QIcon) -> None:
    image = QImage(40, 40, QImage.Format.Format_ARGB32)
    image.fill(0)
    with QPainter(image) as painter:
        icon.paint(painter, 10, 10, 16, 16)
    inside = image.copy(10, 10, 16, 16)
    assert inside == icon.pixmap(QSize(16, 16), 1.0).toImage().convertToFormat(image.format())
    with QPainter(image) as painter:
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
        painter.fillRect(10, 10, 16, 16, QColor(0, 0, 0, 0))
    blank = QImage(40, 40, QImage.Format.Format_ARGB32)
    blank.fill(0)
    assert image == blank


def test_an_icon_in_a_selected_row_is_blended_with_the_selection_by_the_style(icon: QIcon) -> None:
    plain, selected = (icon.pixmap(QSize(16, 16), 1.0, mode) for mode in (Mode.Normal, Mode.Selected))
    other = QIcon(QPixmap(plain)).pixmap(QSize(16, 16), 1.0, Mode.Selected)
    assert selected.toImage() == other.toImage() != plain.toImage()


def test_an_icon_without_room_is_empty(icon: QIcon) -> None:
    assert icon.pixmap(QSize(0, 0), 1.0).isNull()
