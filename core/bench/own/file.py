"""The file of somebody's own race as a workload, read without running it: only child processes of a race do
that."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from lamella.core.arguments import path_of
from lamella.core.bench.own.outline import NotARace, Outline, outline
from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.errors import FileProblem

SUFFIX = ".py"
LOAD = "load"
DEFAULT_ROWS, DEFAULT_REPEATS = (1_000, 10_000, 100_000), 3
EXAMPLE = "docs/race.md has one that works"


class OwnFileProblem(FileProblem):
    """A race's file that cannot be read as one."""


def is_own(name: str) -> bool:
    """Whether a workload's name is a file's."""
    return name.endswith(SUFFIX)


def load_file(path: str | Path) -> Workload:
    """The race in a Python file; its id is the file's absolute path. Raises OwnFileProblem with the line."""
    place = path_of(path, "the race's file")
    try:
        stamp = place.stat().st_mtime_ns
    except OSError as error:
        why = error.strerror or str(error)
        raise OwnFileProblem(place, "this race's file cannot be read", why, "Check its name") from error
    return _loaded(place, stamp)


def system_names(workload: Workload) -> list[str]:
    """What the systems of such a workload are called as backends."""
    return [f"{workload.id}:{name}" for name in workload.options["systems"]]


@lru_cache(32)
def _loaded(place: Path, _stamp: int) -> Workload:
    found = _outlined(place)
    return Workload(
        id=str(place),
        title=found.title or place.stem,
        about=found.about or f"Of the file {place.name}.",
        steps=(LOAD, *found.operations),
        operations=tuple(_operations(found)),
        data_columns=(),
        key=None,
        checked_columns=(),
        default_rows=found.rows or DEFAULT_ROWS,
        default_repeats=found.repeats or DEFAULT_REPEATS,
        opens_inside=False,
        family="own",
        small_rows=(found.rows or DEFAULT_ROWS)[:1],
        options={"systems": list(found.systems)},
    )


def _outlined(place: Path) -> Outline:
    try:
        return outline(ast.parse(place.read_bytes(), place.name))
    except SyntaxError as error:
        raise _problem(place, error.lineno, error.msg, "Correct the line") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise OwnFileProblem(place, "this race's file cannot be read", why, "Check its name") from error
    except NotARace as error:
        raise _problem(place, error.line, error.what, error.fix) from error


def _operations(found: Outline) -> Sequence[Operation]:
    load = Operation(
        LOAD, "Load", "loads {rows}", "What `load` takes to keep the rows of `data`.", resizes=True
    )
    asked = [
        Operation(
            name, title, f"does “{_plain(title)}” of {{rows}}", f"`{name}`, called several times in a row."
        )
        for name, title in found.operations.items()
    ]
    return [load, *asked]


def _plain(title: str) -> str:
    return title.replace("{", "{{").replace("}", "}}")


def _problem(place: Path, line: int | None, what: str, fix: str) -> OwnFileProblem:
    at = f"line {line}: " if line else ""
    return OwnFileProblem(place, f"{at}{what}", fix=f"{fix}; {EXAMPLE}")
