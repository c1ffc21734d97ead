"""Benchmarks as tables and as a page: the wins, the losses, and how they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.protocol import (
    LIMIT,
    Failure,
    Measurement,
    Message,
    Surroundings,
    UnsupportedStep,
)
from lamella.core.bench.registry import ENTRIES
from lamella.core.bench.results.compare import standings
from lamella.core.bench.results.figures import NO_BREAK, ReportTable
from lamella.core.bench.results.markdown import markdown_report, not_measured_lines
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.report import (
    PAGE_COLUMNS,
    Grid,
    GridLine,
    overview_table,
    report_tables,
    text_report,
)
from lamella.core.bench.results.run import Recording, SavedRun
from lamella.core.bench.workloads.entity_memory import ENTITY_MEMORY
from lamella.core.bench.workloads.tables import NEEDLE, SMALL
from lamella.core.bench.workloads.taxi import TAXI
from tests.bench.example_records import record

MACHINE = {
    "processor": "A processor", "cores": 2, "memory_bytes": 24e9, "disk": {"type": "ext4"},
    "system": "Linux", "python": "CPython 3.11.2", "libraries": {"sqlite": "3.40.1"},
}  # fmt: skip


TIMES = "Times at 1,000 rows, 1 repeat"


def titled(records: Sequence[Record], start: str) -> ReportTable:
    """Return the only table with this title."""
    (table_,) = (table for table in report_tables(records) if table.title.startswith(start))
    return table_


def cells(line: Sequence[str]) -> list[str]:
    return [cell.replace(NO_BREAK, " ") for cell in line]


def test_one_table_a_size_has_a_line_for_each_operation_and_a_column_for_each_system() -> None:
    records = [
        record("lamella", 0.5), record("sqlite", 1.0), record("lamella", 0.2, "query"),
        record("sqlite", 0.1, "query"), record("sqlite", 0.3, "read_again"), record("lamella", 0.25, rows=10),
    ]  # fmt: skip
    small, large = report_tables(records)
    assert (small.title, small.lines) == ("Times at 10 rows, 1 repeat", (("Read", "250\xa0ms"),))
    assert large.title == f"{TIMES}. Of 2, Lamella is ahead in 1, behind in 1"
    titles = ("", "Lamella against the best other", "Lamella", "SQLite (synchronous off)")
    assert large.header == titles
    assert [cells(line) for line in large.lines] == [
        ["Read", "1 of 2, ÷ 2.0 SQLite (synchronous off)", "**500 ms**", "1.00 s ÷ 2.0"],
        ["Read again", "", "–", "300 ms"],
        ["Query", "2 of 2, × 2.0 SQLite (synchronous off)", "200 ms", "**100 ms** × 2.0"],
    ]


def test_in_a_terminal_cells_are_plain_and_names_stand_to_the_left() -> None:
    lines = text_report([record("lamella", 0.5), record("sqlite", 1.0)]).splitlines()
    assert lines[0].startswith(TIMES)
    assert lines[2].split() == ["Read", "500", "ms", "1.00", "s", "÷", "2.0"]
    assert not {"*", NO_BREAK} & set("".join(lines))
    assert lines[-2].startswith("Beside a time: ± is the standard deviation")
    assert text_report([]) == ""


def test_beside_a_median_stands_the_spread_of_its_samples() -> None:
    records = [record("sqlite", seconds, repeat=n) for n, seconds in enumerate((0.1, 0.2, 0.3))]
    table = titled(records, "Times at 1,000 rows, 3 repeats")
    assert cells(table.lines[0]) == ["Read", "200 ms ±41%"]


def test_bold_is_the_quickest_and_what_nobody_can_tell_from_it() -> None:
    records = [record("lamella", 0.102), record("sqlite", 0.1), record("duckdb", 0.2)]
    texts = cells(titled(records, TIMES).lines[0])
    assert texts[1] == "2 of 3, ≈ SQLite (synchronous off)"
    assert texts[2:] == ["**102 ms**", "**100 ms** ≈", "200 ms ÷ 2.0"]
    assert "level in 1" in titled(records, TIMES).title


def test_calls_timed_one_by_one_have_percentiles_and_a_rate_and_are_counted() -> None:
    latencies = tuple(n / 1000 for n in range(1, 101))
    many = replace(record("sqlite", 0.05, operation="create"), latencies=latencies)
    fewer = replace(many, system="lamella", latencies=latencies[:50])
    report = titled([many, fewer], "Calls timed one by one")
    assert cells(report.lines[0]) == [
        "Create, 50–100 calls",
        "25.5 ms / 47.5 ms / 49.5 ms, 39/s",
        "50.5 ms / 95.0 ms / 99.0 ms, 20/s",
    ]


def test_the_first_call_of_a_question_and_its_later_ones_are_neighbours() -> None:
    records = [record("sqlite", 0.9), replace(record("sqlite", 0.2), latencies=(0.1, 0.3))]
    times, calls = report_tables(records)
    assert [cells(line) for line in times.lines] == [
        ["Read, first", "900 ms"],
        ["Read, again", "200 ms ±50%"],
    ]
    assert [line[0] for line in calls.lines] == ["Read, again, 2 calls"], "the first is one call a repeat"


def test_sizes_on_disk_stand_in_one_table_with_what_they_were_taken_after() -> None:
    records = [
        replace(record(name, 0.5, "create", rows=rows), disk_bytes=size)
        for name, size in (("lamella", 1000), ("sqlite", 4000), ("duckdb", 0))
        for rows in (10, 1000)
    ]
    table = titled(records, "Size on disk (medians)")
    assert [cells(line) for line in table.lines] == [
        [f"after Create, {rows} rows", "**1.00 KB**", "4.00 KB ÷ 4.0", "0 B"] for rows in ("10", "1,000")
    ]


def test_memory_is_told_of_what_was_asked_for_it() -> None:
    memory_records = [
        replace(record(name, 0.5), workload="entity-memory", operation="read")
        for name in ("lamella", "polars")
    ]
    operation = next(operation_.id for operation_ in ENTITY_MEMORY.operations if operation_.holds)
    report = titled(
        [replace(sample, operation=operation, peak_rss_bytes=2_000_000) for sample in memory_records],
        "Peak memory",
    )
    assert cells(report.lines[0])[1:] == ["**2.00 MB**", "**2.00 MB** ≈"]


def test_answers_that_nobody_knew_beforehand_are_told_with_who_agreed() -> None:
    def asked(system: str, operation: str, rows: int = 1000) -> Record:
        return replace(record(system, 0.5, rows=rows), workload="entity-indexes", operation=operation)

    both = [asked(name, "point_keys") for name in ("lamella", "sqlite", "duckdb")]
    (agreed,) = (table.lines for table in report_tables(both) if "known beforehand" in table.title)
    assert agreed == (("agreed by 3 systems", "all"),)
    text = text_report([*both, asked("lamella", "range_keys"), asked("sqlite", "range_keys", rows=10)])
    assert "alone, with nothing to check against" in text
    assert "beforehand" not in text_report([record("lamella", 0.5)]), "those of whole tables are known"


def test_many_systems_stand_below_each_other_and_no_table_is_wider_than_a_page() -> None:
    names = list(ENTRIES)[: PAGE_COLUMNS + 1]
    operations = [operation.id for operation in TAXI.operations] * 2
    wide = [replace(record(name, 0.5), workload="taxi", operation=o) for name in names for o in operations]
    (table,) = (candidate for candidate in report_tables(wide) if candidate.title.startswith("Times"))
    assert [line[0] for line in table.lines] == [
        "Lamella against the best other", *(ENTRIES[name].title for name in names)
    ]  # fmt: skip
    assert table.header == ("", *(operation.title for operation in TAXI.operations))
    few = [record(name, 0.5) for name in names[:PAGE_COLUMNS]]
    assert len(titled(few, TIMES).header) == 2 + PAGE_COLUMNS


def test_many_operations_of_many_systems_go_on_in_further_tables() -> None:
    lines = [GridLine(f"Operation {n}", {name: str(n) for name in ENTRIES}) for n in range(9)]
    first, second, third = Grid("Times", "lamella", lines).tables(4)
    assert (first.title, second.title) == ("Times", "Times, continued")
    assert [len(table.header) for table in (first, second, third)] == [4, 4, 4]
    assert [cell for table in (first, second, third) for cell in table.lines[0][1:]] == list("012345678")


def test_cells_that_hold_much_stand_beside_half_as_many() -> None:
    lines = [GridLine(f"Operation {n}", dict.fromkeys(list(ENTRIES)[:4], "1 / 2 / 3")) for n in range(3)]
    assert len(Grid("Times", "lamella", lines, wide=True).tables(8)) == 1
    assert [len(table.header) for table in Grid("Times", "lamella", lines, wide=True).tables(4)] == [3, 2]


def test_several_workloads_are_told_apart() -> None:
    finding = replace(record("sqlite", 0.1, operation="find"), workload="needle")
    titles = [table.title for table in report_tables([record("sqlite", 0.5), finding])]
    assert titles == [f"Small benchmark: {TIMES}", f"Needle in a haystack: {TIMES}"]


def test_the_overview_says_what_is_lost_beside_what_is_won() -> None:
    times = {"read": {"lamella": 0.2, "sqlite": 0.1}, "query": {"lamella": 0.1, "sqlite": 0.4, "duckdb": 0.2}}
    records = [
        record(name, seconds, o) for o, by_system in times.items() for name, seconds in by_system.items()
    ]
    (line,) = overview_table(records).lines
    assert cells(line) == [
        *("[Small benchmark](#small-benchmark)", "1,000", "Lamella", "1", "0", "1"),
        *("Read × 2.0 SQLite (synchronous off)", "Query ÷ 2.0 DuckDB"),
    ]
    assert not overview_table([record("lamella", 0.1)]).lines


def test_a_system_alone_has_no_standing() -> None:
    assert standings([record("lamella", 0.1)]) == [] == standings([])


def run_of(*messages: Message) -> SavedRun:
    parts = (part_of(SMALL, ["lamella", "sqlite"], [1000], 1), part_of(NEEDLE, ["sqlite"], [1000], 1))
    recording = Recording(Choice(parts, seed=11), datetime(2026, 3, 1, tzinfo=UTC))
    for message in messages:
        recording.receive(message)
    return recording.run()


def introduced(
    system: str, workload: str, description: str = "as installed", **environment: object
) -> Message:
    return Surroundings(system, "1.0", description, MACHINE | environment, workload)


def needle(record: Record) -> Record:
    return replace(record, workload="needle", operation="find")


def test_the_page_says_how_to_run_it_again_on_what_and_with_what_set_up() -> None:
    page = markdown_report(
        run_of(
            introduced("lamella", "small"),
            introduced("sqlite", "small", "synchronous off"),
            introduced("sqlite", "needle", "with an index"),
            Measurement(record("lamella", 0.2)),
            Measurement(record("sqlite", 0.1)),
            Measurement(needle(record("sqlite", 0.3))),
            Failure("small", "lamella", "query", 1000, 0, "Ended: the limit of 1 s passed", kind=LIMIT),
            UnsupportedStep("needle", "sqlite", "index", "It has none"),
        )
    )
    assert "# Small benchmark and 1 more: Lamella, SQLite (synchronous off)" in page
    assert "lamella bench --workload small --systems lamella,sqlite --scale small" in page
    assert "--seed 11" in page and "2026-03-01" in page
    assert "Machine: A processor, 2 cores, 24 GB, ext4, Linux, CPython 3.11.2." in page
    assert "- Lamella 1.0: as installed." in page
    assert "SQLite (synchronous off), in Needle in a haystack: with an index." in page
    appendix = page.index("## Appendix")
    assert (
        page.index("--seed 11")
        < page.index("Machine: ")
        < appendix
        < page.index("- Lamella 1.0: as installed")
    )
    assert page.index("**Small benchmark.** Lamella is") < page.index("--seed 11")
    small, sought = page.index("## Small benchmark"), page.index("## Needle in a haystack")
    limit = page.index("Lamella, query, 1,000 rows: **limit**. Ended: the limit of 1 s passed")
    assert page.index("| [Small benchmark](#small-benchmark) | 1,000 | Lamella |") < small
    assert small < page.replace(NO_BREAK, " ").index("| Read | 2 of 2, × 2.0 SQLite") < sought
    assert small < limit < sought
    assert page.index("SQLite (synchronous off), index: It has none.") > sought


def test_the_page_says_which_python_gave_which_figure_where_there_are_several() -> None:
    page = markdown_report(
        run_of(introduced("lamella", "small"), introduced("sqlite", "small", python="PyPy 7.3.19"))
    )
    assert "- Lamella 1.0 (CPython 3.11.2): as installed." in page
    assert "1.0 (PyPy 7.3.19): as installed." in page


def test_a_benchmark_that_lost_everything_has_its_reasons_on_the_page() -> None:
    page = markdown_report(run_of(Failure("small", "lamella", "create", 1000, 0, "It fell over")))
    assert "## Small benchmark" in page and "**failed**. It fell over" in page


def test_a_reason_is_told_once_with_all_that_it_stands_for() -> None:
    lost = [
        UnsupportedStep("small", "h5py", "update_one", "It has none."),
        UnsupportedStep("small", "h5py", "delete_one", "It has none."),
        *(Failure("small", "h5py", "read", 10, repeat, "It fell over.") for repeat in range(2)),
        Failure("small", "h5py", "read", 1000, 0, "It fell over."),
    ]
    (text,) = not_measured_lines(lost)
    assert text.splitlines()[2:] == [
        "- h5py, update one; delete one: It has none.",
        "- h5py, read, 10 rows (2 times); read, 1,000 rows: **failed**. It fell over.",
    ]


def test_markdown_has_figures_to_the_right_and_keeps_its_columns_whatever_the_cells_hold() -> None:
    table = ReportTable("T", ("", "took", "what"), (("a|b", "1.5 ms", "x"), ("c", "–", "2 | 3")))
    assert table.as_markdown().splitlines()[2:] == [
        "|  | took | what |", "|:---|---:|:---|", r"| a\|b | 1.5 ms | x |", r"| c | – | 2 \| 3 |"
    ]  # fmt: skip
