"""The figures on ParqueDB's page about changing, querying, storing and holding entities."""

from __future__ import annotations

import pytest

from lamella.core.bench.results.published_results import PublishedPoint, publications, published_lines


def figure(
    workload: str, published_as: str, operation: str, rows: int, statistic: str = "mean", of: str = "seconds"
) -> PublishedPoint:
    """Return the only point of a line, by its name on the page."""
    (line,) = (
        point
        for line in published_lines(workload, operation, of)
        if line.published_name == published_as and line.statistic == statistic
        for point in line.points
        if point.rows == rows
    )
    return line


MEMORY = "peak_rss_bytes"
FIGURES = [
    (0.0010, "entity-changes", "Create single", "create_one", 1),
    (0.0020, "entity-changes", "Create single", "create_one", 1, "p95"),
    (0.0007, "entity-changes", "Get by ID", "get", 1),
    (0.0011, "entity-changes", "Update ($set)", "update_set", 1),
    (0.0010, "entity-changes", "$set (single field)", "update_set", 1),
    (0.0020, "entity-changes", "$push", "update_push", 1),
    (0.0022, "entity-changes", "$pull", "update_pull", 1),
    (0.150, "entity-changes", "Batch create", "create_thousand", 1_000),
    (1.5, "entity-changes", "Batch create", "create_batch", 10_000),
    (0.100, "entity-changes", "Batch delete", "delete_hundred", 100, "p95"),
    (0.075, "entity-changes", "Update, target (p99)", "update_inc", 10_000, "p99"),
    (0.450, "entity-queries", "Full scan; Find All", "find_all", 100_000),
    (0.220, "entity-queries", "$in operator", "in", 100_000),
    (0.080, "entity-queries", "$regex", "regex", 10_000),
    (0.200, "entity-queries", "Single field (numeric)", "sort_number", 100_000),
    (0.500, "entity-queries", "Scale Tests, Sort", "sort_number", 100_000),
    (0.008, "entity-queries", "Indexed field", "sort_indexed", 10_000),
    (0.100, "entity-queries", "Offset (limit 20), Page 500", "page_500", 100_000),
    (0.002, "entity-queries", "Cursor-based, Page 500", "cursor_500", 100_000),
    (0.350, "entity-queries", "Group By", "group_by", 100_000),
    (0.500, "entity-queries", "Find (scan), target (p99)", "equality", 1_000, "p99"),
    (85_000_000, "entity-storage", "JSON (raw)", "write", 100_000, "mean", "disk_bytes"),
    (80_000, "entity-storage", "Parquet (gzip)", "write", 1_000, "mean", "disk_bytes"),
    (0.120, "entity-storage", "GZIP, Write", "write", 10_000),
    (700_000, "entity-storage", "LZ4, Size", "write", 10_000, "mean", "disk_bytes"),
    (12_000_000, "entity-memory", "Medium (1KB), Heap Per Entity", "hold_1k", 10_000, "mean", MEMORY),
]


@pytest.mark.parametrize("spot", FIGURES)
def test_figures_of_entities_are_the_pages(spot: tuple[float, ...]) -> None:
    right, *place = spot
    assert figure(*place).value == right  # type: ignore[arg-type]


def test_the_two_figures_that_a_page_has_for_one_thing_are_both_there() -> None:
    lines = [line for line in published_lines("entity-queries", "project_two") if line.system == "parquedb"]
    assert sorted(publication.points[0].seconds for publication in lines) == [0.015, 0.100]


def test_a_size_is_never_drawn_among_times() -> None:
    assert {publication.quantity for publication in publications("entity-storage")} == {
        "seconds",
        "disk_bytes",
    }
    assert all(line.quantity == "seconds" for line in published_lines("entity-storage", "write"))


def test_a_span_of_figures_is_said_at_its_point() -> None:
    assert "1,500 to 2,500 ms" in figure("entity-changes", "Batch create", "create_batch", 10_000).note
