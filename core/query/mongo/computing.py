"""Further columns as MongoDB computes them: all of the rows as they were before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamella.core.errors import BadQuery
from lamella.core.filters.walk import columns_read
from lamella.core.query.expressions import Call, Condition, Expression, Named
from lamella.core.query.steps import Compute, Select

if TYPE_CHECKING:
    from lamella.core.query.asking import Asking
    from lamella.core.query.mongo.reading import Reading

Values = Sequence[tuple[str, Expression]]


def computed(rows: Asking, values: Values, reading: Reading) -> Asking:
    """With these columns, and with the hidden ones they are computed from, which the caller leaves out."""
    if not _seen_changed(values):
        return _then_compute(rows, (*reading.hidden, *values))
    apart = [(reading.fresh(name), value) for name, value in values]
    named = [(name, Named(other)) for (name, _), (other, _) in zip(values, apart, strict=True)]
    reading.hidden.extend(apart)
    return _then_compute(rows, (*reading.hidden, *named))


def selected(rows: Asking, names: Iterable[str]) -> Asking:
    """These columns alone; unchanged where they are all there are."""
    wanted = tuple(names)
    if not wanted:
        raise BadQuery(f"{rows.name}: no column would be left", fix="Leave at least one")
    return rows if list(wanted) == rows.schema.names else rows.then(Select(wanted))


def called(name: str, columns: Iterable[str]) -> list[str]:
    """The column of this name, or those that are called by paths below it: `_id.carrier` for `_id`."""
    listed = list(columns)
    return [name] if name in listed else [one for one in listed if one.startswith(f"{name}.")]


def flat(spec: Mapping[str, Any], place: str, above: str = "") -> Iterator[tuple[str, Any]]:
    """A document of a stage with the names inside others as paths."""
    for name, asked in spec.items():
        if not isinstance(name, str) or name.startswith("$") or not name:
            raise BadQuery(f"{place}: {name!r} is no name of a column", fix="A name begins with no dollar")
        if isinstance(asked, Mapping) and asked and not any(str(key).startswith("$") for key in asked):
            yield from flat(asked, place, f"{above}{name}.")
        else:
            yield f"{above}{name}", asked


def refuse_inside(name: str, rows: Asking) -> None:
    """A field inside a column cannot be made or taken away."""
    columns = rows.schema.names
    parts = name.split(".")
    outer = next((c for c in (".".join(parts[:n]) for n in range(1, len(parts))) if c in columns), None)
    if outer is not None and name not in columns:
        raise BadQuery(
            f"{rows.name}: '{name}' lies inside the column '{outer}', which only changes as a whole",
            fix=f"Name the fields of '{outer}' that you want, or compute a column called otherwise",
        )


def _then_compute(rows: Asking, values: Values) -> Asking:
    return rows.then(Compute(tuple(values))) if values else rows


def _seen_changed(values: Values) -> bool:
    """Whether a value uses what an earlier one has replaced."""
    replaced: set[str] = set()
    for name, value in values:
        if any(used in replaced or used.partition(".")[0] in replaced for used in _used(value)):
            return True
        replaced.add(name)
    return False


def _used(value: Expression) -> Iterator[str]:
    if isinstance(value, Named):
        yield value.name
    if isinstance(value, Condition):
        yield from columns_read(value.filter)
    if isinstance(value, Call):
        for argument in value.arguments:
            yield from _used(argument)
