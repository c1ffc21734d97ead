from __future__ import annotations

import math

import pytest
from PySide6.QtGui import QColor

from lamella.ui.formats.shading import COLORS, Rule, Shading
from lamella.ui.grid.painter import STRONGEST
from lamella.ui.style.sheet import DARK, LIGHT
from tests.ui.test_theme import contrast

EXTENT = (-50.0, 100.0)


def test_a_scale_reaches_from_the_least_to_the_greatest_value() -> None:
    scale = Shading("scale")
    assert [scale.shade(value, EXTENT).strength for value in (-50, 25, 100, 1e9, -1e9)] == [0, 0.5, 1, 1, 0]
    assert Shading("scale", 0, 10).shade(5, EXTENT).strength == 0.5


def test_null_and_nan_have_no_colour() -> None:
    for kind in ("scale", "center", "bars"):
        assert Shading(kind).shade(None, EXTENT) is None and Shading(kind).shade(math.nan, EXTENT) is None
        assert Shading(kind).shade(math.inf, EXTENT) is not None
        assert Shading(kind).shade(3.0, (3.0, 3.0)) is not None


def test_both_sides_of_a_centre_have_one_scale() -> None:
    around = Shading("center", center=0.0)
    low, high = around.shade(-50, EXTENT), around.shade(50, EXTENT)
    assert low.color != high.color and low.strength == high.strength == 0.5


def test_bars_begin_at_zero() -> None:
    bars = Shading("bars")
    positive, negative = bars.shade(100, EXTENT), bars.shade(-50, EXTENT)
    assert (positive.left, positive.right) == (pytest.approx(1 / 3), 1)
    assert (negative.left, negative.right) == (0, pytest.approx(1 / 3))
    assert negative.color != positive.color
    assert Shading("bars").shade(5, (5.0, 10.0)).left == 0


def test_the_first_rule_that_holds_counts_and_is_never_colour_alone() -> None:
    rules = Shading("rules", rules=(Rule("<", 0, "red"), Rule("≥", 10, "blue"), Rule("<", 5, "green")))
    shades = [rules.shade(value, EXTENT) for value in (-1, 3, 12, 7)]
    assert [shade and shade.color for shade in shades] == ["red", "green", "blue", None]
    assert all(shade.bold for shade in shades if shade is not None)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("color", COLORS)
def test_text_is_legible_on_every_colour(palette, color) -> None:
    over, under = QColor(palette.plot[COLORS.index(color)]), QColor(palette.surface)
    mixed = QColor.fromRgbF(*(
        STRONGEST * a + (1 - STRONGEST) * b
        for a, b in zip(over.getRgbF()[:3], under.getRgbF()[:3], strict=True)
    ))  # fmt: skip
    assert contrast(palette.text, mixed.name()) >= 4.5
