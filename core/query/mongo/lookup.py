"""$lookup, followed by the $unwind of what it found: a join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery
from lamella.core.query.expressions import Named
from lamella.core.query.joins import join
from lamella.core.query.mongo.computing import called, selected
from lamella.core.query.mongo.refusals import arguments
from lamella.core.query.steps import Compute, Select

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking


def looked_up(rows: Asking, spec: Any, then: tuple[str, Any] | None) -> Asking:
    """The columns of the other table are called by paths below what `as` says: `airline.name`.

    Rows without a partner are left out, unless $unwind keeps them; null is no partner of null.
    """
    needed = ("from", "localField", "foreignField", "as")
    told = arguments(rows.name, "$lookup", spec, needed, ("pipeline",))
    for key in needed:
        if not isinstance(told[key], str):
            raise BadQuery(f"{rows.name}: $lookup: '{key}' is a name, not {told[key]!r}")
    name, key = told["as"], told["foreignField"]
    keep = _kept_without_partner(rows.name, name, then)
    other = _narrowed(_named(rows, told["from"]), told.get("pipeline", []))
    columns = other.schema.names
    renamed = tuple((f"{name}.{column}", Named(column)) for column in dict.fromkeys([*columns, key]))
    right = other.then(Compute(renamed)).then(Select(tuple(column for column, _ in renamed)))
    taken = set(called(name, rows.schema.names))
    found = join(rows, right, ((told["localField"],), (f"{name}.{key}",)), "left" if keep else "inner", "")
    shown = [f"{name}.{column}" for column in columns]
    return selected(found, [*(one for one in rows.schema.names if one not in taken), *shown])


def unwound_path(place: str, given: Any) -> tuple[str, bool]:
    """The list that $unwind names, and whether rows without an item stay."""
    spec = given if isinstance(given, Mapping) else {"path": given}
    told = arguments(place, "$unwind", spec, ("path",), ("preserveNullAndEmptyArrays",))
    path, keep = told["path"], told.get("preserveNullAndEmptyArrays", False)
    if not isinstance(path, str) or not path.startswith("$") or path.startswith("$$") or path == "$":
        raise BadQuery(f"{place}: $unwind takes a field, not {path!r}", fix='Write "$tags"')
    if not isinstance(keep, bool):
        raise BadQuery(f"{place}: preserveNullAndEmptyArrays is true or false, not {keep!r}")
    return path[1:], keep


def _kept_without_partner(place: str, name: str, then: tuple[str, Any] | None) -> bool:
    if then is not None and then[0] == "$unwind":
        path, keep = unwound_path(place, then[1])
        if path == name:
            return keep
    raise BadQuery(
        f"{place}: $lookup makes no list of rows in a column",
        fix=f'Follow it with {{"$unwind": "${name}"}}, which gives a row for each of them',
    )


def _named(rows: Asking, name: str) -> Asking:
    """A table of the same store. Raises `UnknownTable`."""
    from lamella.core.store.handle import TableHandle

    dataset = rows.sources[rows.pipeline.source]
    if not isinstance(dataset, TableHandle):
        raise BadQuery(
            f"{rows.name}: $lookup finds no '{name}'",
            "Only tables of one store know each other by name",
            "Join the other dataset: .join(other, left_on=…, right_on=…)",
        )
    return dataset.store[name].asking()


def _narrowed(other: Asking, pipeline: Any) -> Asking:
    if not isinstance(pipeline, list | tuple):
        raise BadQuery(f"{other.name}: the pipeline of $lookup is a list of stages, not {pipeline!r}")
    for stage in pipeline:
        if not isinstance(stage, Mapping) or set(stage) != {"$match"}:
            raise BadQuery(
                f"{other.name}: the pipeline of $lookup only matches rows, and cannot do {stage!r}",
                fix="Put other stages behind the $unwind",
            )
        other = other.where(stage["$match"])
    return other
