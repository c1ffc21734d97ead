"""The workload that does in the real window what people do: its answers, and what is measured of each act."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pytestqt.qtbot import QtBot

from lamella.app import add_window_to_benchmark
from lamella.app.bootstrap import application
from lamella.app.cli import command_parser
from lamella.app.commands.bench import choice_of
from lamella.app.program import Program
from lamella.core.bench.engine.protocol import Failure, Message, UnsupportedStep
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import ENTRIES
from lamella.core.bench.results.report import text_report
from lamella.core.bench.workloads.window import WINDOW, answers_of
from lamella.core.transfer.generate import make

ROWS = 1_000


@pytest.fixture
def window_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests see the table of systems as the benchmark has it alone."""
    monkeypatch.setitem(ENTRIES, "lamella", ENTRIES["lamella"])
    add_window_to_benchmark()


@pytest.mark.slow
@pytest.mark.usefixtures("window_system")
def test_acts_in_the_window_are_measured_and_their_answers_right(tmp_path: Path) -> None:
    steps = ("open", "jump", "filter", "sort_filtered", "brush")
    messages: list[Message] = []
    workload = replace(WINDOW, steps=steps)
    records = run_workload(workload, [ROWS], ["lamella"], 1, tmp_path, messages.append)
    assert not [message for message in messages if isinstance(message, (Failure, UnsupportedStep))]
    measured = {record.operation: record for record in records}
    expected = {
        operation.id
        for operation in WINDOW.operations
        if operation.id.split("_")[0] in ("open", "filter", "brush")
    }
    assert measured.keys() == expected | {"jump", "jump_hold", "sort_filtered", "sort_filtered_hold"}
    assert len(measured["jump"].latencies) > 1 and measured["filter_hold"].seconds > 0
    assert all(record.peak_rss_bytes > 0 and record.columns == 20 for record in records)
    report = text_report(records)
    assert "Filter: longest hold" in report and "Peak memory" in report
    assert "Every timed answer equals the right one" in report


@pytest.mark.usefixtures("window_system")
def test_the_window_alone_takes_part_where_no_systems_are_named() -> None:
    choice = choice_of(command_parser("bench").parse_args(["--workload", "window"]))
    assert [part.systems for part in choice.parts] == [("lamella",)]
    assert "--systems lamella " in f"{choice.commands[0]} "


@pytest.mark.slow
def test_the_program_has_its_window_measured(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENTRIES, "lamella", replace(ENTRIES["lamella"], classes={"window": ""}))
    application()
    program = Program()
    program.window.show_benchmark()
    assert ENTRIES["lamella"].takes("window")
    program.window.close()
    program.window.deleteLater()


@pytest.mark.parametrize(
    ("column", "acts"),
    [
        ("total", {"filter", "jump_filtered", "sort_filtered", "group"}),
        ("customer_id", {"open", "filter", "sort", "sort_filtered", "jump", "jump_sorted", "jump_filtered"}),
        ("city", {"open", "group"}),
    ],
)
def test_another_value_is_another_answer(column: str, acts: set[str], tmp_path: Path) -> None:
    file = make("mixed", ROWS, tmp_path / "orders.parquet")
    right, table = answers_of(file), pq.read_table(file)
    changed_file = tmp_path / "other.parquet"
    place = table.column_names.index(column)
    values: pa.ChunkedArray = table[column]
    turned = values.take(pa.array(range(ROWS - 1, -1, -1))) if column == "city" else pc.add(values, 1000)
    pq.write_table(
        table.set_column(place, table.schema.field(column), turned.cast(values.type)), changed_file
    )
    wrong = answers_of(changed_file)
    assert acts <= {act for act in right if right[act] != wrong[act]}
