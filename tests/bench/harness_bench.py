"""The time that the harness adds to an operation.

    python -m tests.bench.harness_bench

First, a system that does nothing is measured in separate processes, like any other: the time of its
operations is what the harness adds, compared with the bare call. Then a system that sums 50,000 numbers in
each operation runs the steps of a workload in this process, and repeats each one without the harness: on a
busy computer, only measurements right after each other can be compared. Less than 50 microseconds or 2% is
acceptable, by medians; the exit status is 1 if it is more."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lamella.core.bench.engine.protocol import Failure, Message
from lamella.core.bench.engine.runner import run_workload
from lamella.core.bench.results.figures import ReportTable, shown_seconds
from lamella.core.bench.results.records import summaries
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.table_cycle import TableCycle
from lamella.core.bench.workloads.tables import NEEDLE, SCATTERED_CHANGES, SINGLE
from tests.bench.idle_systems import Busy, NoOp

ROWS = 1000
MOST_SECONDS, MOST_SHARE = 50e-6, 0.02
MEASURED = (SINGLE, NEEDLE, SCATTERED_CHANGES)


@dataclass(frozen=True)
class Added:
    """Seconds of one operation, with and without the harness."""

    operation: str
    system: str
    told: float
    bare: float

    @property
    def seconds(self) -> float:
        return self.told - self.bare

    @property
    def is_little(self) -> bool:
        return self.seconds < MOST_SECONDS or self.seconds < MOST_SHARE * self.bare


def added_to_nothing(workload: Workload, repeats: int, folder: Path | None = None) -> Iterator[Added]:
    """Measure by a benchmark. Raises `RuntimeError` if it fails, since that is not about the harness."""
    heard: list[Message] = []
    records = run_workload(workload, [ROWS], [f"{NoOp.__module__}:NoOp"], repeats, folder, heard.append)
    for message in heard:
        if isinstance(message, Failure):
            raise RuntimeError(f"{message.operation}: {message.message}\n{message.details}")
    bare = median(_bare(lambda: None) for _ in range(1000))
    for (operation, _, _), summary in summaries(records).items():
        if operation != "fill":
            yield Added(operation, NoOp.id, summary.median, bare)


def added_to_work(repeats: int) -> list[Added]:
    """Measure reading everything, the first and the second time, in the cycle that every child process
    runs."""
    with_harness: dict[str, list[float]] = {}
    bare: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        system = Busy(Path(place), SCATTERED_CHANGES)
        cycle = TableCycle(system, SCATTERED_CHANGES, ROWS)
        list(cycle.step("fill"))
        for _ in range(repeats):
            for sample in cycle.step("read"):
                with_harness.setdefault(sample.operation, []).append(sample.cost.seconds)
                bare.setdefault(sample.operation, []).append(_bare(system.read))
    return [Added(name, Busy.id, median(with_harness[name]), median(bare[name])) for name in with_harness]


def table(lines: Sequence[Added]) -> ReportTable:
    header = ("operation", "system", "with harness", "bare", "added", "verdict")
    return ReportTable("What the harness adds (medians)", header, tuple(map(_line, lines)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=7, help="repeats of each benchmark; the work has 30 times as many"
    )
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args(sys.argv[1:] if argv is None else argv)
    measured = [added for w in MEASURED for added in added_to_nothing(w, arguments.repeats, arguments.folder)]
    results = [*measured, *added_to_work(30 * arguments.repeats)]
    print(table(results).as_text())
    return 0 if all(added.is_little for added in results) else 1


def _line(added: Added) -> tuple[str, ...]:
    share = f" ({added.seconds / added.bare:+.2%})" if added.system == Busy.id else ""
    return (
        added.operation,
        added.system,
        shown_seconds(added.told),
        shown_seconds(added.bare),
        f"{added.seconds * 1e6:+.2f} µs{share}",
        "little" if added.is_little else "TOO MUCH",
    )


def _bare(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


if __name__ == "__main__":
    sys.exit(main())
