"""A race in another Python: what can be run there, and what its worker, `core.bench.plain`, is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from lamella.core.bench.backends import entry_named
from lamella.core.bench.data import blocks
from lamella.core.bench.environment import environment
from lamella.core.bench.expectations import expectations
from lamella.core.bench.interpreters import OtherPython
from lamella.core.bench.plain.described import DESCRIPTIONS
from lamella.core.bench.plain.rows import DATA
from lamella.core.bench.protocol import Message, Spec, Surroundings
from lamella.core.bench.workloads import FLOATS, Workload

OLDEST_SQLALCHEMY = 2


def objection(other: OtherPython, backend: str, workload: Workload) -> str:
    """Why this cannot be run there; empty when it can."""
    if workload.id != FLOATS.id:
        return f"{workload.title} needs NumPy, {_numpy(other)}; {FLOATS.title} is what can be run there"
    if backend not in DESCRIPTIONS:
        return f"{entry_named(backend).title} is asked through NumPy, {_numpy(other)}"
    return _lack_of_sqlalchemy(other) if backend.startswith("sqlalchemy") else ""


def version(other: OtherPython, backend: str) -> str:
    held = other.libraries
    if backend.startswith("sqlalchemy"):
        return f"{held['sqlalchemy']} on SQLite {held['sqlite']}, {other.name}"
    return f"{held['sqlite']}, {other.name}" if backend.startswith("sqlite") else other.name


def led_by(other: OtherPython, workload: Workload, spec: Spec) -> Spec:
    """The spec as its worker needs it."""
    columns = list(workload.data_columns)
    return replace(spec, interpreter=str(other.path), options={**spec.options, "columns": columns})


def made_ready(other: OtherPython, workload: Workload, spec: Spec) -> Iterator[Message]:
    """Writes the data into the folder of the spec, and tells what a worker of ours would know by itself."""
    _write_data(workload, spec.rows, spec.folder)
    yield _surroundings(other, workload, spec)
    yield from expectations(workload, spec.answers, spec.rows)


def _surroundings(other: OtherPython, workload: Workload, spec: Spec) -> Surroundings:
    found = environment(spec.folder) | {
        "python": other.sentence,
        "libraries": {name: version for name, version in other.libraries.items() if version},
        "clock_resolution_seconds": other.clock,
        "cpu_clock_resolution_seconds": other.cpu_clock,
    }
    name = spec.backend
    return Surroundings(name, version(other, name), DESCRIPTIONS[name], found, workload.id)


def _write_data(workload: Workload, rows: int, folder: Path) -> None:
    with folder.joinpath(DATA).open("wb") as file:
        for block in blocks(workload, rows):
            np.column_stack([block[name] for name in workload.data_columns]).tofile(file)


def _numpy(other: OtherPython) -> str:
    if other.libraries["numpy"]:
        return f"and that is done by Lamella's own interpreter alone, not by {other.name}"
    return f"which is not there under {other.name}"


def _lack_of_sqlalchemy(other: OtherPython) -> str:
    found = other.libraries["sqlalchemy"]
    if found and int(found.partition(".")[0]) >= OLDEST_SQLALCHEMY:
        return ""
    lack = f"SQLAlchemy {found} is too old" if found else "SQLAlchemy is not there"
    wanted = f"'SQLAlchemy>={OLDEST_SQLALCHEMY}'"
    return f"{lack} under {other.name}. Run: {other.path} -m pip install {wanted}"
