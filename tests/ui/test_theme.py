from __future__ import annotations

import itertools
import math
import subprocess
import sys

import pyarrow as pa
import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QInputDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QStyle,
    QToolBar,
    QVBoxLayout,
)

from lamella.core.query.charts import ChartData, ChartSpec
from lamella.ui import theme
from lamella.ui.charts.ramps import ink_on, ramp_of
from lamella.ui.style.sheet import DARK, LIGHT
from lamella.ui.widgets.controls import IconButton


@pytest.fixture
def look(qapp):
    current = theme.current()
    yield current
    current.set_mode("system")
    current.set_text_scale(1.0)


COLLECTING = """
import gc
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from lamella.ui import theme

ENOUGH = 100_000

class Allocating(QWidget):
    def changeEvent(self, event):
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            lost.clear()
            self.lists = [[] for _ in range(2 * ENOUGH)]

class Lost(QWidget):
    def __init__(self):
        super().__init__()
        self.itself, self.label = self, QLabel("lost", self)

gc.disable()
gc.set_threshold(ENOUGH)
application = QApplication([])
theme.install(application)
lost = [Lost() for _ in range(200)]
told = [Allocating() for _ in range(5)]
for widget in [*lost, *told]:
    widget.show()
del widget
gc.enable()
theme.current().set_text_scale(1.5)
assert gc.isenabled() and not lost
"""


@pytest.mark.slow
def test_no_widget_is_collected_while_all_of_them_change() -> None:
    subprocess.run([sys.executable, "-c", COLLECTING], check=True)


def linear(color: str) -> list[float]:
    parts = QColor(color).getRgbF()[:3]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]


def luminance(color: str) -> float:
    parts = linear(color)
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_legible_on_every_surface(palette) -> None:
    for surface in ("window", "surface", "raised", "sunken", "hover", "accent_soft"):
        for ink in ("text", "muted"):
            assert contrast(getattr(palette, ink), getattr(palette, surface)) >= 4.5, (ink, surface)
    assert contrast(palette.on_accent, palette.accent) >= 4.5
    for surface in ("window", "surface"):
        assert contrast(palette.faint, getattr(palette, surface)) >= 4.5, surface
    for kind in ("success", "warning", "danger"):
        assert contrast(getattr(palette, kind), getattr(palette, f"{kind}_soft")) >= 4.5, kind


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_what_can_be_used_is_told_from_its_ground(palette) -> None:
    for surface in ("window", "surface", "raised"):
        for line in ("input_border", "accent"):
            assert contrast(getattr(palette, line), getattr(palette, surface)) >= 3, (line, surface)
    assert contrast(palette.accent, palette.accent_soft) >= 3
    assert contrast(palette.faint, palette.surface) >= 3
    assert contrast(palette.muted, palette.warning_soft) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_figures_on_a_heat_map_are_legible_and_its_scale_says_what_lies_beyond(look, mode) -> None:
    look.set_mode(mode)
    table = pa.table({"value": [*map(float, range(100)), 1e6]})
    ramp = ramp_of(ChartData(ChartSpec("heat_map", "x", "y"), table, {}, 101, 101))
    assert ramp.ends == ("≤ 2", "≥ 98")
    for value in range(100):
        color = ramp.color(float(value))
        assert contrast(ink_on(color).name(), color.name()) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("widget", [QLineEdit, QComboBox, QSpinBox, QPlainTextEdit, QCheckBox])
def test_inputs_are_drawn_with_their_border(look, qtbot, palette, widget) -> None:
    look.set_mode("dark" if palette.dark else "light")
    control = widget()
    qtbot.addWidget(control)
    control.resize(200, 30)
    control.show()
    middle = control.grab().toImage()
    colors = {middle.pixelColor(x, middle.height() // 2).name() for x in range(middle.width())}
    assert palette.input_border in colors


VISIONS = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""How people who lack a kind of cones see linear RGB, after Machado, Oliveira and Fernandes (2009)."""


def lightness_and_hue(color: str, vision: str) -> tuple[float, float, float]:
    """The place of a colour in CIELAB, as it is seen."""
    parts = linear(color)
    red, green, blue = (
        min(1.0, max(0.0, sum(share * part for share, part in zip(row, parts, strict=True))))
        for row in VISIONS[vision]
    )
    x, y, z = (
        each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116
        for each in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_people_who_are_colour_blind_can_tell_the_colours_of_plots_apart(palette, vision) -> None:
    for one, other in itertools.combinations(palette.plot, 2):
        difference = math.dist(lightness_and_hue(one, vision), lightness_and_hue(other, vision))
        assert difference > 8, (one, other)  # from about 2 on, a difference is seen at all


def test_both_palettes_draw_the_same_number_of_lines() -> None:
    assert len(LIGHT.plot) == len(set(LIGHT.plot)) == len(DARK.plot) == len(set(DARK.plot))


def test_switching_changes_palette_icons_and_says_so(look, qtbot) -> None:
    look.set_mode("light")
    light = look.icon("filter").pixmap(16).toImage()
    with qtbot.waitSignal(look.changed):
        look.set_mode("dark")
    assert look.dark and look.colors is DARK
    assert QGuiApplication.palette().window().color() == QColor(DARK.window)
    assert look.icon("filter").pixmap(16).toImage() != light


def test_text_scale_reaches_plain_widgets(look, qtbot) -> None:
    button = QPushButton("Open")
    qtbot.addWidget(button)
    before = button.sizeHint().height()
    look.set_text_scale(2.0)
    assert button.sizeHint().height() > before


def test_a_variant_can_be_chosen_after_the_widget_is_shown(look, qtbot) -> None:
    look.set_mode("light")
    button = QPushButton("Go")
    qtbot.addWidget(button)
    button.show()
    plain = button.grab().toImage()
    theme.variant(button, "primary")
    assert button.grab().toImage() != plain


def test_icons_and_check_boxes_grow_with_the_text(look, qtbot) -> None:
    button, box, bar = IconButton("close", "Remove"), QCheckBox(), QToolBar()
    for widget in (button, box, bar):
        qtbot.addWidget(widget)
        widget.show()
    before = button.iconSize(), bar.iconSize(), box.sizeHint()
    assert before[:2] == (QSize(16, 16), QSize(16, 16))
    look.set_text_scale(1.5)
    assert (button.iconSize(), bar.iconSize()) == (QSize(24, 24), QSize(24, 24))
    assert box.sizeHint().height() >= before[2].height() + 6


@pytest.mark.parametrize("scale", theme.TEXT_SCALES)
def test_a_radio_button_is_round_at_every_text_size(look, qtbot, scale) -> None:
    look.set_mode("light")
    look.set_text_scale(scale)
    button = QRadioButton()
    qtbot.addWidget(button)
    button.setAutoExclusive(False)
    button.show()
    image, side = button.grab().toImage(), look.px(14) + 2
    left, top = 0, (image.height() - side) // 2
    assert image.pixelColor(left, top) == image.pixelColor(image.width() - 1, 0), "its corner is blank"
    button.setChecked(True)
    image, blank = button.grab().toImage(), image.pixelColor(image.width() - 1, 0)
    assert image.pixelColor(left, top) == blank, "its corner is blank when it is checked"
    bright = sum(image.pixelColor(x, image.height() // 2).lightness() > 200 for x in range(1, side - 1))
    assert image.pixelColor(side, image.height() // 2) == blank, "it is as wide as one that is not checked"
    assert side / 4 < bright < side / 2, "its dot keeps its share"


def test_all_dialogs_have_cancel_before_the_button_that_acts(qtbot, look) -> None:
    box = QMessageBox(QMessageBox.Icon.Question, "Lamella", "Drop the index?")
    drop = box.addButton("Drop", QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    name = QInputDialog()
    saved = list[str]()
    name.textValueSelected.connect(saved.append)
    for dialog in (box, name):
        qtbot.addWidget(dialog)
        dialog.show()
    ok, no = (button for button in name.findChildren(QPushButton) if button.isVisible())
    for accept, reject in ((drop, cancel), (ok, no)):
        assert reject.x() < accept.x() and accept.icon().isNull() and reject.icon().isNull()
    name.setTextValue("late")
    QTest.keyClick(name, Qt.Key.Key_Return)
    assert saved == ["late"]


def test_the_default_button_of_a_box_looks_like_that_of_other_dialogs(qtbot, look) -> None:
    look.set_mode("light")
    box = QMessageBox(QMessageBox.Icon.Question, "Lamella", "Duplicate?")
    accept = box.addButton("Duplicate", QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(accept)
    qtbot.addWidget(box)
    box.show()
    assert accept.grab().toImage().pixelColor(6, 6) == QColor(LIGHT.accent)
    assert cancel.grab().toImage().pixelColor(6, 6) != QColor(LIGHT.accent)


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_buttons_and_fields_keep_the_height_of_their_text_in_the_smallest_dialog(qtbot, look, scale) -> None:
    look.set_text_scale(scale)
    dialog = QDialog()
    qtbot.addWidget(dialog)
    layout = QVBoxLayout(dialog)
    widgets = [QPushButton("Cancel"), QLineEdit("name"), QComboBox()]
    for widget in widgets:
        layout.addWidget(widget)
    dialog.show()
    dialog.resize(dialog.minimumSizeHint())
    assert all(widget.height() >= widget.sizeHint().height() for widget in widgets)


def test_icons_of_menus_grow_with_the_text(look, qtbot) -> None:
    menu = QMenu()
    qtbot.addWidget(menu)
    menu.ensurePolished()
    sizes = []
    for scale in (1.0, 1.5):
        look.set_text_scale(scale)
        sizes.append(menu.style().pixelMetric(QStyle.PixelMetric.PM_SmallIconSize, None, menu))
    assert sizes == [16, 24]
