"""A class in the user's own file as a system under test, and the steps of such a benchmark. Only child
processes of a benchmark import this module, since it runs the file."""

from __future__ import annotations

import importlib.util
import inspect
import platform
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pyarrow as pa

from lamella.core.bench.engine.measure import Sample, measure
from lamella.core.bench.systems.base import Question, Questions, QuestionSystem, System
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.questions import QuestionCycle, digest
from lamella.core.bench.workloads.user_script import LOAD
from lamella.core.errors import LamellaError

MODULE = "benchmark_of_ones_own"


class ScriptFailed(LamellaError):
    """The code in a benchmark's file raised an exception."""


class ScriptSystem(QuestionSystem):
    """The base of systems that are made from a class `user_class`, called `name`, in the user's `file`.

    If the class has `open(folder)`, it is called when a step runs in another process than the previous one;
    otherwise the data is loaded again, without timing. If it has `close()`, it is called after each step."""

    file: ClassVar[Path]
    name: ClassVar[str]
    user_class: ClassVar[type]
    module: ClassVar[ModuleType]

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._system: Any = None
        self.rows = 0
        self.table: Any = None

    @classmethod
    def version(cls) -> str:
        return str(getattr(cls.user_class, "VERSION", "")) or f"Python {platform.python_version()}"

    @classmethod
    def describe(cls) -> str:
        text = " ".join((inspect.getdoc(cls.user_class) or "").split()).rstrip(".")
        return text or f"{cls.user_class.__name__} of {cls.file.name}"

    @property
    def columns(self) -> int:
        return len(getattr(self.table, "column_names", ()))

    def make_data(self, rows: int) -> None:
        with errors_with_line(self.file):
            self.rows, self.table = rows, self.module.data(rows)

    def fill(self, rows: int) -> None:
        with errors_with_line(self.file):
            self._system = self.user_class()
            self._system.load(self.table, self.folder)

    def open(self, writing: bool) -> None:
        if self._system is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if hasattr(self.user_class, "open"):
            with errors_with_line(self.file):
                self._system = self.user_class()
                self._system.open(self.folder)
        else:
            self.make_data(self.rows)
            self.fill(self.rows)

    def close(self) -> None:
        if hasattr(self.user_class, "close"):
            with errors_with_line(self.file):
                self._system.close()
            self._system = None

    def questions(self) -> Questions:
        steps = (operation.id for operation in self.workload.operations if operation.id != "load")
        return {name: Question(partial(self._ask, name), comparable=as_rows) for name in steps}

    def _ask(self, name: str) -> Any:
        with errors_with_line(self.file):
            return getattr(self._system, name)()


def system_class(file: str, name: str) -> type[System]:
    """Return the system that the file calls `name`; runs the file. Raises `ScriptFailed`."""
    path = Path(file)
    module = _module(path)
    system_type = getattr(module, "SYSTEMS", {}).get(name)
    if not isinstance(system_type, type):
        raise ScriptFailed(f"{path.name} has no class for the system '{name}'", fix="Name a class in SYSTEMS")
    attributes = {"file": path, "name": name, "user_class": system_type, "module": module}
    return type(system_type.__name__, (ScriptSystem,), attributes)


@contextmanager
def errors_with_line(file: Path) -> Iterator[None]:
    """Convert exceptions of the file's code to `ScriptFailed`, with the line in the file."""
    try:
        yield
    except ScriptFailed:
        raise
    except Exception as error:
        line = _line(error, file)
        at = f"{file.name}, line {line}" if line else file.name
        raise ScriptFailed(f"{at}: {type(error).__name__}: {error}") from error


def as_rows(answer: Any) -> Any:
    """Convert any frame or table to an Arrow table, and a list or set of values to rows of one value."""
    if hasattr(answer, "__arrow_c_stream__") and not isinstance(answer, pa.Table):
        return pa.table(answer)
    if isinstance(answer, dict):
        return [list(item) for item in answer.items()]
    if isinstance(answer, (list, tuple, set, frozenset)):
        return [list(row) if isinstance(row, (list, tuple)) else [row] for row in answer]
    return answer


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module  # dataclasses and pickle look up their module
    sys.path.insert(0, str(path.parent))  # for imports from the same folder
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # leaves no cache beside the user's file
    try:
        with errors_with_line(path):
            spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def _line(error: BaseException, file: Path) -> int | None:
    """Return the innermost line of the file in the traceback."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file
    ]
    return lines[-1] if lines else None


class ScriptCycle(QuestionCycle):
    steps: ClassVar[tuple[str, ...]] = (LOAD,)
    system: ScriptSystem

    def step(self, name: str) -> Iterator[Sample]:
        self.system.rows = self.rows
        yield from self.load() if name == LOAD else self.ask(name)

    def load(self) -> Iterator[Sample]:
        """Time the loading, but not making the data."""
        self.system.folder.mkdir(parents=True, exist_ok=True)
        self.system.make_data(self.rows)
        _, cost = measure(lambda: self.system.fill(self.rows))
        yield Sample(LOAD, cost, self.system.disk_bytes(), digest(self.rows))
        self.system.close()
