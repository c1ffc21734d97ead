"""The child process of a race: one backend, one size, a fresh interpreter.

It reads a `Spec` from standard input and writes messages to standard output, one JSON object a
line. What a backend prints goes to standard error.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from core.bench import backends
from core.bench.backends.base import Backend
from core.bench.cycle import Cycle, Sample
from core.bench.environment import environment
from core.bench.families import Family, family_of
from core.bench.protocol import (
    Doing,
    Expected,
    Failure,
    Measured,
    Message,
    Spec,
    Surroundings,
    Unsupported,
    to_line,
)
from core.bench.results import COLD, WARM, Record
from core.bench.workloads import Workload, workload_named


def main() -> int:
    """Exit status 0 unless the process itself breaks: a backend that fails is a message."""
    spec = Spec.from_json(sys.stdin.read())
    with _own_output() as output:

        def tell(message: Message) -> None:
            output.write(to_line(message))
            output.flush()

        Worker(spec, tell).run()
    return 0


@dataclass
class Worker:
    spec: Spec
    tell: Callable[[Message], None]
    _begun: tuple[int, str] = (0, "")
    _done_before: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Do every repeat; stops at the first failure of the backend, which is told."""
        try:
            backend_class = backends.load(self.spec.backend, self._workload.family)
            self._introduce(backend_class)
            self._expect()
            for repeat in self.spec.repeats:
                self._repeat(backend_class, repeat)
        except Exception as error:  # noqa: BLE001 -- a system may fail in any way, and it is told
            self.tell(self._failure(error))

    @property
    def _workload(self) -> Workload:
        named = workload_named(self.spec.workload)
        table_rows = self.spec.table_rows or named.table_rows
        return replace(named, table_rows=table_rows, options=self.spec.options)

    @property
    def _family(self) -> Family:
        return family_of(self._workload)

    def _introduce(self, backend: type[Backend]) -> None:
        found = environment(self.spec.folder)
        self.tell(Surroundings(self.spec.backend, backend.version(), backend.describe(), found))

    def _expect(self) -> None:
        workload, known = self._workload, dict[Any, str]()
        expected = self._family.expected
        if expected is None:
            return
        for name in self.spec.answers:
            operation = workload.operation(name)
            same = operation.answer if workload.family == "table" else name
            if same not in known:
                known[same] = expected(workload, operation, self.spec.rows)
            self.tell(Expected(name, self.spec.rows, known[same]))

    def _repeat(self, backend_class: type[Backend], repeat: int) -> None:
        workload = self._workload
        folder = self.spec.folder / str(repeat)
        backend = backend_class(folder, workload)
        for sample in self._samples(self._family.cycle(backend, workload, self.spec.rows), repeat):
            self.tell(Measured(self._record(sample, repeat, backend.columns)))
        if self.spec.steps[-1] == workload.steps[-1]:
            shutil.rmtree(folder)

    def _samples(self, cycle: Cycle[Any], repeat: int) -> Iterator[Sample]:
        cannot = cycle.backend.cannot
        for step in self.spec.steps:
            if step in cannot:
                self.tell(Unsupported(self.spec.workload, self.spec.backend, step, cannot[step]))
                continue
            self._begun = (repeat, step)
            self.tell(Doing(self.spec.backend, self.spec.rows, repeat, step))
            yield from cycle.step(step)
        yield from cycle.settle()

    def _record(self, sample: Sample, repeat: int, columns: int) -> Record:
        warm = sample.again or sample.operation in self._done_before
        self._done_before.add(sample.operation)
        return Record(
            workload=self.spec.workload,
            backend=self.spec.backend,
            operation=sample.operation,
            rows=self.spec.rows,
            columns=columns,
            repeat=repeat,
            seconds=sample.cost.seconds,
            cpu_seconds=sample.cost.cpu_seconds,
            peak_rss_bytes=sample.cost.peak_rss_bytes,
            disk_bytes=sample.disk_bytes,
            checksum=sample.checksum,
            temperature=WARM if warm else COLD,
            latencies=sample.cost.latencies,
        )

    def _failure(self, error: Exception) -> Failure:
        repeat, step = self._begun
        message = f"{type(error).__name__}: {error}"
        return Failure(
            workload=self.spec.workload,
            backend=self.spec.backend,
            operation=step,
            rows=self.spec.rows,
            repeat=repeat,
            message=message,
            details=traceback.format_exc(),
        )


def _own_output() -> TextIO:
    """Standard output for messages alone: whatever else is printed goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return output
