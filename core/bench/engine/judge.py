"""Which answer is right: the one known beforehand, or else the one that the first system gave. Answers are
compared by their checksums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lamella.core.bench.engine.protocol import WRONG, Expected, Failure
from lamella.core.bench.registry import entry_named, family_of
from lamella.core.bench.results.records import Record
from lamella.core.bench.workloads.model import Values, Workload


@dataclass(frozen=True)
class _Right:
    """`said_by` is the system that was first to answer where nobody knew beforehand."""

    checksum: str
    said_by: str = ""


@dataclass
class Judge:
    """Of the answers of one workload."""

    _answers: dict[tuple[str, int], _Right] = field(default_factory=dict)

    def knows(self, operation: str, rows: int) -> bool:
        return (operation, rows) in self._answers

    def learn(self, message: Expected) -> None:
        self._answers.setdefault((message.operation, message.rows), _Right(message.checksum))

    def objection(self, record: Record) -> Failure | None:
        """What is wrong with a record's answer; None where it is right, or the first of its kind."""
        said = _Right(record.checksum, record.backend)
        right = self._answers.setdefault((record.operation, record.rows), said)
        if record.checksum == right.checksum:
            return None
        expected, answer = _checksum_text(right.checksum), _checksum_text(record.checksum)
        return Failure(
            workload=record.workload,
            backend=record.backend,
            operation=record.operation,
            rows=record.rows,
            repeat=record.repeat,
            message=f"{_against(right)}: {answer} instead of {expected}",
            details=f"It took {record.seconds:.6f} seconds; a wrong answer has no time.",
            kind=WRONG,
        )


def _against(right: _Right) -> str:
    title = entry_named(right.said_by).title if right.said_by else ""
    return f"Not the answer of {title}" if title else "Wrong answer"


def _checksum_text(checksum: str) -> str:
    rows, _, digest = checksum.partition(":")
    return f"{rows} rows with checksum {digest}" if digest else rows


def expectations(workload: Workload, operations: Sequence[str], rows: int) -> Iterator[Expected]:
    """Of tables, operations with the same answer are reckoned once."""
    expected, known = family_of(workload).expected, dict[Any, str]()
    if expected is None:
        return
    for name in operations:
        operation = workload.operation(name)
        same = operation.answer if workload.family == "table" else name
        if same not in known:
            known[same] = expected(workload, operation, rows)
        yield Expected(name, rows, known[same])


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def checksum(answer: Iterable[Sequence[Values]]) -> str:
    """Of blocks of rows, each given as its columns: "rows:digest"."""
    rows, total = 0, 0
    for columns in answer:
        rows += len(columns[0])
        total += int(_row_digests(columns).sum(dtype=np.uint64))
    return f"{rows}:{total % 2**64:016x}"


def _row_digests(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    digests = np.zeros(len(columns[0]), dtype=np.uint64)
    for number, values in enumerate(columns, start=1):
        with np.errstate(over="ignore"):
            place = np.uint64(number) * _STEP
            digests += _mixed(_bits(values) + place)
    return _mixed(digests)


def _bits(values: Values) -> npt.NDArray[np.uint64]:
    if values.dtype.kind != "f":
        return values.astype(np.int64, copy=False).view(np.uint64)
    floats = values.astype(np.float64, copy=False) + 0.0  # makes 0.0 of -0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014), wrapping at 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
