"""Races as tables and as a page: what was won, what was lost, and how it was measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from core.bench.choice import Choice, part_of
from core.bench.kept_run import KeptRun, Recording
from core.bench.markdown import markdown_report
from core.bench.protocol import LIMIT, Failure, Measured, Message, Surroundings, Unsupported
from core.bench.report import report_tables, text_report
from core.bench.results import Record
from core.bench.standings import standings, standings_table
from core.bench.workloads import NEEDLE, SMALL
from tests.bench.made_records import record

MACHINE = {
    "processor": "A processor", "cores": 2, "memory_bytes": 24e9, "disk": {"type": "ext4"},
    "system": "Linux", "python": "CPython 3.11.2", "libraries": {"sqlite": "3.40.1"},
}  # fmt: skip


def test_the_report_has_a_line_per_size_and_a_gap_where_nothing_was_measured() -> None:
    records = [record("lamella", 0.5), record("sqlite", 1.0), record("lamella", 0.25, rows=10)]
    lines = text_report(records).splitlines()
    assert lines[0] == "Read (median)"
    assert lines[1].split() == ["rows", "Lamella", "SQLite", "(synchronous", "off)"]
    assert lines[2].split() == ["10", "250", "ms", "–"]
    assert lines[3].split() == ["1,000", "500", "ms", "1.00", "s", "[Lamella", "2.0", "×", "faster]"]
    assert text_report([]) == ""


def test_many_latencies_have_a_table_of_percentiles_and_a_rate() -> None:
    latencies = tuple(n / 1000 for n in range(1, 101))
    many = replace(record("sqlite", 0.05, operation="create"), latencies=latencies)
    times, found, sizes = report_tables([many])
    assert times.title == "Create (median)" and times.lines[0][1].startswith("50.5 ms")
    assert found.header == ("rows", "system", "samples", "mean", "p50", "p95", "p99", "per second")
    assert found.lines[0][2:] == ("100", "50.5 ms", "50.5 ms", "95.0 ms", "99.0 ms", "20")
    assert sizes.title == "Size on disk after: Create (median)" and sizes.lines[0][1] == "4.10 kB"


def test_the_first_call_of_a_question_and_its_later_ones_are_two_tables() -> None:
    asked = [record("sqlite", 0.9), replace(record("sqlite", 0.2), latencies=(0.1, 0.3))]
    titles = [table.title for table in report_tables(asked)]
    assert titles == ["Read, first (median)", "Read, again (median)", "Latencies: Read, again"]
    first, again, _ = report_tables(asked)
    assert first.lines == (("1,000", "900 ms"),)
    assert again.lines[0][1].startswith("200 ms")


def test_answers_that_nobody_knew_beforehand_are_told_with_who_agreed() -> None:
    def asked(backend: str, operation: str, rows: int = 1000) -> Record:
        return replace(record(backend, 0.5, rows=rows), workload="entity-indexes", operation=operation)

    both = [asked(name, "point_keys") for name in ("lamella", "sqlite", "duckdb")]
    (agreed,) = (table.lines for table in report_tables(both) if "known beforehand" in table.title)
    assert agreed == (("agreed by 3 systems", "all"),)
    text = text_report([*both, asked("lamella", "range_keys"), asked("sqlite", "range_keys", rows=10)])
    assert "alone: checked against nobody" in text
    assert "beforehand" not in text_report([record("lamella", 0.5)]), "those of whole tables are known"


def test_many_systems_stand_below_each_other() -> None:
    names = ("lamella", "sqlite", "sqlite-wal", "duckdb", "polars")
    (table,) = report_tables([record(name, 0.5, rows=rows) for name in names for rows in (10, 1000)])
    assert table.header == ("system", "10 rows", "1,000 rows")
    assert [line[0] for line in table.lines][:2] == ["Lamella", "SQLite (synchronous off)"]
    assert len(table.lines) == 5


def test_several_workloads_are_told_apart() -> None:
    found = replace(record("sqlite", 0.1, operation="find"), workload="needle")
    titles = [table.title for table in report_tables([record("sqlite", 0.5), found])]
    assert titles == ["Small benchmark: Read (median)", "Needle in a haystack: Find (median)"]


def test_standings_say_what_is_lost_before_what_is_won() -> None:
    times = {"read": {"lamella": 0.2, "sqlite": 0.1}, "query": {"lamella": 0.1, "sqlite": 0.4, "duckdb": 0.2}}
    records = [record(name, seconds, o) for o, found in times.items() for name, seconds in found.items()]
    lost, won = standings_table(standings(records)).lines
    assert lost == ("Read", "1,000", "200 ms", "2 of 2", "SQLite (synchronous off)", "100 ms", "2.0 × slower")
    assert won == ("Query", "1,000", "100 ms", "1 of 3", "DuckDB", "200 ms", "2.0 × faster")


def test_a_system_alone_has_no_standing() -> None:
    assert standings([record("lamella", 0.1)]) == [] == standings([])


def run_of(*messages: Message) -> KeptRun:
    parts = (part_of(SMALL, ["lamella", "sqlite"], [1000], 1), part_of(NEEDLE, ["sqlite"], [1000], 1))
    recording = Recording(Choice(parts, seed=11), datetime(2026, 3, 1, tzinfo=UTC))
    for message in messages:
        recording.hear(message)
    return recording.run()


def introduced(backend: str, workload: str, description: str = "as installed", **other: object) -> Message:
    return Surroundings(backend, "1.0", description, MACHINE | other, workload)


def needle(record: Record) -> Record:
    return replace(record, workload="needle", operation="find")


def test_the_page_says_how_to_run_it_again_on_what_and_with_what_set_up() -> None:
    page = markdown_report(
        run_of(
            introduced("lamella", "small"),
            introduced("sqlite", "small", "synchronous off"),
            introduced("sqlite", "needle", "with an index"),
            Measured(record("lamella", 0.2)),
            Measured(record("sqlite", 0.1)),
            Measured(needle(record("sqlite", 0.3))),
            Failure("small", "lamella", "query", 1000, 0, "Ended: the limit of 1 s passed", kind=LIMIT),
            Unsupported("needle", "sqlite", "index", "It has none"),
        )
    )
    assert "# Small benchmark and 1 more: Lamella, SQLite (synchronous off)" in page
    assert "lamella bench --workload small --backends lamella,sqlite --scale small" in page
    assert "--seed 11" in page and "2026-03-01" in page
    assert "Machine: A processor, 2 cores, 24 GB, ext4, Linux, CPython 3.11.2." in page
    assert "- Lamella 1.0: as installed." in page
    assert "SQLite (synchronous off), in Needle in a haystack: with an index." in page
    small, sought = page.index("## Small benchmark"), page.index("## Needle in a haystack")
    limit = page.index("Lamella, query, 1,000 rows: **limit**. Ended: the limit of 1 s passed")
    assert small < page.index("| Read | 1,000 | 200 ms | 2 of 2 |") < sought
    assert small < limit < sought
    assert page.index("SQLite (synchronous off), index: It has none.") > sought


def test_the_page_says_which_python_gave_which_figure_where_there_are_several() -> None:
    page = markdown_report(
        run_of(introduced("lamella", "small"), introduced("sqlite", "small", python="PyPy 7.3.19"))
    )
    assert "- Lamella 1.0 (CPython 3.11.2): as installed." in page
    assert "1.0 (PyPy 7.3.19): as installed." in page


def test_a_race_that_lost_everything_has_its_reasons_on_the_page() -> None:
    page = markdown_report(run_of(Failure("small", "lamella", "create", 1000, 0, "It fell over")))
    assert "## Small benchmark" in page and "**failed**. It fell over" in page
