"""The child process: one system, one size, the steps `create` and `read` for each repeat.

It has the protocol of `core.bench.engine.worker`: a spec and permissions to begin come in, one JSON object
per line goes out. The runner itself knows the right answers and the machine.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, TextIO, Tuple

from .rows import DATA, checksum, read_rows
from .step_gate import StepGate
from .systems import PLACES, System

STEPS = ("create", "read")

Tell = Callable[[str, Dict[str, Any]], None]


def main() -> int:
    """Do the work. The exit status is 0 unless the process itself breaks: a system that fails is a
    message."""
    gate = StepGate()
    spec = json.loads(gate.spec)
    output = _own_output()

    def tell(event: str, message: Dict[str, Any]) -> None:
        output.write(json.dumps(dict(message, event=event)) + "\n")
        output.flush()

    Worker(spec, tell, gate.wait).run()
    return 0


class Worker:
    """`spec` is `core.bench.engine.protocol.Spec` as plain data; its options name the data's `columns`."""

    def __init__(self, spec: Dict[str, Any], tell: Tell, wait: Callable[[], None]) -> None:
        self.spec, self.tell, self.wait = spec, tell, wait
        self.columns: List[str] = spec["options"]["columns"]
        self._current_step: Tuple[int, str] = (0, "")
        self._past_steps: List[str] = []
        self._unchecked_samples: List[Tuple[str, Cost, int]] = []

    def run(self) -> None:
        """Do all repeats; stop at the first failure of the system, and report it."""
        try:
            module, _, name = PLACES[self.spec["system"]].partition(":")
            system = getattr(import_module("." + module, __package__), name)
            for repeat in self.spec["repeats"]:
                self._repeat(system, repeat)
        except Exception as error:  # noqa: BLE001 -- a system may fail in any way; it is reported
            repeat, step = self._current_step
            said = {"message": "%s: %s" % (type(error).__name__, error), "details": traceback.format_exc()}
            self.tell("failure", self._at(repeat, operation=step, **said))

    def _repeat(self, system_class: Callable[[str, List[str]], System], repeat: int) -> None:
        folder = os.path.join(self.spec["folder"], str(repeat))
        os.makedirs(folder, exist_ok=True)
        system = system_class(folder, self.columns)
        for step in self.spec["steps"]:
            self._current_step = (repeat, step)
            start = {name: self.spec[name] for name in ("system", "rows")}
            self.tell("step", dict(start, repeat=repeat, step=step))
            self.wait()
            (self._create if step == "create" else self._read)(system, repeat)
        self._settle(system, repeat)
        if self.spec["steps"][-1] == STEPS[-1]:
            shutil.rmtree(folder)

    def _create(self, system: System, repeat: int) -> None:
        rows = read_rows(Path(self.spec["folder"], DATA), self.columns)
        prepared, preparation = measure(lambda: system.prepare(rows))
        _, opening = measure(lambda: system.open(True))
        _, creating = measure(lambda: system.create(prepared))
        _, closing = measure(system.close)
        cost, size = opening.and_then(creating).and_then(closing), _disk_bytes(system.folder)
        self._unchecked_samples.append(("create", cost, size))
        self._unchecked_samples.append(("create_with_preparation", preparation.and_then(cost), size))

    def _read(self, system: System, repeat: int) -> None:
        _, opening = measure(lambda: system.open(False))
        answer, reading = measure(system.read)
        first = checksum(system.as_rows(answer))
        del answer
        answer, again = measure(system.read)
        second = checksum(system.as_rows(answer))
        del answer
        system.close()
        size = _disk_bytes(system.folder)
        self._record(system, repeat, "read", opening.and_then(reading), size, first)
        self._record(system, repeat, "read_again", again, size, second, again=True)
        self._check(system, repeat, first)

    def _settle(self, system: System, repeat: int) -> None:
        """Read once more to check the changes that no timed read has checked."""
        if self._unchecked_samples:
            system.open(False)
            self._check(system, repeat, checksum(system.as_rows(system.read())))
            system.close()

    def _check(self, system: System, repeat: int, digest: str) -> None:
        for operation, cost, size in self._unchecked_samples:
            self._record(system, repeat, operation, cost, size, digest)
        self._unchecked_samples = []

    def _record(
        self,
        system: System,
        repeat: int,
        operation: str,
        cost: Cost,
        size: int,
        digest: str,
        again: bool = False,
    ) -> None:
        warm = again or operation in self._past_steps
        self._past_steps.append(operation)
        sample = self._at(
            repeat,
            operation=operation,
            columns=len(self.columns) + system.extra_columns,
            disk_bytes=size,
            checksum=digest,
            temperature="warm" if warm else "cold",
        )
        self.tell("measurement", {"record": dict(sample, **cost._asdict())})

    def _at(self, repeat: int, **more: Any) -> Dict[str, Any]:
        own = {name: self.spec[name] for name in ("workload", "system", "rows")}
        return dict(own, repeat=repeat, **more)


def _disk_bytes(folder: str) -> int:
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def _own_output() -> TextIO:
    """Standard output, reserved for messages: everything else that is printed goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), 1)
    return output


class Cost(NamedTuple):
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int

    def and_then(self, next_cost: Cost) -> Cost:
        """The cost of two pieces of work done one after the other."""
        return Cost(
            self.seconds + next_cost.seconds,
            self.cpu_seconds + next_cost.cpu_seconds,
            max(self.peak_rss_bytes, next_cost.peak_rss_bytes),
        )


def measure(work: Callable[[], Any]) -> Tuple[Any, Cost]:
    """Run `work` and return its answer and cost.

    The garbage collector starts clean, and in CPython skips existing objects.
    """
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()
    _forget_peak()
    cpu_before, before = _cpu_seconds(), time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - before
    cost = Cost(seconds, _cpu_seconds() - cpu_before, _peak_rss())
    if hasattr(gc, "unfreeze"):
        gc.unfreeze()
    return answer, cost


def _cpu_seconds() -> float:
    """The processor time of this process, and of children that it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _forget_peak() -> None:
    if sys.platform == "linux":
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def _peak_rss() -> int:
    """The peak memory: of this operation on Linux, of the process so far elsewhere, and 0 (unknown) on
    Windows."""
    if sys.platform == "linux":
        with open("/proc/self/status") as file:
            return int(file.read().partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
