"""Which answer is right: the one known beforehand, or else the one that the first system gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamella.core.bench.backends import entry_named
from lamella.core.bench.protocol import WRONG, Expected, Failure
from lamella.core.bench.results import Record


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
        return Failure(
            workload=record.workload,
            backend=record.backend,
            operation=record.operation,
            rows=record.rows,
            repeat=record.repeat,
            message=f"{_against(right)}: {_shown(record.checksum)} instead of {_shown(right.checksum)}",
            details=f"It took {record.seconds:.6f} seconds; a wrong answer has no time.",
            kind=WRONG,
        )


def _against(right: _Right) -> str:
    title = entry_named(right.said_by).title if right.said_by else ""
    return f"Not the answer of {title}" if title else "Wrong answer"


def _shown(checksum: str) -> str:
    rows, _, digest = checksum.partition(":")
    return f"{rows} rows with checksum {digest}" if digest else rows
