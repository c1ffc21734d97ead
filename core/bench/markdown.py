"""A race as Markdown: the machine, how each system was set up, a table per operation, what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.bench.backends import entry_named
from core.bench.environment import sentence
from core.bench.protocol import Failure, Unsupported
from core.bench.report import report_tables
from core.bench.results import Record
from core.bench.workloads import workload_named


def markdown_report(
    records: Sequence[Record],
    surroundings: Mapping[str, Mapping[str, Any]],
    lost: Iterable[Failure | Unsupported],
) -> str:
    """Of one workload. `surroundings` are as `diary.described` gives them, by backend."""
    parts = [machine_and_systems(surroundings), *tables(records), *lost_lines(lost)]
    return "\n\n".join(part for part in parts if part) + "\n"


def machine_and_systems(surroundings: Mapping[str, Mapping[str, Any]]) -> str:
    if not surroundings:
        return ""
    found = next(iter(surroundings.values()))
    versions = ", ".join(f"{name} {number}" for name, number in found["libraries"].items())
    systems = [
        f"- {entry_named(name).title} {one['version']}: {one['description']}."
        for name, one in sorted(surroundings.items())
    ]
    return "\n".join([f"Machine: {sentence(dict(found))}. Libraries: {versions}.", "", *systems])


def tables(records: Sequence[Record]) -> list[str]:
    """A heading and the tables of one workload."""
    if not records:
        return []
    asked = workload_named(records[0].workload)
    heading = f"### {asked.title}\n\n{asked.about}"
    return [heading, *(table.as_markdown() for table in report_tables(records))]


def lost_lines(lost: Iterable[Failure | Unsupported]) -> list[str]:
    """What failed and what could not be asked, each with its reason."""
    lines = [f"- {_told(one)}" for one in lost]
    return ["Not measured:\n\n" + "\n".join(lines)] if lines else []


def _told(one: Failure | Unsupported) -> str:
    if isinstance(one, Unsupported):
        return f"{entry_named(one.backend).title}, {one.step.replace('_', ' ')}: {one.reason}."
    step = one.operation.replace("_", " ")
    return f"{entry_named(one.backend).title}, {step}, {one.rows:,} rows: failed. {one.message}"
