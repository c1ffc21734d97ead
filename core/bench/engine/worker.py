"""The child process of a benchmark: one system, one size, a fresh interpreter.

It reads a `Spec` from standard input, followed by the permissions to begin each step, and writes messages to
standard output, one JSON object per line. What a system prints goes to standard error.
"""

from __future__ import annotations

import atexit
import gc
import os
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TextIO

from lamella.core.bench import registry
from lamella.core.bench.engine import machine, place
from lamella.core.bench.engine.judge import expectations
from lamella.core.bench.engine.machine import environment
from lamella.core.bench.engine.measure import Cycle, Sample
from lamella.core.bench.engine.protocol import (
    STAND_IN,
    Failure,
    Measurement,
    Message,
    Spec,
    StepStart,
    Surroundings,
    UnsupportedStep,
    to_line,
)
from lamella.core.bench.plain.step_gate import StepGate
from lamella.core.bench.registry import Family, family_of, workload_named, workload_with_options
from lamella.core.bench.results.records import COLD, WARM, Record
from lamella.core.bench.systems.base import NotReady, System
from lamella.core.bench.workloads.model import Workload


def main() -> NoReturn:
    """Do the work and end the process. The exit status is 0 unless the process itself breaks: a system that
    fails is a message.

    The process ends without cleaning up: freeing all modules would take longer than many a benchmark.
    """
    gate = StepGate()
    spec = Spec.from_json(gate.spec)
    with _own_output() as output:

        def tell(message: Message) -> None:
            output.write(to_line(message))
            output.flush()

        Worker(spec, tell, gate.wait).run()
    atexit._run_exitfuncs()
    os._exit(0)


@dataclass
class Worker:
    spec: Spec
    tell: Callable[[Message], None]
    wait: Callable[[], None]
    """Blocks until the next step may begin."""
    _current_step: tuple[int, str] = (0, "")
    _past_steps: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Do all repeats; stop at the first failure of the system, and report it."""
        try:
            system_class = registry.load(self.spec.system, self._workload.family)
            self._introduce(system_class)
            self._expect()
            machine.fetch(self.spec.rows)
            for repeat in self.spec.repeats:
                self._repeat(system_class, repeat)
        except NotReady as error:
            self.tell(UnsupportedStep(self.spec.workload, self.spec.system, self.spec.steps[0], str(error)))
        except Exception as error:  # noqa: BLE001 -- a system may fail in any way; it is reported
            self.tell(self._failure(error))

    @property
    def _workload(self) -> Workload:
        workload = workload_named(self.spec.workload)
        table_rows = self.spec.table_rows or workload.table_rows
        return workload_with_options(workload.id, table_rows, self.spec.options)

    @property
    def _family(self) -> Family:
        return family_of(self._workload)

    def _introduce(self, system: type[System]) -> None:
        spec, facts = self.spec, environment(self.spec.folder)
        version, by = system.answering_version(), system.stand_in()
        if by:
            facts[STAND_IN] = by
        self.tell(Surroundings(spec.system, version, system.describe(), facts, spec.workload))

    def _expect(self) -> None:
        for expected in expectations(self._workload, self.spec.answers, self.spec.rows):
            self.tell(expected)

    def _repeat(self, system_class: type[System], repeat: int) -> None:
        workload = self._workload
        folder = self.spec.folder / str(repeat)
        system = system_class(folder, workload)
        for sample in self._samples(self._family.cycle(system, workload, self.spec.rows), repeat):
            self.tell(Measurement(self._record(sample, repeat, system.columns)))
        if self.spec.steps[-1] == workload.steps[-1] and folder.exists():
            place.remove_folder(folder)

    def _samples(self, cycle: Cycle[Any], repeat: int) -> Iterator[Sample]:
        cannot = cycle.system.cannot
        for step in self.spec.steps:
            if step in cannot:
                self.tell(UnsupportedStep(self.spec.workload, self.spec.system, step, cannot[step]))
                continue
            self._current_step = (repeat, step)
            self.tell(StepStart(self.spec.system, self.spec.rows, repeat, step))
            _tidy_heap()
            self.wait()
            yield from cycle.step(step)
        yield from cycle.settle()

    def _record(self, sample: Sample, repeat: int, columns: int) -> Record:
        warm = sample.again or (not sample.first and sample.operation in self._past_steps)
        self._past_steps.add(sample.operation)
        return Record(
            workload=self.spec.workload,
            system=self.spec.system,
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
        repeat, step = self._current_step
        message = f"{type(error).__name__}: {error}"
        return Failure(
            workload=self.spec.workload,
            system=self.spec.system,
            operation=step,
            rows=self.spec.rows,
            repeat=repeat,
            message=message,
            details=traceback.format_exc(),
        )


def _tidy_heap() -> None:
    """Collect garbage once, and freeze the remaining objects, so that measurements do not go through them."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _own_output() -> TextIO:
    """Standard output, reserved for messages: everything else that is printed goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return output
