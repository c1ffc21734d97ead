"""Decides which answer is right: the one known beforehand or, without one, that of the first system. Answers
are compared by their checksums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lamella.core.bench.engine.protocol import WRONG, ExpectedAnswer, Failure
from lamella.core.bench.registry import entry_named, family_of
from lamella.core.bench.results.records import Point, Record, Sample
from lamella.core.bench.workloads.model import Workload

_S = TypeVar("_S", bound=Sample)


@dataclass(frozen=True)
class _Right:
    """The right answer. `system` is the system that gave it first, if it was not known beforehand."""

    checksum: str
    system: str = ""


@dataclass
class Judge:
    """Judges the answers of one workload."""

    _answers: dict[tuple[str, int], _Right] = field(default_factory=dict)
    _wrong: set[Point] = field(default_factory=set)

    def knows(self, operation: str, rows: int) -> bool:
        return (operation, rows) in self._answers

    def learn(self, message: ExpectedAnswer) -> None:
        self._answers.setdefault((message.operation, message.rows), _Right(message.checksum))

    def objection(self, record: Record) -> Failure | None:
        """What is wrong with a record's answer; None if it is right, or the first of its kind."""
        reference = _Right(record.checksum, record.system)
        right = self._answers.setdefault((record.operation, record.rows), reference)
        if record.checksum == right.checksum:
            return None
        self._wrong.add(point_of(record))
        expected, answer = _checksum_text(right.checksum), _checksum_text(record.checksum)
        return Failure(
            workload=record.workload,
            system=record.system,
            operation=record.operation,
            rows=record.rows,
            repeat=record.repeat,
            message=f"{_against(right)}: {answer} instead of {expected}",
            details=f"It took {record.seconds:.6f} seconds; a wrong answer has no time.",
            kind=WRONG,
        )

    def is_trusted(self, record: Record) -> bool:
        """Whether the record's system gave the right answer every time."""
        return point_of(record) not in self._wrong


def point_of(result: Sample | Failure) -> Point:
    return result.operation, result.system, result.rows


def trusted_samples(samples: Iterable[_S], failures: Iterable[Failure]) -> list[_S]:
    """The samples of systems that never gave a wrong answer at that point: right ones may be luck."""
    wrong = {(failure.workload, point_of(failure)) for failure in failures if failure.kind == WRONG}
    return [sample for sample in samples if not wrong or (sample.workload, point_of(sample)) not in wrong]


def _against(right: _Right) -> str:
    title = entry_named(right.system).title if right.system else ""
    return f"Differs from the answer of {title}" if title else "Wrong answer"


def _checksum_text(checksum: str) -> str:
    rows, _, digest = checksum.partition(":")
    return f"{rows} rows with checksum {digest}" if digest else rows


def expectations(workload: Workload, operations: Sequence[str], rows: int) -> Iterator[ExpectedAnswer]:
    """The right answers of operations, as far as they are known beforehand. For tables, operations with the
    same answer are computed once."""
    expected, answers = family_of(workload).answer_function, dict[Any, str]()
    if expected is None:
        return
    for name in operations:
        operation = workload.operation(name)
        same = operation.answer if workload.family == "table" else name
        if same not in answers:
            answers[same] = expected(workload, operation, rows)
        yield ExpectedAnswer(name, rows, answers[same])
