"""One system against its rivals at one size: a ratio for each operation, and a verdict over all of them.

Spreads are those of an error bar (`records.spread`): if two overlap, the samples cannot tell which is ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from lamella.core.bench.engine.protocol import Failure, UnsupportedStep
from lamella.core.bench.registry import entry_named, family_of
from lamella.core.bench.results.figures import (
    EQUAL_WITHIN,
    ReportTable,
    in_order,
    short_titles,
    shown_bytes,
    shown_factor,
    shown_rows,
    shown_seconds,
)
from lamella.core.bench.results.records import AGAIN, STATISTICS, Summary, Tally, spread
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.questions import QuestionCycle

AHEAD, BEHIND, LEVEL, UNSURE, FAILED, ABSENT = "ahead", "behind", "level", "unsure", "failed", "absent"
"""The outcomes of a cell, for the subject. LEVEL is within 5%, UNSURE has spreads that overlap, FAILED has a
failure of the rival or the subject instead of a figure, ABSENT has nothing."""

SIGNS = {AHEAD: "▲", BEHIND: "▼", LEVEL: "≈", UNSURE: "≈", FAILED: "✕", ABSENT: "–"}
MOST_LOSSES = 4
"""The maximum number of losses that a verdict names; the others are counted."""

DISK = "disk_bytes"


@dataclass(frozen=True)
class Column:
    """An operation's time, or the size on disk after it. `field` is that of a record."""

    operation: Operation
    field: str = "seconds"

    def __hash__(self) -> int:
        return hash((self.operation.id, self.field))

    @property
    def title(self) -> str:
        return "Size on disk" if self.field == DISK else self.operation.title

    @property
    def about(self) -> str:
        return f"After: {self.operation.title}" if self.field == DISK else self.operation.about

    def text_of(self, value: float) -> str:
        return shown_bytes(value) if self.field == DISK else shown_seconds(value)

    def word(self, ahead: bool) -> str:
        words = ("smaller", "larger") if self.field == DISK else ("faster", "slower")
        return words[0] if ahead else words[1]


@dataclass(frozen=True)
class Cell:
    """The subject against one rival. `value` and `rival_value` are seconds or bytes, or 0 if there is no
    figure; `note` says why there is none."""

    column: Column
    rival: str
    outcome: str
    value: float = 0.0
    rival_value: float = 0.0
    note: str = ""

    @property
    def factor(self) -> float:
        """How many times less the subject takes; below 1, it takes more. 0 if there is no figure."""
        return self.rival_value / self.value if self.value else 0.0

    @property
    def times(self) -> float:
        """The factor as at least 1, whichever is ahead."""
        return max(self.factor, 1 / self.factor) if self.factor else 0.0

    @property
    def text(self) -> str:
        """The outcome in words: "▲ 8.6 × faster", "≈ level", "✕ wrong answer"."""
        words = {LEVEL: "level", FAILED: self.note.partition(":")[0], ABSENT: ""}.get(self.outcome)
        if words is None:
            ahead = self.factor >= 1
            words = f"{shown_factor(self.times)} × {self.column.word(ahead)}"
        return f"{SIGNS[self.outcome]} {words}".strip()

    @property
    def short_text(self) -> str:
        """The outcome without the word, for narrow cells: "▲ 8.6 ×"."""
        if self.outcome in (AHEAD, BEHIND, UNSURE):
            return f"{SIGNS[self.outcome]} {shown_factor(self.times)} ×"
        return SIGNS[self.outcome] if self.outcome == FAILED else self.text

    def sentence(self, subject: str) -> str:
        """The outcome as a sentence with the subject's title, for a tooltip."""
        if not self.value:
            return self.note or "Not measured"
        figures = f"{self.column.text_of(self.value)} against {self.column.text_of(self.rival_value)}"
        rival = entry_named(self.rival).title
        if self.outcome == UNSURE:
            return f"{self.column.title}: spreads of {subject} and {rival} overlap ({figures})"
        if self.outcome == LEVEL:
            return f"{self.column.title}: {subject} is level with {rival} ({figures})"
        by = f"{shown_factor(self.times)} × {self.column.word(self.factor >= 1)}"
        return f"{self.column.title}: {subject} is {by} than {rival} ({figures})"


@dataclass(frozen=True)
class Matrix:
    """`subject` is Lamella if it took part, or the first system; empty if nothing was measured."""

    rows: int
    subject: str
    rivals: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[str, Column], Cell]

    @property
    def title(self) -> str:
        """The title of the subject."""
        return entry_named(self.subject).title if self.subject else ""

    @property
    def verdict(self) -> str:
        """One sentence about all cells; empty if nothing was measured at this size."""
        if not self.subject:
            return ""
        at = f"at {shown_rows(self.rows)}"
        if not self.rivals:
            return f"Only {self.title} was measured {at}."
        nearest = [cell for column in self.columns if (cell := self.nearest(column))]
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
        return "; ".join([head, *self._remaining_lines(nearest)]) + "."

    def short_title(self, system: str) -> str:
        """The title without its configuration, unless two systems would have the same one."""
        return self._short_titles[system]

    @cached_property
    def _short_titles(self) -> dict[str, str]:
        names = (self.subject, *self.rivals)
        return dict(zip(names, short_titles([entry_named(name).title for name in names]), strict=True))

    def _remaining_lines(self, nearest: list[Cell]) -> list[str]:
        level = sum(cell.outcome in (LEVEL, UNSURE) for cell in nearest if cell.column.field != DISK)
        behind = sorted((c for c in nearest if c.outcome == BEHIND and c.column.field != DISK), key=_factor)
        parts = [f"level in {level}"] if level else []
        if behind:
            parts.append(f"slower in: {', '.join(map(self._loss, behind[:MOST_LOSSES]))}")
            if len(behind) > MOST_LOSSES:
                parts[-1] += f" and {len(behind) - MOST_LOSSES} more"
        size = next((cell for cell in nearest if cell.column.field == DISK), None)
        if size is not None and size.outcome in (AHEAD, BEHIND):
            times = f"{shown_factor(size.times)} ×"
            rival = self.short_title(size.rival)
            parts.append(f"{times} {size.column.word(size.outcome == AHEAD)} than {rival} on disk")
        return parts

    def _loss(self, cell: Cell) -> str:
        rival = f" ({self.short_title(cell.rival)})" if len(self.rivals) > 1 else ""
        return f"{cell.column.title} {shown_factor(cell.times)} ×{rival}"

    def nearest(self, column: Column) -> Cell | None:
        """The cell of the best rival in a column; None if no two systems have a figure."""
        cells = (self.cells[rival, column] for rival in self.rivals)
        return min((cell for cell in cells if cell.value), key=_factor, default=None)

    def table(self) -> ReportTable:
        """The matrix as a table, with a line for each rival."""
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


def asks_questions(workload: Workload) -> bool:
    """Whether a question's first call and later calls are distinguished."""
    return issubclass(family_of(workload).cycle, QuestionCycle)


def usual_samples(workload: Workload) -> str | None:
    """The samples to show by default: for questions, the calls after the first one, which differs."""
    return AGAIN if asks_questions(workload) else None


class Matrices:
    """The matrices of one benchmark. A cell stays the same object until new samples of either side come, so
    that a view knows what to redraw."""

    def __init__(self, workload: Workload, tally: Tally) -> None:
        self._workload, self._tally = workload, tally
        self._cells: dict[tuple[str, Column], tuple[_Pair, Cell]] = {}

    def matrix(
        self,
        rows: int,
        statistic: str = "median",
        samples: str | None = None,
        failures: Iterable[Failure] = (),
        unsupported: Iterable[UnsupportedStep] = (),
    ) -> Matrix:
        """The matrix of one size. `samples` is a key of `records.SAMPLES`."""
        lost = _reasons(failures, unsupported, rows)
        measured = [name for name in in_order(self._tally.systems_at(rows)) if self._has(name, rows, samples)]
        if not measured:
            return Matrix(rows, "", (), (), {})
        systems = in_order({*measured, *(system for system, _ in lost)})
        subject = systems[0] if systems[0] in measured else measured[0]
        columns = self._columns()
        rivals = tuple(name for name in systems if name != subject)
        cells = {}
        for column in columns:
            own = self._summary(column, subject, rows, samples)
            for rival in rivals:
                rival_summary = self._summary(column, rival, rows, samples)
                reasons = (lost.get((name, column.operation.id)) for name in (subject, rival))
                pair = _Pair(rows, subject, statistic, own, rival_summary, *reasons)
                cells[rival, column] = self._cell(column, rival, pair)
        return Matrix(rows, subject, rivals, columns, cells)

    def _has(self, system: str, rows: int, samples: str | None) -> bool:
        points = ((operation, system, rows) for operation in self._tally.operations)
        return any(self._tally.summary(point, "seconds", samples) for point in points)

    def _summary(self, column: Column, system: str, rows: int, samples: str | None) -> Summary | None:
        selection = None if column.field == DISK else samples
        return self._tally.summary((column.operation.id, system, rows), column.field, selection)

    def _columns(self) -> tuple[Column, ...]:
        """The columns of the operations measured, and of the size on disk after the first one that changes
        it."""
        measured = [
            operation for operation in self._workload.operations if operation.id in self._tally.operations
        ]
        resizing = next((column for column in measured if column.resizes), None)
        return (*map(Column, measured), *([Column(resizing, DISK)] if resizing else []))

    def _cell(self, column: Column, rival: str, pair: _Pair) -> Cell:
        cached_cell = self._cells.get((rival, column))
        if cached_cell is not None and cached_cell[0].is_same(pair):
            return cached_cell[1]
        cell = pair.cell(column, rival)
        self._cells[rival, column] = (pair, cell)
        return cell


def matrix_of(
    workload: Workload,
    tally: Tally,
    rows: int,
    statistic: str = "median",
    samples: str | None = None,
    failures: Iterable[Failure] = (),
    unsupported: Iterable[UnsupportedStep] = (),
) -> Matrix:
    """A single matrix, like `Matrices.matrix`."""
    return Matrices(workload, tally).matrix(rows, statistic, samples, failures, unsupported)


class _Pair(NamedTuple):
    """What a cell is made from; `own_loss` and `loss` are outcomes with their notes."""

    rows: int
    subject: str
    statistic: str
    summary: Summary | None
    rival_summary: Summary | None
    own_loss: tuple[str, str] | None
    loss: tuple[str, str] | None

    def is_same(self, pair: _Pair) -> bool:
        """Whether nothing changed. Summaries are compared by identity: a tally keeps them until samples
        come."""
        return self.summary is pair.summary and self.rival_summary is pair.rival_summary and (
            (self.rows, self.subject, self.statistic, self.own_loss, self.loss)
            == (pair.rows, pair.subject, pair.statistic, pair.own_loss, pair.loss)
        )  # fmt: skip

    def cell(self, column: Column, rival: str) -> Cell:
        own, other = self.summary, self.rival_summary
        values = [STATISTICS[self.statistic](summary) if summary else 0.0 for summary in (own, other)]
        if own is not None and other is not None and all(values):
            outcome = _outcome(own, other, self.statistic, values[1] / values[0])
            return Cell(column, rival, outcome, values[0], values[1])
        outcome, note = (self.loss if other is None else self.own_loss) or (ABSENT, "")
        if note and other is not None:
            note = f"{entry_named(self.subject).title}, {note}"
        return Cell(column, rival, outcome, note=note)


def _reasons(
    failures: Iterable[Failure], unsupported: Iterable[UnsupportedStep], rows: int
) -> dict[tuple[str, str], tuple[str, str]]:
    """The outcomes and notes of failures, by system and operation."""
    reasons = {(gap.system, gap.step): (ABSENT, f"not supported: {gap.reason}") for gap in unsupported}
    return reasons | {
        (failure.system, failure.operation): (FAILED, f"{failure.kind}: {failure.message}")
        for failure in failures
        if failure.rows == rows
    }


def _outcome(subject: Summary, rival: Summary, statistic: str, factor: float) -> str:
    if 1 / EQUAL_WITHIN < factor < EQUAL_WITHIN:
        return LEVEL
    (low, high), (rival_low, rival_high) = spread(subject, statistic), spread(rival, statistic)
    if low <= rival_high and rival_low <= high:
        return UNSURE
    return AHEAD if factor > 1 else BEHIND
