"""A benchmark written by the user: one Python file with data, systems and operations. This module reads the
file without running it; only child processes of a benchmark run it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lamella.core.bench.workloads.model import Check, Operation, Workload
from lamella.core.errors import FileProblem
from lamella.core.validation import path_of


class NotABenchmark(Exception):
    """Something is missing or wrong in the file. `line` is None for the whole file; `what` and `fix` have no
    full stops."""

    def __init__(self, line: int | None, what: str, fix: str) -> None:
        super().__init__(what)
        self.line, self.what, self.fix = line, what, fix


@dataclass(frozen=True)
class Outline:
    """The contents of a benchmark's file. `operations` maps names of methods to titles; `rows` and `repeats`
    are None if the file omits them."""

    title: str
    about: str
    systems: tuple[str, ...]
    operations: Mapping[str, str]
    rows: tuple[int, ...] | None
    repeats: int | None


def outline(module: ast.Module) -> Outline:
    """Read the contents of a benchmark's file. Raises `NotABenchmark`."""
    assignments = _assignments(module)
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if not any(isinstance(node, ast.FunctionDef) and node.name == "data" for node in module.body):
        raise NotABenchmark(
            None, "it has no function data(rows)", "Add one that returns a table with this number of rows"
        )
    operations = _operations(assignments)
    systems = _systems(assignments)
    for name, class_name in systems.items():
        if class_name in classes:
            _check(name, classes[class_name], operations)
    return Outline(
        title=str(_literal(assignments, "TITLE", "")),
        about=" ".join((ast.get_docstring(module) or "").split()),
        systems=tuple(systems),
        operations=operations,
        rows=_rows(assignments),
        repeats=_repeats(assignments),
    )


def _assignments(module: ast.Module) -> dict[str, ast.expr]:
    """Return the last value assigned to each name at the top level of the file."""
    assignments: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            assignments.update((name.id, node.value) for name in node.targets if isinstance(name, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            assignments[node.target.id] = node.value
    return assignments


def _operations(assignments: Mapping[str, ast.expr]) -> dict[str, str]:
    """Return the titles by method, from a list of methods or a dict with titles."""
    value = _literal(assignments, "OPERATIONS", None)
    fix = 'Write a literal, such as OPERATIONS = ["look_up", "count"]'
    if value is None:
        raise NotABenchmark(None, "it has no OPERATIONS", fix)
    line = assignments["OPERATIONS"].lineno
    names = list(value) if isinstance(value, (list, tuple, dict)) else []
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise NotABenchmark(line, "OPERATIONS are not names of methods", fix)
    if reserved := {"load", "open", "close"} & set(names):
        raise NotABenchmark(
            line, f"OPERATIONS contains '{min(reserved)}', which is a reserved name", "Leave it out"
        )
    titles = value if isinstance(value, dict) else {}
    return {name: str(titles.get(name, name.replace("_", " ").capitalize())) for name in names}


def _systems(assignments: Mapping[str, ast.expr]) -> dict[str, str]:
    """Return the names of classes by the names of systems."""
    fix = 'Write a literal, such as SYSTEMS = {"a list": InAList}'
    node = assignments.get("SYSTEMS")
    if node is None:
        raise NotABenchmark(None, "it has no SYSTEMS", fix)
    if not isinstance(node, ast.Dict) or not node.keys:
        raise NotABenchmark(node.lineno, "SYSTEMS is not a dict of classes by name", fix)
    return dict(_system(key, value, fix) for key, value in zip(node.keys, node.values, strict=True))


def _system(key: ast.expr | None, value: ast.expr, fix: str) -> tuple[str, str]:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or ":" in key.value:
        raise NotABenchmark(value.lineno, "a name in SYSTEMS is not a text without colons", fix)
    return key.value, value.id if isinstance(value, ast.Name) else ""


def _check(name: str, node: ast.ClassDef, operations: Iterable[str]) -> None:
    """Check that a class has the methods, unless it has base classes, whose methods are only known when the
    file runs."""
    if node.bases:
        return
    has = {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
    for method in ("load", *operations):
        if method not in has:
            raise NotABenchmark(
                node.lineno, f"{node.name}, the system '{name}', has no method {method}", f"Add {method}"
            )


def _rows(assignments: Mapping[str, ast.expr]) -> tuple[int, ...] | None:
    value = _literal(assignments, "ROWS", None)
    if value is None:
        return None
    rows = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not rows or not all(isinstance(number, int) and number >= 1 for number in rows):
        raise NotABenchmark(
            assignments["ROWS"].lineno, "ROWS are not positive whole numbers", "Write ROWS = [1_000, 10_000]"
        )
    return rows


def _repeats(assignments: Mapping[str, ast.expr]) -> int | None:
    value = _literal(assignments, "REPEATS", None)
    if value is not None and (not isinstance(value, int) or value < 1):
        raise NotABenchmark(
            assignments["REPEATS"].lineno, "REPEATS is not a positive whole number", "Write REPEATS = 3"
        )
    return value


def _literal(assignments: Mapping[str, ast.expr], name: str, otherwise: Any) -> Any:
    if name not in assignments:
        return otherwise
    try:
        return ast.literal_eval(assignments[name])
    except ValueError:
        raise NotABenchmark(
            assignments[name].lineno,
            f"{name} is computed, but the file is read without running it",
            f"Write {name} as a literal",
        ) from None


SUFFIX = ".py"
LOAD = "load"
DEFAULT_ROWS, DEFAULT_REPEATS = (1_000, 10_000, 100_000), 3
EXAMPLE = "docs/benchmark.md has a working example"


class OwnFileProblem(FileProblem):
    """A file cannot be read as a benchmark."""


def is_own(name: str) -> bool:
    """Whether a workload's name is that of a file."""
    return name.endswith(SUFFIX)


def load_file(path: str | Path) -> Workload:
    """Load the benchmark in a Python file; its id is the file's absolute path. Raises `OwnFileProblem`, with
    the line."""
    place = path_of(path, "the benchmark's file")
    try:
        stamp = place.stat().st_mtime_ns
    except OSError as error:
        why = error.strerror or str(error)
        raise OwnFileProblem(place, "this benchmark file cannot be read", why, "Check its name") from error
    return _load(place, stamp)


def system_names(workload: Workload) -> list[str]:
    """Return the names of this workload's systems, in the form that a benchmark takes."""
    return [f"{workload.id}:{name}" for name in workload.options["systems"]]


@lru_cache(32)
def _load(place: Path, _stamp: int) -> Workload:
    script = _outline_of(place)
    return Workload(
        id=str(place),
        title=script.title or place.stem,
        about=script.about or f"From the file {place.name}.",
        steps=(LOAD, *script.operations),
        operations=tuple(_operations_of(script)),
        default_rows=script.rows or DEFAULT_ROWS,
        default_repeats=script.repeats or DEFAULT_REPEATS,
        family="own",
        check=Check.AGREED,
        small_rows=(script.rows or DEFAULT_ROWS)[:1],
        options={"systems": list(script.systems)},
    )


def _outline_of(place: Path) -> Outline:
    try:
        return outline(ast.parse(place.read_bytes(), place.name))
    except SyntaxError as error:
        raise _problem(place, error.lineno, error.msg, "Correct the line") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise OwnFileProblem(place, "this benchmark file cannot be read", why, "Check its name") from error
    except NotABenchmark as error:
        raise _problem(place, error.line, error.what, error.fix) from error


def _operations_of(script: Outline) -> Sequence[Operation]:
    load = Operation(LOAD, "Load", "loads {rows}", "The time of `load` for the rows of `data`.", resizes=True)
    operations = [
        Operation(
            name, title, f"does '{_escape(title)}' of {{rows}}", f"`{name}`, called several times in a row."
        )
        for name, title in script.operations.items()
    ]
    return [load, *operations]


def _escape(title: str) -> str:
    return title.replace("{", "{{").replace("}", "}}")


def _problem(place: Path, line: int | None, what: str, fix: str) -> OwnFileProblem:
    at = f"line {line}: " if line else ""
    return OwnFileProblem(place, f"{at}{what}", fix=f"{fix}; {EXAMPLE}")
