"""Other Pythons that run systems, such as PyPy: how to find and examine one, what it can run, and the input
of its worker, `core.bench.plain`. A Python that has Lamella can run systems that the installed program
lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import numpy as np

from lamella.core.bench.engine.judge import expectations
from lamella.core.bench.engine.machine import environment
from lamella.core.bench.engine.protocol import Message, Spec, Surroundings
from lamella.core.bench.plain.rows import DATA
from lamella.core.bench.plain.systems import DESCRIPTIONS
from lamella.core.bench.registry import entry_named
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.table_rows import blocks
from lamella.core.bench.workloads.tables import FLOATS
from lamella.core.errors import LamellaError

OLDEST = (3, 8)
ANSWER_SECONDS = 30

PROBE = """
import json, platform, sqlite3, sys, time
def version_of(name):
    try:
        return str(__import__(name).__version__)
    except ImportError:
        return ""
def version_of_lamella():
    try:
        from importlib.metadata import version
        return version("lamella")
    except ImportError:
        return ""
pypy = getattr(sys, "pypy_version_info", None)
print(json.dumps({
    "implementation": platform.python_implementation(),
    "own_version": list(pypy or sys.version_info)[:3],
    "language": list(sys.version_info)[:3],
    "libraries": {
        "sqlite": sqlite3.sqlite_version,
        "sqlalchemy": version_of("sqlalchemy"),
        "numpy": version_of("numpy"),
    },
    "lamella": version_of_lamella(),
    "clock": time.get_clock_info("perf_counter").resolution,
    "cpu_clock": time.get_clock_info("process_time").resolution,
}))
"""


class BadInterpreter(LamellaError):
    """An interpreter that does not exist or cannot be used."""


@dataclass(frozen=True)
class Interpreter:
    """Another Python. The versions of `libraries` that it lacks are empty; clock resolutions are in
    seconds."""

    path: Path
    implementation: str
    own_version: Sequence[int]
    language: Sequence[int]
    libraries: dict[str, str]
    clock: float
    cpu_clock: float
    lamella: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it runs the usual worker, with all systems that are installed there: a Python with the same
        version of Lamella, for the installed program, to which no packages can be added."""
        return bool(getattr(sys, "frozen", False)) and self.lamella == version_of("lamella")

    @property
    def variant(self) -> str:
        """The variant of systems run there; none if the usual worker runs them."""
        return "" if self.is_complete else self.name

    @property
    def name(self) -> str:
        """Its name and version, such as "PyPy 7.3.11"."""
        return f"{self.implementation} {_version_text(self.own_version)}"

    @property
    def sentence(self) -> str:
        """Its name, with the version of the language if that differs."""
        same = self.own_version == self.language
        return self.name if same else f"{self.name} (Python {_version_text(self.language)})"


def examine(name: str | None) -> Interpreter | None:
    """Find an interpreter and ask for its versions; None for no name and for this process's own. Blocks, up
    to seconds. Raises BadInterpreter."""
    if name is None:
        return None
    path = _executable(name)
    if _is_ours(path):
        return None
    try:
        interpreter = Interpreter(path, **_probe(path))
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        raise _no_python(path, str(error)) from error
    if tuple(interpreter.language) < OLDEST:
        raise BadInterpreter(
            f"{path} is {interpreter.name}, which is too old",
            fix=f"Choose one from Python {_version_text(OLDEST)} on",
        )
    return interpreter


def command(interpreter: str) -> list[str]:
    """The command of the worker for other Pythons."""
    return [interpreter, "-m", "bench.plain"]


def complete_command(interpreter: str, *words: str) -> list[str]:
    """The command of the usual worker in a Python that has Lamella."""
    return [interpreter, "-m", "lamella.app", *words]


def environment_of_complete() -> dict[str, str]:
    """The environment of a Python that has Lamella: it imports its own packages."""
    return {name: value for name, value in environment_of_other().items() if name != "PYTHONPATH"}


def environment_of_other() -> dict[str, str]:
    """The environment of another Python, without the variables meant for this one: their packages differ."""
    ours = dict(os.environ)
    if getattr(sys, "frozen", False) and "LD_LIBRARY_PATH_ORIG" in ours:
        ours["LD_LIBRARY_PATH"] = ours["LD_LIBRARY_PATH_ORIG"]
    folder = str(Path(__file__).resolve().parents[2])
    return ours | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}


def _executable(name: str) -> Path:
    path = shutil.which(Path(name).expanduser())
    if path is None:
        raise BadInterpreter(f"There is no interpreter {name}", fix="Give its path, or its name on the PATH")
    return Path(path).absolute()


def _is_ours(path: Path) -> bool:
    """Whether `path` is this process's Python. Folders are compared, too: the Python of an environment is a
    link to one without the environment's packages."""
    ours = Path(sys.executable).absolute()
    return path.parent == ours.parent and path.resolve() == ours.resolve()


def _probe(path: Path) -> dict[str, Any]:
    process = subprocess.run(
        [str(path), "-c", PROBE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ANSWER_SECONDS,
        env=environment_of_other(),
        check=False,
    )
    if process.returncode != 0:
        message = process.stderr.decode(errors="replace").strip().splitlines()
        raise _no_python(path, ": ".join([f"It ended with status {process.returncode}", *message[-1:]]))
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def _no_python(path: Path, why: str) -> BadInterpreter:
    return BadInterpreter(f"{path} does not work as a Python", why, "Choose another interpreter")


def _version_text(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


OLDEST_SQLALCHEMY = 2


def objection(interpreter: Interpreter, system: str, workload: Workload) -> str:
    """Why a system cannot run a workload there; empty if it can."""
    if interpreter.is_complete:
        return ""
    if workload.id != FLOATS.id:
        return f"{workload.title} needs NumPy, {_numpy(interpreter)}; {FLOATS.title} can be run there"
    if system not in DESCRIPTIONS:
        return f"{entry_named(system).title} needs NumPy, {_numpy(interpreter)}"
    return _lack_of_sqlalchemy(interpreter) if system.startswith("sqlalchemy") else ""


def version(interpreter: Interpreter, system: str) -> str:
    libraries = interpreter.libraries
    if system.startswith("sqlalchemy"):
        return f"{libraries['sqlalchemy']} on SQLite {libraries['sqlite']}, {interpreter.name}"
    return f"{libraries['sqlite']}, {interpreter.name}" if system.startswith("sqlite") else interpreter.name


def worker_spec(interpreter: Interpreter, workload: Workload, spec: Spec) -> Spec:
    """The spec as the worker of that Python needs it."""
    if interpreter.is_complete:
        return replace(spec, interpreter=str(interpreter.path), complete=True)
    columns = list(workload.data_columns)
    return replace(spec, interpreter=str(interpreter.path), options={**spec.options, "columns": columns})


def prepare_worker(interpreter: Interpreter, workload: Workload, spec: Spec) -> Iterator[Message]:
    """Write the data into the folder of the spec, and yield the messages that the usual worker would send."""
    if interpreter.is_complete:
        return
    _write_data(workload, spec.rows, spec.folder)
    yield _surroundings(interpreter, workload, spec)
    yield from expectations(workload, spec.answers, spec.rows)


def _surroundings(interpreter: Interpreter, workload: Workload, spec: Spec) -> Surroundings:
    values = environment(spec.folder) | {
        "python": interpreter.sentence,
        "libraries": {name: version for name, version in interpreter.libraries.items() if version},
        "clock_resolution_seconds": interpreter.clock,
        "cpu_clock_resolution_seconds": interpreter.cpu_clock,
    }
    name = spec.system
    return Surroundings(name, version(interpreter, name), DESCRIPTIONS[name], values, workload.id)


def _write_data(workload: Workload, rows: int, folder: Path) -> None:
    with folder.joinpath(DATA).open("wb") as file:
        for block in blocks(workload, rows):
            np.column_stack([block[name] for name in workload.data_columns]).tofile(file)


def _numpy(interpreter: Interpreter) -> str:
    if interpreter.libraries["numpy"]:
        return f"which only Lamella's own interpreter uses, not {interpreter.name}"
    return f"which {interpreter.name} does not have"


def _lack_of_sqlalchemy(interpreter: Interpreter) -> str:
    version_text = interpreter.libraries["sqlalchemy"]
    if version_text and int(version_text.partition(".")[0]) >= OLDEST_SQLALCHEMY:
        return ""
    lack = f"SQLAlchemy {version_text} is too old" if version_text else "SQLAlchemy is not installed"
    requirement = f"'SQLAlchemy>={OLDEST_SQLALCHEMY}'"
    return f"{lack} in {interpreter.name}. Run: {interpreter.path} -m pip install {requirement}"
