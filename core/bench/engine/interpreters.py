"""Another Python to run systems in, PyPy say: found, and asked what it is; what can be run there, and what
its worker, `core.bench.plain`, is given. One that has Lamella runs what the installed program lacks."""

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
    """What was given as an interpreter and cannot be used as one."""


@dataclass(frozen=True)
class Interpreter:
    """Versions are empty for `libraries` that it does not have; the resolutions of its clocks are seconds."""

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
        """Whether it runs our own worker, with all systems that are installed there: for the installed
        program, to which no packages can be added, a Python that has the same version of Lamella."""
        return bool(getattr(sys, "frozen", False)) and self.lamella == version_of("lamella")

    @property
    def variant(self) -> str:
        """Of the systems that are run there; our own worker measures as it does here."""
        return "" if self.is_complete else self.name

    @property
    def name(self) -> str:
        """ "PyPy 7.3.11", "CPython 3.13.1"."""
        return f"{self.implementation} {_dotted(self.own_version)}"

    @property
    def sentence(self) -> str:
        """The same with the language's version, where that is another number."""
        same = self.own_version == self.language
        return self.name if same else f"{self.name} (Python {_dotted(self.language)})"


def examine(name: str | None) -> Interpreter | None:
    """None for no interpreter and for our own. Blocks up to seconds. Raises BadInterpreter."""
    if name is None:
        return None
    path = _executable(name)
    if _is_ours(path):
        return None
    try:
        other = Interpreter(path, **_probe(path))
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as error:
        raise _no_python(path, str(error)) from error
    if tuple(other.language) < OLDEST:
        raise BadInterpreter(
            f"{path} is {other.name}, which is too old", fix=f"Choose one from Python {_dotted(OLDEST)} on"
        )
    return other


def command(interpreter: str) -> list[str]:
    """Of the worker for other Pythons."""
    return [interpreter, "-m", "bench.plain"]


def complete_command(interpreter: str, *words: str) -> list[str]:
    """Of our own worker in a Python that has Lamella."""
    return [interpreter, "-m", "lamella.app", *words]


def environment_of_complete() -> dict[str, str]:
    """Ours without where to import from: it has packages of its own."""
    return {name: value for name, value in environment_of_other().items() if name != "PYTHONPATH"}


def environment_of_other() -> dict[str, str]:
    """Ours without what is meant for our own interpreter: the packages of one Python are not for another."""
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
    """By its folder, too: an environment links to a Python that lacks the environment's packages."""
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
    return BadInterpreter(f"{path} cannot be asked as a Python", why, "Choose another interpreter")


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


OLDEST_SQLALCHEMY = 2


def objection(other: Interpreter, system: str, workload: Workload) -> str:
    """Why this cannot be run there; empty when it can."""
    if other.is_complete:
        return ""
    if workload.id != FLOATS.id:
        return f"{workload.title} needs NumPy, {_numpy(other)}; {FLOATS.title} is what can be run there"
    if system not in DESCRIPTIONS:
        return f"{entry_named(system).title} is asked through NumPy, {_numpy(other)}"
    return _lack_of_sqlalchemy(other) if system.startswith("sqlalchemy") else ""


def version(other: Interpreter, system: str) -> str:
    libraries = other.libraries
    if system.startswith("sqlalchemy"):
        return f"{libraries['sqlalchemy']} on SQLite {libraries['sqlite']}, {other.name}"
    return f"{libraries['sqlite']}, {other.name}" if system.startswith("sqlite") else other.name


def worker_spec(other: Interpreter, workload: Workload, spec: Spec) -> Spec:
    """The spec as its worker needs it."""
    if other.is_complete:
        return replace(spec, interpreter=str(other.path), complete=True)
    columns = list(workload.data_columns)
    return replace(spec, interpreter=str(other.path), options={**spec.options, "columns": columns})


def prepare_worker(other: Interpreter, workload: Workload, spec: Spec) -> Iterator[Message]:
    """Writes the data into the folder of the spec, and tells what a worker of ours would know by itself."""
    if other.is_complete:
        return
    _write_data(workload, spec.rows, spec.folder)
    yield _surroundings(other, workload, spec)
    yield from expectations(workload, spec.answers, spec.rows)


def _surroundings(other: Interpreter, workload: Workload, spec: Spec) -> Surroundings:
    values = environment(spec.folder) | {
        "python": other.sentence,
        "libraries": {name: version for name, version in other.libraries.items() if version},
        "clock_resolution_seconds": other.clock,
        "cpu_clock_resolution_seconds": other.cpu_clock,
    }
    name = spec.system
    return Surroundings(name, version(other, name), DESCRIPTIONS[name], values, workload.id)


def _write_data(workload: Workload, rows: int, folder: Path) -> None:
    with folder.joinpath(DATA).open("wb") as file:
        for block in blocks(workload, rows):
            np.column_stack([block[name] for name in workload.data_columns]).tofile(file)


def _numpy(other: Interpreter) -> str:
    if other.libraries["numpy"]:
        return f"and that is done by Lamella's own interpreter alone, not by {other.name}"
    return f"which is not there under {other.name}"


def _lack_of_sqlalchemy(other: Interpreter) -> str:
    version_text = other.libraries["sqlalchemy"]
    if version_text and int(version_text.partition(".")[0]) >= OLDEST_SQLALCHEMY:
        return ""
    lack = f"SQLAlchemy {version_text} is too old" if version_text else "SQLAlchemy is not there"
    requirement = f"'SQLAlchemy>={OLDEST_SQLALCHEMY}'"
    return f"{lack} under {other.name}. Run: {other.path} -m pip install {requirement}"
