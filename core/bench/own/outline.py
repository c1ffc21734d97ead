"""What a race's file says of itself, from its text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


class NotARace(Exception):
    """What is missing or wrong, where (None for the file as a whole), and what to do; no full stops."""

    def __init__(self, line: int | None, what: str, fix: str) -> None:
        super().__init__(what)
        self.line, self.what, self.fix = line, what, fix


@dataclass(frozen=True)
class Outline:
    """`operations` are titles by the names of methods; `rows` and `repeats` are None where the file leaves
    them out."""

    title: str
    about: str
    systems: tuple[str, ...]
    operations: Mapping[str, str]
    rows: tuple[int, ...] | None
    repeats: int | None


def outline(module: ast.Module) -> Outline:
    """Raises NotARace."""
    given = _assigned(module)
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if not any(isinstance(node, ast.FunctionDef) and node.name == "data" for node in module.body):
        raise NotARace(None, "it has no function data(rows)", "Let one return a table of that many rows")
    operations = _operations(given)
    systems = _systems(given)
    for name, class_name in systems.items():
        if class_name in classes:
            _check(name, classes[class_name], operations)
    return Outline(
        title=str(_literal(given, "TITLE", "")),
        about=" ".join((ast.get_docstring(module) or "").split()),
        systems=tuple(systems),
        operations=operations,
        rows=_rows(given),
        repeats=_repeats(given),
    )


def _assigned(module: ast.Module) -> dict[str, ast.expr]:
    """The last value given to each name at the top of the file."""
    found: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            found.update((name.id, node.value) for name in node.targets if isinstance(name, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found[node.target.id] = node.value
    return found


def _operations(given: Mapping[str, ast.expr]) -> dict[str, str]:
    """A list of methods, or a dict of titles by method."""
    value = _literal(given, "OPERATIONS", None)
    fix = 'Write them out, such as OPERATIONS = ["look_up", "count"]'
    if value is None:
        raise NotARace(None, "it has no OPERATIONS", fix)
    line = given["OPERATIONS"].lineno
    names = list(value) if isinstance(value, (list, tuple, dict)) else []
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise NotARace(line, "OPERATIONS are not names of methods", fix)
    if taken := {"load", "open", "close"} & set(names):
        raise NotARace(line, f"OPERATIONS name '{min(taken)}', which is a step of every race", "Leave it out")
    titles = value if isinstance(value, dict) else {}
    return {name: str(titles.get(name, name.replace("_", " ").capitalize())) for name in names}


def _systems(given: Mapping[str, ast.expr]) -> dict[str, str]:
    """Names of classes by the names of systems."""
    fix = 'Write them out, such as SYSTEMS = {"a list": InAList}'
    node = given.get("SYSTEMS")
    if node is None:
        raise NotARace(None, "it has no SYSTEMS", fix)
    if not isinstance(node, ast.Dict) or not node.keys:
        raise NotARace(node.lineno, "SYSTEMS is not a dict of classes by their names", fix)
    return dict(_system(key, value, fix) for key, value in zip(node.keys, node.values, strict=True))


def _system(key: ast.expr | None, value: ast.expr, fix: str) -> tuple[str, str]:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or ":" in key.value:
        raise NotARace(value.lineno, "a name in SYSTEMS is not a text without colons", fix)
    return key.value, value.id if isinstance(value, ast.Name) else ""


def _check(name: str, node: ast.ClassDef, operations: Iterable[str]) -> None:
    """What it inherits is not known here: then only the race will tell."""
    if node.bases:
        return
    has = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    for method in ("load", *operations):
        if method not in has:
            raise NotARace(
                node.lineno, f"{node.name}, the system '{name}', has no method {method}", f"Add {method}"
            )


def _rows(given: Mapping[str, ast.expr]) -> tuple[int, ...] | None:
    value = _literal(given, "ROWS", None)
    if value is None:
        return None
    rows = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not rows or not all(isinstance(number, int) and number >= 1 for number in rows):
        raise NotARace(
            given["ROWS"].lineno, "ROWS are not whole numbers from 1 on", "Write ROWS = [1_000, 10_000]"
        )
    return rows


def _repeats(given: Mapping[str, ast.expr]) -> int | None:
    value = _literal(given, "REPEATS", None)
    if value is not None and (not isinstance(value, int) or value < 1):
        raise NotARace(
            given["REPEATS"].lineno, "REPEATS is not a whole number from 1 on", "Write REPEATS = 3"
        )
    return value


def _literal(given: Mapping[str, ast.expr], name: str, otherwise: Any) -> Any:
    if name not in given:
        return otherwise
    try:
        return ast.literal_eval(given[name])
    except ValueError:
        raise NotARace(
            given[name].lineno,
            f"{name} is computed, and the file is read without running it",
            f"Write {name} out",
        ) from None
