"""The published figures are checked by counts, by figures read off the documents, and for consistency."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lamella.core.bench.registry import WORKLOADS, UnknownWorkload
from lamella.core.bench.results.published_results import PublishedLine, publications, published_lines
from lamella.core.bench.workloads.tables import ALL_SIZES

SYSTEMS = {"small": {"parquetdb", "pyarrow", "sqlite"}, "update": {"parquetdb", "mongodb", "sqlite"}}
OPERATIONS = {"small": {"create", "read", "query"}, "update": {"create", "read", "update"}}
NOTEBOOKS = list(SYSTEMS)

SPOTS = [
    ("small", "pyarrow", "create", 1, 0.03320021629333496),
    ("small", "pyarrow", "create", 1_000_000, 70.13993415832519),
    ("small", "pyarrow", "read", 100_000, 0.05335421562194824),
    ("small", "pyarrow", "query", 100, 0.004302406311035156),
    ("small", "sqlite", "create", 10, 0.0008130550384521484),
    ("small", "sqlite", "read", 1_000_000, 16.552225065231323),
    ("small", "sqlite", "query", 10_000, 0.016704320907592773),
    ("small", "parquetdb", "create", 100_000, 3.8328524112701414),
    ("small", "parquetdb", "read", 1, 0.019400930404663085),
    ("small", "parquetdb", "query", 1_000_000, 0.7494649410247802),
    ("update", "sqlite", "create", 1_000, 0.007365),
    ("update", "sqlite", "read", 100_000, 1.617),
    ("update", "sqlite", "update", 1_000_000, 81.414),
    ("update", "mongodb", "create", 1, 0.013534),
    ("update", "mongodb", "read", 1, 0.000532),
    ("update", "mongodb", "update", 10_000, 2.841995),
    ("update", "parquetdb", "create", 1_000_000, 22.248),
    ("update", "parquetdb", "read", 1_000, 0.013999),
    ("update", "parquetdb", "update", 100, 0.064248),
]


def line(workload: str, system: str, operation: str) -> PublishedLine:
    (published_line,) = (
        publication for publication in published_lines(workload, operation) if publication.system == system
    )
    return published_line


def seconds(workload: str, system: str, operation: str, rows: int) -> float:
    return next(point.seconds for point in line(workload, system, operation).points if point.rows == rows)


@pytest.mark.parametrize("workload", NOTEBOOKS)
def test_every_system_operation_and_size_is_there_once(workload: str) -> None:
    lines = publications(workload)
    assert {(publication.system, publication.operations[0]) for publication in lines} == {
        (system, operation) for system in SYSTEMS[workload] for operation in OPERATIONS[workload]
    }
    assert len(lines) == 9
    for publication in lines:
        assert tuple(point.rows for point in publication.points) == ALL_SIZES
        assert publication.source and publication.machine and publication.title


@pytest.mark.parametrize("spot", SPOTS)
def test_figures_are_the_documents(spot: tuple[str, str, str, int, float]) -> None:
    *place, right = spot
    assert seconds(*place) == right  # type: ignore[arg-type]


def test_the_sums_of_all_figures_are_the_documents() -> None:
    totals = {
        name: sum(p.seconds for publication in publications(name) for p in publication.points)
        for name in NOTEBOOKS
    }
    assert totals["small"] == pytest.approx(146.1104019641876, abs=1e-9)
    assert totals["update"] == pytest.approx(608.810639, abs=1e-9)


@pytest.mark.parametrize("workload", NOTEBOOKS)
def test_ten_times_the_rows_never_take_a_third_of_the_time(workload: str) -> None:
    for publication in publications(workload):
        times = [point.seconds for point in publication.points if not point.below_resolution]
        assert all(after >= before / 3 for before, after in pairwise(times)), publication


@pytest.mark.parametrize("workload", NOTEBOOKS)
def test_a_million_rows_take_longest(workload: str) -> None:
    assert all(
        max(publication.points, key=lambda point: point.seconds).rows == 1_000_000
        for publication in publications(workload)
    )


def test_what_the_clock_could_not_tell_is_marked_and_nothing_else() -> None:
    marked = [
        (publication.workload, publication.system, publication.operations[0], point.rows)
        for name in WORKLOADS
        for publication in publications(name)
        for point in publication.points
        if point.below_resolution
    ]
    assert sorted(marked) == [
        ("update", "mongodb", "read", 10),
        ("update", "sqlite", "create", 1),
        ("update", "sqlite", "read", 1),
        ("update", "sqlite", "read", 10),
    ]
    for name in WORKLOADS:
        for publication in publications(name):
            assert all((point.seconds == 0) == point.below_resolution for point in publication.points)


def test_the_folder_that_was_never_emptied_is_said_at_the_point() -> None:
    points = line("update", "parquetdb", "update").points
    assert "inside 1,111,111" in points[-1].note
    assert points[0].note == ""
    assert all("never emptied" in point.note for point in points[1:])


def test_a_line_is_only_compared_with_operations_whose_timer_holds_the_same_work() -> None:
    assert {publication.system for publication in published_lines("small", "create_with_preparation")} == {
        "parquetdb",
        "pyarrow",
    }
    assert {publication.system for publication in published_lines("small", "query_again")} == set()
    assert {publication.system for publication in published_lines("update", "update_by_row_id")} == {
        "parquetdb"
    }


def test_means_and_single_runs_are_told_apart() -> None:
    assert {(publication.statistic, publication.runs) for publication in publications("small")} == {
        ("mean", 5)
    }
    assert {(publication.statistic, publication.runs) for publication in publications("update")} == {
        ("single run", 1)
    }


def test_an_unknown_workload_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownWorkload, match="Did you mean 'small'"):
        publications("smal")


@pytest.mark.parametrize(
    ("workload", "system", "operation", "rows", "right"),
    [
        ("partial", "parquetdb", "update_some", 1, 9.0),
        ("partial", "sqlite", "update_some", 100_000, 6.5),
        ("partial", "mongodb", "update_some", 10, 0.004),
        ("needle", "sqlite", "find", 1_000_000, 0.330),
        ("needle", "sqlite", "find_indexed", 1_000_000, 0.002),
        ("needle", "mongodb", "find", 1_000_000, 0.850),
    ],
)
def test_figures_of_the_pages_are_there(
    workload: str, system: str, operation: str, rows: int, right: float
) -> None:
    assert seconds(workload, system, operation, rows) == right


def test_a_span_of_figures_is_said_at_its_point() -> None:
    assert "21 to 30 ms" in line("needle", "parquetdb", "find").points[0].note


@pytest.mark.parametrize("workload", WORKLOADS)
def test_published_lines_belong_to_operations_that_are_measured(workload: str) -> None:
    for publication in publications(workload):
        assert all(WORKLOADS[workload].has(operation) for operation in publication.operations)


def test_a_workload_that_nobody_published_has_no_lines() -> None:
    assert publications("scattered") == ()
