"""What operators can use besides a cell: the other values of its row, and the rest of its column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_numpy, take, to_numpy
from lamella.core.arrow.types import ID, exact_cast
from lamella.core.errors import short_text
from lamella.core.filters.kinds import NUMBERS, kind_of
from lamella.core.jobs import Job
from lamella.core.query.builder import query_of
from lamella.core.query.expressions import Call, Constant, Expression, columns_in, expression_of
from lamella.core.query.expressions import Column as Named
from lamella.core.query.source import SnapshotSource
from lamella.core.query.steps import Compute, Select
from lamella.core.scan.snapshot import snapshot_of_rows
from lamella.core.store.operators.values import Refusal, array_of, choose, nulls, repeat_value

Direction = Literal["above", "below"]
FIGURES = ("mean", "median", "least", "greatest", "most common")
SOURCES = ("above", "below", *FIGURES)
Cells = tuple[np.ndarray, pa.Array]
"""The ids of all rows of a table, ascending, and their values in a column."""


@dataclass(frozen=True)
class RowContext:
    """The rows that an update changes, as they were before. `whole` reads a column in all rows of the table;
    it is None for an update that inserts a row."""

    table: str
    ids: np.ndarray
    values: Mapping[str, pa.Array]
    job: Job
    whole: Callable[[str], Cells] | None = None

    def at_places(self, places: np.ndarray) -> RowContext:
        """The context of only the rows at these indices."""
        if len(places) == len(self.ids):
            return self
        values = {name: take(column, places) for name, column in self.values.items()}
        return replace(self, ids=self.ids[places], values=values)

    def compute(self, expression: Expression) -> pa.Array:
        """Compute one value for each row. Raises `LamellaError` for a value that cannot be computed."""
        columns = {**self.values, ID: from_numpy(self.ids)}
        names = [name for name in dict.fromkeys(columns_in(expression)) if name in columns]
        data = pa.Table.from_arrays([columns[name] for name in names or [ID]], names=names or [ID])
        name = _free_name(data.column_names)
        query = query_of(SnapshotSource(snapshot_of_rows(data, self.table)))
        table = query.with_steps((Compute(((name, expression),)), Select((name,)))).read(self.job)
        return table.column(0).combine_chunks()

    def nearest(self, column: str, where: Direction) -> pa.Array:
        """For each row, the value of the nearest row above or below, or of itself, that is not null, in the
        order of the table."""
        ids, cells = self._whole_column(column)
        if where == "below":
            ids, cells = -ids[::-1], take(cells, np.arange(len(cells))[::-1].copy())
        own = self.ids if where == "above" else -self.ids
        holds = np.where(to_numpy(cells.is_valid()), np.arange(len(cells)), -1)
        last = np.maximum.accumulate(holds)[np.searchsorted(ids, own)]
        pool = pa.concat_arrays([cells, pa.nulls(1, cells.type)])
        return take(pool, np.where(last < 0, len(cells), last))

    def figure(self, column: str, figure: str) -> pa.Array:
        """Compute one figure of all values of the column, as an array of one; null if there are none."""
        return _FIGURES[figure](_countable(self._whole_column(column)[1].drop_null()))

    def _whole_column(self, column: str) -> Cells:
        if self.whole is None:
            raise Refusal("a new row has no neighbours yet", "Insert the row first")
        return self.whole(column)


def _free_name(used: Sequence[str]) -> str:
    folded, name = {name_used.casefold() for name_used in used}, "value"
    while name in folded:
        name += "_"
    return name


# ------------------------------------------------------------------------------ $compute


@dataclass(frozen=True)
class Computation:
    """An expression over the other values of a row."""

    expression: Expression


def read_expression(operand: Any) -> Computation:
    """Parse an expression given as text, `price * 1.19`, or built with `col`."""
    if isinstance(operand, str):
        from lamella.core.query.expression_text import parse_expression

        return Computation(parse_expression(operand))
    if isinstance(operand, Expression | Named):
        return Computation(expression_of(operand))
    raise Refusal(
        f"it takes an expression, not {short_text(operand)}", "Write 'price * 1.19', or col('price') * 1.19"
    )


def compute_values(values: pa.Array, operand: Computation, rows: RowContext, _column: str) -> pa.Array:
    """Compute the expression. For a column of decimals, 1.19 is the decimal as written, not the nearest
    double."""
    kind = values.type
    if not pa.types.is_decimal(kind):
        return rows.compute(operand.expression)
    computed_rows = rows.compute(_with_decimals(operand.expression))
    if not pa.types.is_floating(computed_rows.type):
        return computed_rows
    try:
        return computed_rows.cast(pa.string()).cast(kind)
    except pa.ArrowInvalid as error:
        raise Refusal(
            f"a result has more digits than {kind} holds", f"Round it: round(…, {kind.scale})"
        ) from error


def _with_decimals(expression: Expression) -> Expression:
    if isinstance(expression, Constant) and isinstance(expression.value, float):
        exact = Decimal(repr(expression.value))
        return Constant(exact) if exact.is_finite() else expression
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(map(_with_decimals, expression.arguments)))
    return expression


# ------------------------------------------------------------------------------ $fill


@dataclass(frozen=True)
class Filling:
    """What to fill nulls with: a value, as an array of one, or a source, one of `SOURCES`."""

    value: pa.Array | None = None
    source: str = ""


_FILLING = "Give a value, or {'from': 'above'}; a struct as {'value': {…}}"


def read_filling(operand: Any) -> Filling:
    if isinstance(operand, Mapping):
        if set(operand) == {"from"} and operand["from"] in SOURCES:
            return Filling(source=operand["from"])
        if set(operand) == {"from"}:
            raise Refusal(
                f"it does not know the source {short_text(operand['from'])}",
                f"Give one of {', '.join(SOURCES)}",
            )
        if set(operand) != {"value"}:
            raise Refusal(f"it takes a value, or a source of values, not {short_text(operand)}", _FILLING)
        operand = operand["value"]
    if operand is None:
        raise Refusal("it takes a value, not None", _FILLING)
    return Filling(array_of([operand]))


def fill_nulls(values: pa.Array, operand: Filling, rows: RowContext, column: str) -> pa.Array:
    """Fill nulls; other values stay."""
    missing = ~to_numpy(values.is_valid())
    if not missing.any():
        return values
    if operand.source in ("above", "below"):
        return choose(missing, rows.nearest(column, operand.source), values)  # type: ignore[arg-type]
    value = operand.value if operand.value is not None else rows.figure(column, operand.source)
    if value.null_count:
        return values
    if pa.types.is_null(values.type):
        return repeat_value(value, len(values))
    if pa.types.is_decimal(values.type) and pa.types.is_floating(value.type):
        value = value.cast(values.type, safe=False)
    return choose(missing, repeat_value(value, len(values)), values)


def _countable(cells: pa.Array) -> pa.Array:
    """The values without NaN, with dictionaries decoded."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells.filter(pc.invert(pc.is_nan(cells))) if pa.types.is_floating(cells.type) else cells


def _number(name: str, make: Callable[[pa.Array], Any]) -> Callable[[pa.Array], pa.Array]:
    def figure(cells: pa.Array) -> pa.Array:
        if kind_of(cells.type) not in NUMBERS and not pa.types.is_null(cells.type):
            raise Refusal(f"the {name} needs numbers, and this is {cells.type}", "Choose another value")
        if not len(cells):
            return nulls(1)
        value = make(cells.cast(pa.float64(), safe=False))
        as_float = from_numpy(np.array([value], np.float64))
        whole = exact_cast(as_float, cells.type) if pa.types.is_integer(cells.type) else None
        return as_float if whole is None else whole

    return figure


def _extreme_of(name: str, descending: bool) -> Callable[[pa.Array], pa.Array]:
    def figure(cells: pa.Array) -> pa.Array:
        if not len(cells):
            return nulls(1)
        try:
            ends = pc.min_max(cells)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise Refusal(f"values of type {cells.type} have no {name} value", "Choose another") from error
        hits = to_numpy(pc.equal(cells, ends["max" if descending else "min"]))
        return cells.slice(int(hits.argmax()), 1)

    return figure


def _most_common(cells: pa.Array) -> pa.Array:
    """The most common value; of several, the one that occurs first."""
    if not len(cells):
        return nulls(1)
    try:
        encoded = cells.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise Refusal(f"values of type {cells.type} cannot be counted", "Choose another value") from error
    most = int(np.bincount(to_numpy(encoded.indices)).argmax())
    return encoded.dictionary.slice(most, 1)


_FIGURES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "mean": _number("mean", lambda cells: pc.mean(cells).as_py()),
    "median": _number("median", lambda cells: float(np.median(to_numpy(cells)))),
    "least": _extreme_of("least", descending=False),
    "greatest": _extreme_of("greatest", descending=True),
    "most common": _most_common,
}


def refuse_unknown_columns(operand: Computation, types: Mapping[str, pa.DataType], text: str | None) -> None:
    """Raise `UnknownColumn`, `BadQuery` or `BadFilter` for an expression that does not fit the columns; for
    text, with the position in it."""
    from lamella.core.query.expression_text import parse_expression
    from lamella.core.query.fields import Field, Fields
    from lamella.core.query.functions.table import type_expression

    columns = {**types, ID: pa.int64()}
    if text is not None:
        parse_expression(text, columns)
        return
    fields = Fields("the table", tuple(Field(name, kind, name) for name, kind in columns.items()))
    type_expression(operand.expression, fields)
