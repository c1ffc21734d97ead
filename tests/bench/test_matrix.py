"""The matrix of rivals and operations, and the sentence over it."""

from __future__ import annotations

from collections.abc import Iterable

from lamella.core.bench.engine.protocol import WRONG, Failure, UnsupportedStep
from lamella.core.bench.registry import workload_named
from lamella.core.bench.results.matrix import (
    ABSENT,
    AHEAD,
    BEHIND,
    FAILED,
    LEVEL,
    UNSURE,
    Cell,
    Matrix,
    matrix_of,
)
from lamella.core.bench.results.records import Record, Tally

SMALL = workload_named("small")


def record(
    system: str, operation: str, seconds: float, repeat: int = 0, rows: int = 10, disk: int = 990
) -> Record:
    return Record(
        "small", system, operation, rows, 100, repeat, seconds, seconds, 9_000_000, disk, "1:0", "cold"
    )


def times(system: str, operation: str, *seconds: float) -> list[Record]:
    return [record(system, operation, value, repeat) for repeat, value in enumerate(seconds)]


def of(records: Iterable[Record], *failures: Failure, unsupported: Iterable[UnsupportedStep] = ()) -> Matrix:
    return matrix_of(SMALL, Tally(records), 10, "median", None, failures, unsupported)


def cell(matrix: Matrix, rival: str, title: str) -> Cell:
    return next(matrix.cells[rival, column] for column in matrix.columns if column.title == title)


def test_each_cell_says_who_is_ahead_and_by_how_much() -> None:
    matrix = of([
        *times("lamella", "read", 0.10, 0.11, 0.12), *times("sqlite", "read", 0.95, 0.97, 0.99),
        *times("lamella", "create", 0.30, 0.31, 0.32), *times("sqlite", "create", 0.10, 0.10, 0.10),
    ])  # fmt: skip
    assert cell(matrix, "sqlite", "Read").outcome == AHEAD
    assert cell(matrix, "sqlite", "Read").text == "▲ 8.8 × faster"
    assert cell(matrix, "sqlite", "Create").text == "▼ 3.1 × slower"
    assert cell(matrix, "sqlite", "Create").outcome == BEHIND
    assert "110 ms against 970 ms" in cell(matrix, "sqlite", "Read").sentence("Lamella")
    assert matrix.verdict == (
        "Lamella is faster than SQLite in 1 of 2 operations at 10 rows; slower in: Create 3.1 ×."
    )


def test_samples_whose_spreads_overlap_decide_nothing() -> None:
    matrix = of([
        *times("lamella", "read", 0.10, 0.20, 0.30), *times("sqlite", "read", 0.15, 0.25, 0.35),
        *times("lamella", "query", 0.100, 0.100, 0.100), *times("sqlite", "query", 0.102, 0.102, 0.102),
    ])  # fmt: skip
    assert cell(matrix, "sqlite", "Read").outcome == UNSURE
    assert "spreads of Lamella and SQLite" in cell(matrix, "sqlite", "Read").sentence("Lamella")
    assert cell(matrix, "sqlite", "Query").outcome == LEVEL
    assert "in 0 of 2 operations" in matrix.verdict and "level in 2" in matrix.verdict


def test_of_several_rivals_the_best_one_counts_and_is_named() -> None:
    matrix = of([
        *times("lamella", "read", 0.2), *times("sqlite", "read", 0.1), *times("duckdb", "read", 0.4),
        *times("lamella", "query", 0.1), *times("sqlite", "query", 0.3), *times("duckdb", "query", 0.2),
    ])  # fmt: skip
    assert (
        matrix.verdict
        == "Lamella is fastest in 1 of 2 operations at 10 rows; slower in: Read 2.0 × (SQLite)."
    )


def test_a_wrong_answer_stands_in_its_cell_and_is_never_a_figure() -> None:
    wrong = Failure("small", "sqlite", "read", 10, 0, "1 instead of 2", kind=WRONG)
    cannot = UnsupportedStep("small", "csv", "query", "it has no queries")
    matrix = of(
        [*times("lamella", "read", 0.1), *times("lamella", "query", 0.1), *times("csv", "read", 0.2)],
        wrong,
        unsupported=[cannot],
    )
    assert matrix.rivals == ("sqlite", "csv")
    assert cell(matrix, "sqlite", "Read").outcome == FAILED
    assert cell(matrix, "sqlite", "Read").text == "✕ wrong answer"
    assert cell(matrix, "csv", "Query").outcome == ABSENT
    assert "no queries" in cell(matrix, "csv", "Query").sentence("Lamella")
    assert matrix.verdict.startswith("Lamella is fastest in 1 of 1 operation ")


def test_sizes_on_disk_are_a_column_of_their_own() -> None:
    matrix = of([record("lamella", "create", 0.1, disk=1000), record("sqlite", "create", 0.2, disk=3000)])
    assert cell(matrix, "sqlite", "Size on disk").text == "▲ 3.0 × smaller"
    assert matrix.verdict.endswith("; 3.0 × smaller than SQLite on disk.")
    assert "| against SQLite" in matrix.table().as_markdown()


def test_one_system_alone_and_nothing_at_all_are_said() -> None:
    assert of(times("lamella", "read", 0.1)).verdict == "Only Lamella was measured at 10 rows."
    assert of([]).verdict == ""
