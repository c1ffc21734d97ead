"""One system against its rivals at one size: a ratio for each operation, and the verdict over all of them.

Spreads are those of an error bar (`records.spread`): where two overlap, samples cannot say who is ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lamella.core.bench.engine.protocol import Failure, Unsupported
from lamella.core.bench.registry import entry_named, family_of
from lamella.core.bench.results.figures import (
    EQUAL_WITHIN,
    ReportTable,
    in_order,
    shown_bytes,
    shown_factor,
    shown_rows,
    shown_seconds,
)
from lamella.core.bench.results.records import AGAIN, STATISTICS, Point, Summary, Tally, spread
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import QuestionCycle

AHEAD, BEHIND, LEVEL, UNSURE, FAILED, ABSENT = "ahead", "behind", "level", "unsure", "failed", "absent"
"""What a cell says of the subject. LEVEL is within 5%, UNSURE has spreads that overlap, FAILED has a failure
of the rival or of the subject in place of a figure, ABSENT nothing."""

SIGNS = {AHEAD: "▲", BEHIND: "▼", LEVEL: "≈", UNSURE: "≈", FAILED: "✕", ABSENT: "–"}
MOST_LOSSES = 4
"""Named in a verdict; the others are counted."""

DISK = "disk_bytes"


@dataclass(frozen=True)
class Column:
    """An operation's time, or the size on disk after it. `field` is that of a record."""

    operation: Operation
    field: str = "seconds"

    @property
    def title(self) -> str:
        return "Size on disk" if self.field == DISK else self.operation.title

    @property
    def about(self) -> str:
        return f"After: {self.operation.title}" if self.field == DISK else self.operation.about

    def shown(self, value: float) -> str:
        return shown_bytes(value) if self.field == DISK else shown_seconds(value)

    def word(self, ahead: bool) -> str:
        words = ("smaller", "larger") if self.field == DISK else ("faster", "slower")
        return words[0] if ahead else words[1]


@dataclass(frozen=True)
class Cell:
    """The subject against one rival. `own` and `other` are seconds or bytes, 0 where there is no figure;
    `note` says why there is none."""

    column: Column
    rival: str
    outcome: str
    own: float = 0.0
    other: float = 0.0
    note: str = ""

    @property
    def factor(self) -> float:
        """How many times less the subject takes; below 1, more. 0 where there is no figure."""
        return self.other / self.own if self.own else 0.0

    @property
    def times(self) -> float:
        """At least 1, whoever is ahead."""
        return max(self.factor, 1 / self.factor) if self.factor else 0.0

    @property
    def text(self) -> str:
        """ "▲ 8.6 × faster", "≈ level", "✕ wrong answer"."""
        words = {LEVEL: "level", FAILED: self.note.partition(":")[0], ABSENT: ""}.get(self.outcome)
        if words is None:
            ahead = self.factor >= 1
            words = f"{shown_factor(self.times)} × {self.column.word(ahead)}"
        return f"{SIGNS[self.outcome]} {words}".strip()

    @property
    def short_text(self) -> str:
        """ "▲ 8.6 ×": where there is no room for the word."""
        if self.outcome in (AHEAD, BEHIND, UNSURE):
            return f"{SIGNS[self.outcome]} {shown_factor(self.times)} ×"
        return SIGNS[self.outcome] if self.outcome == FAILED else self.text

    def sentence(self, subject: str) -> str:
        """Of the subject's title, for a tooltip."""
        if not self.own:
            return self.note or "Not measured"
        figures = f"{self.column.shown(self.own)} against {self.column.shown(self.other)}"
        rival = entry_named(self.rival).title
        if self.outcome == UNSURE:
            return f"{self.column.title}: spreads of {subject} and {rival} overlap ({figures})"
        if self.outcome == LEVEL:
            return f"{self.column.title}: {subject} is level with {rival} ({figures})"
        by = f"{shown_factor(self.times)} × {self.column.word(self.factor >= 1)}"
        return f"{self.column.title}: {subject} is {by} than {rival} ({figures})"


@dataclass(frozen=True)
class Matrix:
    """`subject` is Lamella where it took part, or else the first system; empty where nothing was measured."""

    rows: int
    subject: str
    rivals: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[str, Column], Cell]

    @property
    def title(self) -> str:
        """Of the subject."""
        return entry_named(self.subject).title if self.subject else ""

    @property
    def verdict(self) -> str:
        """One sentence over all cells; empty where nothing was measured at this size."""
        if not self.subject:
            return ""
        at = f"at {shown_rows(self.rows)}"
        if not self.rivals:
            return f"Only {self.title} was measured {at}."
        nearest = [cell for column in self.columns if (cell := self._nearest(column))]
        timed = [cell for cell in nearest if cell.column.field != DISK]
        if not timed:
            return f"No two systems have answered {at} yet."
        ahead = sum(cell.outcome == AHEAD for cell in timed)
        operations = "operation" if len(timed) == 1 else "operations"
        if len(self.rivals) == 1:
            rival = self.short_title(self.rivals[0])
            head = f"{self.title} is faster than {rival} in {ahead} of {len(timed)} {operations} {at}"
        else:
            head = f"{self.title} is fastest in {ahead} of {len(timed)} {operations} {at}"
        return "; ".join([head, *self._rest(nearest)]) + "."

    def short_title(self, system: str) -> str:
        """Without its configuration, where that leaves no two systems of the same name."""
        short = [entry_named(name).title.partition(" (")[0] for name in (self.subject, *self.rivals)]
        own = entry_named(system).title
        return own.partition(" (")[0] if short.count(own.partition(" (")[0]) == 1 else own

    def _rest(self, nearest: list[Cell]) -> list[str]:
        level = sum(cell.outcome in (LEVEL, UNSURE) for cell in nearest if cell.column.field != DISK)
        behind = sorted((c for c in nearest if c.outcome == BEHIND and c.column.field != DISK), key=_factor)
        told = [f"level in {level}"] if level else []
        if behind:
            told.append(f"slower in: {', '.join(map(self._loss, behind[:MOST_LOSSES]))}")
            if len(behind) > MOST_LOSSES:
                told[-1] += f" and {len(behind) - MOST_LOSSES} more"
        size = next((cell for cell in nearest if cell.column.field == DISK), None)
        if size is not None and size.outcome in (AHEAD, BEHIND):
            times = f"{shown_factor(size.times)} ×"
            rival = self.short_title(size.rival)
            told.append(f"{times} {size.column.word(size.outcome == AHEAD)} than {rival} on disk")
        return told

    def _loss(self, cell: Cell) -> str:
        named = f" ({self.short_title(cell.rival)})" if len(self.rivals) > 1 else ""
        return f"{cell.column.title} {shown_factor(cell.times)} ×{named}"

    def _nearest(self, column: Column) -> Cell | None:
        """Against the best rival of a column."""
        cells = (self.cells[rival, column] for rival in self.rivals)
        return min((cell for cell in cells if cell.own), key=_factor, default=None)

    def table(self) -> ReportTable:
        """Rivals down, columns across."""
        lines = (
            (
                f"against {entry_named(rival).title}",
                *(self.cells[rival, column].text for column in self.columns),
            )
            for rival in self.rivals
        )
        titles = tuple(column.title for column in self.columns)
        return ReportTable(f"{self.title} at {shown_rows(self.rows)}", ("", *titles), tuple(lines))


def _factor(cell: Cell) -> float:
    return cell.factor


def usual_samples(workload: Workload) -> str | None:
    """A question's first call and those after it are two things: of these, the calls after it."""
    return AGAIN if issubclass(family_of(workload).cycle, QuestionCycle) else None


def matrix_of(
    workload: Workload,
    tally: Tally,
    rows: int,
    statistic: str = "median",
    samples: str | None = None,
    failures: Iterable[Failure] = (),
    unsupported: Iterable[Unsupported] = (),
) -> Matrix:
    """At one size. `samples` is a key of `records.SAMPLES`."""
    times, sizes = tally.summaries("seconds", samples), tally.summaries(DISK)
    lost = _reasons(failures, unsupported, rows)
    systems = in_order({b for _, b, r in times if r == rows} | {b for b, _ in lost})
    measured = [name for name in systems if any(b == name and r == rows for _, b, r in times)]
    if not measured:
        return Matrix(rows, "", (), (), {})
    subject = systems[0] if systems[0] in measured else measured[0]
    columns = _columns(workload, tally)
    rivals = tuple(name for name in systems if name != subject)
    cells = {
        (rival, column): _cell(column, rows, subject, rival, sizes if column.field == DISK else times,
                               statistic, lost)
        for rival in rivals
        for column in columns
    }  # fmt: skip
    return Matrix(rows, subject, rivals, columns, cells)


def _columns(workload: Workload, tally: Tally) -> tuple[Column, ...]:
    """Of what was measured, and the size after the first operation that changes it."""
    measured = [one for one in workload.operations if one.id in tally.operations]
    resizing = next((one for one in measured if one.resizes), None)
    return (*map(Column, measured), *([Column(resizing, DISK)] if resizing else []))


def _reasons(
    failures: Iterable[Failure], unsupported: Iterable[Unsupported], rows: int
) -> dict[tuple[str, str], tuple[str, str]]:
    """By system and operation: the outcome and its note."""
    told = {(one.backend, one.step): (ABSENT, f"cannot: {one.reason}") for one in unsupported}
    return told | {
        (one.backend, one.operation): (FAILED, f"{one.kind}: {one.message}")
        for one in failures
        if one.rows == rows
    }


def _cell(
    column: Column,
    rows: int,
    subject: str,
    rival: str,
    points: Mapping[Point, Summary],
    statistic: str,
    lost: Mapping[tuple[str, str], tuple[str, str]],
) -> Cell:
    operation = column.operation.id
    own, other = points.get((operation, subject, rows)), points.get((operation, rival, rows))
    values = [STATISTICS[statistic](one) if one else 0.0 for one in (own, other)]
    if own is None or other is None or not all(values):
        at_fault = rival if other is None else subject
        outcome, note = lost.get((at_fault, operation), (ABSENT, ""))
        return Cell(column, rival, outcome, note=f"{entry_named(at_fault).title}, {note}" if note and
                    at_fault == subject else note)  # fmt: skip
    return Cell(column, rival, _outcome(own, other, statistic, values[1] / values[0]), values[0], values[1])


def _outcome(own: Summary, other: Summary, statistic: str, factor: float) -> str:
    if 1 / EQUAL_WITHIN < factor < EQUAL_WITHIN:
        return LEVEL
    (low, high), (rival_low, rival_high) = spread(own, statistic), spread(other, statistic)
    if low <= rival_high and rival_low <= high:
        return UNSURE
    return AHEAD if factor > 1 else BEHIND
