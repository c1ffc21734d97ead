"""A chart becomes one of another type with the same columns; two columns of coordinates are a map."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella.core.query.charts import ChartSpec, suggest

TYPES = {
    "hour": pa.int64(),
    "delay": pa.float64(),
    "distance": pa.int64(),
    "carrier": pa.string(),
    "origin": pa.string(),
}


def test_a_heat_map_of_a_box_plot_has_its_means_and_of_a_scatter_plot_its_rows():
    box = ChartSpec("box", "hour", "delay", color="origin")
    assert box.as_kind("heat_map", TYPES) == ChartSpec(
        "heat_map", "hour", "origin", measure="delay", aggregate="mean"
    )
    scatter = ChartSpec("scatter", "hour", "delay", measure="delay", aggregate="mean", color="origin")
    assert scatter.as_kind("heat_map", TYPES) == ChartSpec("heat_map", "hour", "delay")


def test_a_colour_outlives_the_types_of_charts_that_have_none():
    line = ChartSpec("line", "hour", measure="delay", aggregate="mean", color="carrier")
    for kinds in (("heat_map", "line"), ("box", "heat_map", "line"), ("box", "line")):
        spec = line
        for kind in kinds:
            spec = spec.as_kind(kind, TYPES)
        assert (spec.color, spec.measure) == ("carrier", "delay")
    heat_map = ChartSpec("heat_map", "hour", "distance", measure="delay", aggregate="mean")
    assert heat_map.as_kind("line", TYPES).color == "", "numbers make no series"


@pytest.mark.parametrize(
    ("x", "y", "is_map"),
    [
        ("lon", "lat", True),
        ("start_Longitude", "start_latitude", True),
        ("lat", "lon", False),
        ("slat", "lat", False),
    ],
)
def test_longitude_and_latitude_are_a_map(x, y, is_map):
    assert ChartSpec("scatter", x, y).is_map == is_map
    assert not ChartSpec("scatter", x, y, log_x=True).is_map
    assert not ChartSpec("heat_map", x, y).is_map


def test_suggest_turns_latitude_and_longitude_into_a_map():
    spec = suggest(["lat", "lon"], {"lat": pa.float64(), "lon": pa.float64()})
    assert (spec.x, spec.y) == ("lon", "lat")
