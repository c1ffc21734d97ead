"""$project, $addFields and $unset: which columns there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery, UnknownColumn
from lamella.core.nested import names_within, place_of
from lamella.core.query.mongo.computing import called, computed, flat, refuse_inside, selected
from lamella.core.query.mongo.reading import Reading
from lamella.core.schema import ID

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking


def projected(rows: Asking, spec: Any) -> Asking:
    """Either what is left or what is left out; `_id` is left unless it is left out by name."""
    asked = dict(flat(_document("$project", spec, rows), rows.name))
    kept = {name: value for name, value in asked.items() if not _is_flag(value) or value}
    out = [name for name in asked if name not in kept]
    if not kept or (out and list(kept) == [ID] and _is_flag(kept[ID])):
        return without(rows, out)
    if [name for name in out if name != ID]:
        raise BadQuery(
            f"{rows.name}: $project both keeps '{next(iter(kept))}' and leaves '{out[0]}' out",
            fix=f"Name what is kept alone; only '{ID}' may be left out beside",
        )
    if ID not in asked and called(ID, rows.schema.names):
        kept = {ID: True, **kept}
    return _kept(rows, kept)


def with_fields(rows: Asking, spec: Any) -> Asking:
    """$addFields, which is called $set too: each replaces the column of its name, or comes behind all."""
    asked = list(flat(_document("$addFields", spec, rows), rows.name))
    for name, _ in asked:
        refuse_inside(name, rows)
    reading = Reading(rows, [name for name, _ in asked])
    values = [(name, reading.value(value)) for name, value in asked]
    names = list(dict.fromkeys([*rows.schema.names, *(name for name, _ in values)]))
    return selected(computed(rows, values, reading), names)


def without(rows: Asking, names: list[str]) -> Asking:
    """$unset. Raises `UnknownColumn`."""
    gone: set[str] = set()
    for name in names:
        refuse_inside(name, rows)
        gone.update(_there(name, rows))
    return selected(rows, [name for name in rows.schema.names if name not in gone])


def _kept(rows: Asking, asked: Mapping[str, Any]) -> Asking:
    reading = Reading(rows, asked)
    names: list[str] = []
    values = []
    for name, value in asked.items():
        if _is_flag(value):
            names += _there(name, rows)
            continue
        refuse_inside(name, rows)
        names.append(name)
        values.append((name, reading.value(value)))
    return selected(computed(rows, values, reading), names)


def _there(name: str, rows: Asking) -> list[str]:
    types = {field.name: field.type for field in rows.schema}
    found = called(name, types) or ([name] if place_of(name, types) is not None else [])
    if not found:
        raise UnknownColumn(name, rows.name, names_within(types))
    return found


def _is_flag(value: Any) -> bool:
    """Numbers say whether a column is kept, as true and false do."""
    return isinstance(value, bool | int | float)


def _document(stage: str, spec: Any, rows: Asking) -> Mapping[str, Any]:
    if not isinstance(spec, Mapping) or not spec:
        raise BadQuery(
            f"{rows.name}: {stage} takes a dict, not {spec!r}", fix=f'Write {{"{stage}": {{"name": 1}}}}'
        )
    return spec
