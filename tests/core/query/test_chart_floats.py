"""Charts of floats with NaN and infinities, from files and from memory; box plots in memory and by SQL."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.query import figure_rows
from lamella.core.query.builder import Query, query_of
from lamella.core.query.charts import ChartSpec, read_chart
from lamella.core.query.charts import reading as charts
from lamella.core.query.source import SnapshotSource
from lamella.core.scan.snapshot import snapshot_of_rows


def query_of_rows(rows: pa.Table) -> Query:
    return query_of(SnapshotSource(snapshot_of_rows(rows, "rows")))


def _with(values: list[float]) -> pa.Table:
    """Rows whose floats have some `values` among them."""
    random = np.random.default_rng(3)
    floats = [np.concatenate([random.normal(50, 20, 6_000), values]) for _ in range(2)]
    groups = pa.array(random.choice(["a", "b", "c"], len(floats[0])))
    return pa.table(
        {
            "x": floats[0],
            "y": random.permutation(floats[1]),
            "single": pa.array(floats[0]).cast(pa.float32()),
            "group": groups,
        }
    )


FLOAT_CHARTS = [
    ChartSpec("histogram", x="x"),
    ChartSpec("histogram", x="single", color="group"),
    ChartSpec("histogram", x="x", log_x=True),
    ChartSpec("scatter", x="x", y="y"),
    ChartSpec("box", x="group", y="y"),
    ChartSpec("bar", x="group", measure="y", aggregate="mean"),
    ChartSpec("bar", x="group", measure="y", aggregate="max"),
    ChartSpec("line", x="x", measure="single", aggregate="sum"),
]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "values", [[], [math.nan], [math.inf, -math.inf], [math.nan, math.inf, 1e300], [-0.0, 0.0]]
)
def test_floats_of_a_file_make_the_same_chart_as_those_in_memory(tmp_path, values):
    """Extremes of its footer leave out NaN."""
    rows = _with(values)
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=1_500)
    file = open_dataset(tmp_path / "rows.parquet")
    for spec in FLOAT_CHARTS:
        in_memory, in_file = read_chart(query_of_rows(rows), spec), read_chart(file.query(), spec)
        assert in_file.left_out == in_memory.left_out and in_file.used == in_memory.used, spec
        pd.testing.assert_frame_equal(in_file.figures().to_pandas(), in_memory.figures().to_pandas())


def test_a_chart_of_floats_reads_its_file_once(tmp_path, monkeypatch):
    """The footer says how far they reach; were it wrong, the file would be read again."""
    statements = list[str]()
    read_rows = figure_rows.LocalRows.read
    monkeypatch.setattr(
        figure_rows.LocalRows,
        "read",
        lambda self, sql, types: statements.append(sql) or read_rows(self, sql, types),
    )
    for name, values, times in (("right", [], 1), ("wrong", [math.nan], 5)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(_with(values), path)
        statements.clear()
        chart = read_chart(open_dataset(path).query(), ChartSpec("histogram", x="x"))
        assert chart.used == 6_000
        assert len(statements) == times


@pytest.mark.parametrize("keys", [("group",), ("group", "hour"), ()])
def test_boxes_in_memory_are_those_of_sql(monkeypatch, keys):
    random = np.random.default_rng(5)
    size = 4_000
    rows = pa.table(
        {
            "v": np.concatenate([random.standard_cauchy(size - 6), [0.0, 0.0, -1e308, 1e308, 1e308, 5.0]]),
            "group": pa.array(random.choice(["a", "b", None, *[f"g{n}" for n in range(40)]], size)),
            "hour": random.choice([1, 2, 50], size),
        }
    )
    spec = ChartSpec("box", x=keys[0] if keys else "", y="v", color=keys[1] if len(keys) > 1 else "")
    in_memory = read_chart(query_of_rows(rows), spec).figures().to_pandas()
    monkeypatch.setattr(charts, "MOST_IN_MEMORY", 0)
    by_sql = read_chart(query_of_rows(rows), spec).figures().to_pandas()
    pd.testing.assert_frame_equal(in_memory, by_sql, rtol=1e-12)
    assert in_memory["outliers"].sum() > 0
