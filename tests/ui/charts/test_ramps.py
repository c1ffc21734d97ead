"""The scale of a ramp: its labels stand at the colours of their values."""

from __future__ import annotations

import numpy as np
import pytest

from lamella.ui import theme
from lamella.ui.charts.ramps import Ramp, RampScale
from lamella.ui.charts.words import cell_texts
from lamella.ui.style.sheet import DARK, LIGHT
from tests.ui.test_theme import contrast


@pytest.mark.parametrize(
    ("figures", "texts"),
    [
        ([21.0, 20.7, -0.04, 3.25], ["21.0", "20.7", "0.0", "3.2"]),
        ([3, 1_200, -7], ["3", "1,200", "−7"]),
        ([21.0, 20.0], ["21", "20"]),
        ([1_234.5, 999.4], ["1,234", "999"]),
        ([0.031, 0.5, float("nan")], ["0.03", "0.50", "NaN"]),
        ([0.031, 0.0412], ["0.031", "0.041"]),
        ([2.5e-7, 0.0], ["2.5e−07", "0"]),
        ([2.5e16, 0.5], ["2.5e+16", "0.5"]),
        ([], []),
    ],
)
def test_the_cells_of_a_heat_map_have_the_same_decimal_places(figures, texts) -> None:
    assert cell_texts(figures) == texts


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_lowest_cell_differs_from_a_missing_one(qapp, palette, monkeypatch) -> None:
    monkeypatch.setattr(type(theme.current()), "colors", palette)  # of both themes, without styling anew
    lowest = Ramp(3.0, 9.0, log=False).color(3.0)
    assert contrast(lowest.name(), palette.surface) > 1.3


@pytest.mark.parametrize("log", [True, False])
def test_a_scale_shows_each_value_at_its_position(qtbot, log: bool) -> None:
    ramp = Ramp(0.0, 13_052.0, log)
    positions = np.linspace(0, 1, 11)
    assert ramp.positions(ramp.values_at(positions)) == pytest.approx(positions)


def test_labels_of_densities_stand_below_the_colours_of_their_values(qtbot) -> None:
    ramp = Ramp(0.0, 13_052.0, log=True)
    scale = RampScale(ramp, "Rows")
    qtbot.addWidget(scale)
    assert [text for _, text, _ in scale.labels] == ["0", "10", "100", "1,000", "13,052"]
    picture, left = scale.grab().toImage(), scale.width() - scale.bar_width - 1
    for position, text, _ in scale.labels:
        drawn = picture.pixelColor(left + round(position * (scale.bar_width - 1)), scale.height() // 4)
        color = ramp.color(float(text.replace(",", "")))
        assert max(abs(a - b) for a, b in zip(drawn.getRgb(), color.getRgb(), strict=True)) <= 6, text


def test_labels_do_not_overlap(qtbot) -> None:
    scale = RampScale(Ramp(0.0, 1.2e12, log=True), "Rows")
    qtbot.addWidget(scale)
    ends = [edge + scale.fontMetrics().horizontalAdvance(text) for _, text, edge in scale.labels]
    assert all(end < edge for end, (_, _, edge) in zip(ends, scale.labels[1:], strict=False))
    assert scale.labels[-1][1] == "1.2T"
