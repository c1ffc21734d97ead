"""Answers are checked in the way that each workload says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lamella.core.bench.engine.choice import Choice, part_of
from lamella.core.bench.engine.judge import Judge, expectations
from lamella.core.bench.engine.protocol import WRONG, Failure, Message
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.registry import FAMILIES, WORKLOADS, family_of
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import Record
from lamella.core.bench.results.report import points_of, shown_check, text_report
from lamella.core.bench.results.run import Recording, SavedRun
from lamella.core.bench.workloads.model import Check
from lamella.core.bench.workloads.user_script import load_file
from lamella.core.bench.workloads.user_table import USER_TABLE
from tests.bench.example_records import BEGAN, USER_SCRIPT, record

ODD = "tests.bench.odd_systems:"
ROWS = 20


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_workload_says_of_its_answers_is_how_they_are_judged(name: str) -> None:
    workload = WORKLOADS[name].at_small_scale()
    known = list(expectations(workload, [operation_.id for operation_ in workload.operations], ROWS))
    for operation in workload.operations:
        judge = Judge()
        for message in known:
            judge.learn(message)
        lies = [
            replace(record(system, 0.1, operation.id, ROWS), workload=name, checksum=f"1:by {system}")
            for system in ("sqlite", "lamella")
        ]
        first, second = map(judge.objection, lies)
        assert second is not None and second.kind == WRONG
        if workload.check is Check.COMPUTED:
            assert first is not None and first.kind == WRONG, "wrong though nobody answered before"
        else:
            assert workload.check is Check.AGREED and first is None


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_says_how_its_answers_were_checked(name: str) -> None:
    """It is said before a run, for one system and for several, and in both reports."""
    workload = WORKLOADS[name]
    assert shown_check(workload, ()) == workload.check.sentence
    operation = workload.operations[0].id
    alone, second = (
        replace(record(system, 0.1, operation, ROWS), workload=name) for system in ("sqlite", "lamella")
    )
    known = workload.check is not Check.AGREED
    for records, agreed in (
        ([alone], "from SQLite (synchronous off) alone, with nothing to check against"),
        ([alone, second], "agreed by 2 systems"),
    ):
        said = f"equals the right one, {workload.check.value}" if known else agreed
        run = SavedRun(BEGAN, name, "lamella bench", 1.0, None, tuple(records))
        for text in (shown_check(workload, points_of(records)), text_report(records), markdown_report(run)):
            assert said in text


def test_answers_are_known_beforehand_where_a_family_computes_them() -> None:
    """This includes the user's own table and script."""
    for workload in (*WORKLOADS.values(), USER_TABLE):
        assert (workload.check is Check.AGREED) == (family_of(workload).answers is None)
    assert USER_TABLE.check is Check.BY_DUCKDB
    assert {workload.family for workload in (*WORKLOADS.values(), USER_TABLE)} == set(FAMILIES) - {"own"}


def test_systems_of_a_script_have_to_agree(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(USER_SCRIPT, encoding="utf-8")
    workload = load_file(path)
    assert workload.check is Check.AGREED and family_of(workload).answers is None


def of_indexes(*pairs: tuple[str, str]) -> list[Record]:
    sample = replace(record("sqlite", 0.1), workload="entity-indexes")
    return [replace(sample, system=system, operation=operation) for system, operation in pairs]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "not known in advance: the systems have to agree"),
        (
            of_indexes(("sqlite", "point_keys")),
            "from SQLite (synchronous off) alone, with nothing to check against",
        ),
        (of_indexes(("sqlite", "point_keys"), ("duckdb", "point_keys")), "they are agreed by 2 systems."),
        (
            of_indexes(("sqlite", "point_keys"), ("duckdb", "point_keys"), ("duckdb", "range_keys")),
            "Agreed by 2 systems: ",
        ),
    ],
)
def test_systems_that_agreed_are_counted(records: list[Record], said: str) -> None:
    assert said in shown_check(WORKLOADS["entity-indexes"], points_of(records))


def test_reports_say_how_answers_were_checked() -> None:
    records = [record("sqlite", 0.1), *of_indexes(("sqlite", "point_keys"), ("duckdb", "point_keys"))]
    known = "Every timed answer equals the right one, computed from the data."
    agreed = "The right answers were not known beforehand; they are agreed by 2 systems."
    run = SavedRun(BEGAN, "Two workloads", "lamella bench", 1.0, None, tuple(records))
    for text in (text_report(records), markdown_report(run)):
        assert known in text and agreed in text


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("workload", "liar", "operation"),
    [("small", "Liar", "read"), ("entity-indexes", "LyingIndexes", "range_keys")],
)
def test_lies_are_failures_without_a_time(workload: str, liar: str, operation: str, tmp_path: Path) -> None:
    heard: list[Message] = []
    records = run_workload(
        workload, [40], [ODD + liar, "sqlite"], repeats=1, folder=tmp_path, on_event=heard.append
    )
    wrong = [message for message in heard if isinstance(message, Failure) and message.operation == operation]
    assert wrong and {message.kind for message in wrong} == {WRONG}
    assert len({message.system for message in wrong}) == 1, "one of the two is against the other"
    timed = {message.system for message in records if message.operation == operation}
    assert timed == {ODD + liar, "sqlite"} - {message.system for message in wrong}


@pytest.mark.slow
def test_a_system_that_lies_once_has_no_time_for_its_right_answers(tmp_path: Path) -> None:
    name, choice = ODD + "SometimesLiar", Choice((part_of(WORKLOADS["small"], ["sqlite"], [ROWS], 4),))
    recording = Recording(choice)
    records = run_workload(
        "small", [ROWS], [name, "sqlite"], repeats=4, folder=tmp_path, on_event=recording.receive
    )
    wrong = {failure.operation for failure in recording.failures}
    assert {(failure.kind, failure.system, failure.repeat) for failure in recording.failures} == {
        (WRONG, name, 1)
    }
    assert wrong == {"read", "create", "create_with_preparation"}, "reading says what was created"
    assert list(recording.run().records) == records
    timed = {
        operation: {message.system for message in records if message.operation == operation}
        for operation in wrong
    }
    assert timed == {operation: {"sqlite"} for operation in wrong}
    assert {
        message.repeat for message in records if (message.system, message.operation) == (name, "query")
    } == {0, 1, 2, 3}
