"""docs/charts.md says what there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from lamella.core.query.charts.boxes import WHISKERS
from lamella.core.query.charts.dimensions import UNIT_SECONDS
from lamella.core.query.charts.reading import ESTIMATED_ROWS, MOST_POINTS, VALUES
from lamella.core.query.charts.spec import AGGREGATES, TITLES
from lamella.ui.actions import BY_ID, shown_keys

PAGE = (Path(__file__).parents[2] / "docs" / "charts.md").read_text("utf-8")


def test_all_types_aggregates_and_units_are_listed(qapp):
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE, re.MULTILINE)
    assert [row for row in rows if row in TITLES.values()] == list(TITLES.values())
    assert [row.strip("`") for row in rows if row.startswith("`")] == list(AGGREGATES)
    units = PAGE[PAGE.index("Times along X") :].partition(", by the clock")[0]
    assert re.findall(r"`(\w+)`", units) == list(UNIT_SECONDS)
    assert f"({shown_keys(BY_ID['chart'])})" in PAGE


def test_limits_are_those_of_the_program():
    assert f"more than {MOST_POINTS:,} rows" in PAGE and f"within {WHISKERS} heights" in PAGE
    assert f"more than {ESTIMATED_ROWS // 10**6} million rows" in PAGE
    text = " ".join(PAGE.split())
    assert f"{VALUES['x']} along an axis, {VALUES['c']} colours, {VALUES['p']} panels" in text
