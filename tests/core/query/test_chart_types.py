"""A chart becomes one of another type with the same columns."""

from __future__ import annotations

import pyarrow as pa

from lamella.core.query.charts import ChartSpec

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
