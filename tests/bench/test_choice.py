"""A benchmark's choice can be written as the command that runs it again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from lamella.app.cli import command_parser
from lamella.app.commands.bench import choice_of
from lamella.core.bench.engine.choice import Choice, Part, part_of, ready_systems
from lamella.core.bench.registry import WORKLOADS
from lamella.core.bench.workloads.tables import NEEDLE, PARTIAL, SMALL

SYSTEMS = ("lamella", "sqlite")


def asked_again(choice: Choice) -> list[Choice]:
    """Return the choice that the commands of a choice describe."""
    words = [shlex.split(command) for command in choice.commands]
    assert all(line[:2] == ["lamella", "bench"] for line in words)
    return [choice_of(command_parser("bench").parse_args(line[2:])) for line in words]


@pytest.mark.parametrize(
    "choice",
    [
        Choice((part_of(SMALL, SYSTEMS, [1, 10], 2),)),
        Choice((part_of(SMALL, SYSTEMS, scale="small"), part_of(NEEDLE, SYSTEMS, scale="small"))),
        Choice((part_of(SMALL, SYSTEMS, [1, 10], 2), part_of(NEEDLE, SYSTEMS, [1, 10], 2))),
        Choice((part_of(SMALL, SYSTEMS, [1, 10], 2), part_of(NEEDLE, ["sqlite"], [5], 1))),
        Choice((part_of(replace(PARTIAL, table_rows=500), SYSTEMS, [1, 10], 2),)),
        Choice((part_of(SMALL, SYSTEMS, [3]),), True, 5, Path("/a folder"), "pypy", 2.5, 10**9),
    ],
    ids=lambda choice: " and ".join(choice.workloads) + f" {choice.repeats}",
)
def test_the_commands_of_a_choice_ask_for_the_same(choice: Choice) -> None:
    again = asked_again(choice)
    assert tuple(part for part_choice in again for part in part_choice.parts) == choice.parts
    for part_choice in again:
        assert replace(part_choice, parts=(), words=()) == replace(choice, parts=(), words=())


def test_workloads_that_differ_in_nothing_else_share_a_command() -> None:
    alike = Choice(tuple(part_of(workload, SYSTEMS, scale="small") for workload in WORKLOADS.values()))
    assert len(alike.commands) == 1 and "--scale small" in alike.commands[0]


@pytest.mark.slow
def test_how_the_command_line_was_asked_is_kept() -> None:
    words = ("--workload", "entity,small", "--systems", "all", "--scale", "small", "--seed", "3")
    choice = choice_of(command_parser("bench").parse_args(list(words)))
    (command,) = choice.commands
    assert command.startswith("lamella bench --workload entity,small --systems all --scale small")
    assert asked_again(choice) == [choice]


def test_the_scales_are_the_workloads_own() -> None:
    small = part_of(PARTIAL, SYSTEMS, scale="small")
    assert (small.rows, small.repeats) == (PARTIAL.small_rows, PARTIAL.small_repeats)
    assert small.workload.table_rows == PARTIAL.small_table_rows
    published = part_of(PARTIAL, SYSTEMS, scale="published")
    assert (published.rows, published.workload) == (PARTIAL.published_rows, PARTIAL)
    own = part_of(PARTIAL, SYSTEMS)
    assert own == Part(PARTIAL, PARTIAL.default_rows, SYSTEMS, PARTIAL.default_repeats)


def test_ready_are_the_systems_that_take_a_workload() -> None:
    assert {"lamella", "sqlite"} <= {entry.id for entry in ready_systems(SMALL)}
    assert "sqlite-fts5" not in {entry.id for entry in ready_systems(SMALL)}
