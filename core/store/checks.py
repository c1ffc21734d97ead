"""Enforces the checks of columns on every change, and gives new rows the defaults of columns that they
lack."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import combine_chunks, take, to_numpy
from lamella.core.arrow.ingest import RowBatch
from lamella.core.arrow.nested_values import python_value
from lamella.core.arrow.sorted_ids import among, distinct
from lamella.core.arrow.types import ID, exact_cast, is_nested, wider_type
from lamella.core.errors import BadData, BrokenCheck, short_text
from lamella.core.jobs import Job
from lamella.core.scan.chunks import column_chunks
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.read import tables
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, FileSegment
from lamella.core.scan.take import KeyCodes
from lamella.core.store.column_rules import (
    NO_CHECKS,
    ColumnChecks,
    TableRules,
    decode_dictionary,
    distinct_values,
    rules_in,
    value_array,
    with_checks,
    with_default,
)
from lamella.core.store.commit import Change
from lamella.core.store.evolution import Cast, LostValues, cast_values
from lamella.core.store.row_lookup import matches
from lamella.core.store.table_version import Metadata, TableVersion

MOST_EXAMPLES = 5
Rows = Callable[[int], str]
"""Describes the row of a value, by the value's index."""


def with_defaults(state: TableVersion, change: Change) -> Change:
    """Return `change` with defaults for columns that its new rows lack."""
    defaults = state.rules.defaults
    if not defaults or change.rows is None:
        return change
    values, count = change.rows
    missing = {
        c.key: _repeat(defaults[c.key], c.type, count)
        for c in change.columns
        if c.key in defaults and c.key not in values
    }
    return replace(change, rows=({**values, **missing}, count)) if missing else change


def new_rows(state: TableVersion, count: int) -> pa.Table:
    """Make `count` rows with defaults, and nulls in the other columns."""
    defaults = state.rules.defaults
    values = [
        _repeat(defaults[c.key], c.type, count) if c.key in defaults else pa.nulls(count, c.type)
        for c in state.columns
    ]
    return pa.Table.from_arrays(values, names=[c.name for c in state.columns])


def defaults_by_name(state: TableVersion) -> Mapping[str, pa.Array]:
    """The defaults of columns by name, as arrays of one value."""
    defaults = state.rules.defaults
    return {c.name: defaults[c.key] for c in state.columns if c.key in defaults} if defaults else {}


def fill_omissions(
    rows: pa.Table, left_out: Mapping[str, np.ndarray], defaults: Mapping[str, pa.Array]
) -> pa.Table:
    """Fill in defaults where a row leaves out a column that others give."""
    for name, lacks in left_out.items():
        if name in defaults and name in rows.column_names and lacks.any():
            place = rows.schema.get_field_index(name)
            values = _fill(rows.column(place), lacks, defaults[name])
            rows = rows.set_column(place, pa.field(name, values.type), values)
    return rows


def block_with_defaults(block: RowBatch, defaults: Mapping[str, pa.Array]) -> RowBatch:
    """Return a block of new rows with defaults for what it leaves out. A column also counts as given if a
    field of it is."""
    names = set(block.schema.names)
    inside = {name.partition(".")[0] for name in names if "." in name}
    missing = {name: default for name, default in defaults.items() if name not in names | inside}
    if not missing and not block.missing_marks:
        return block
    rows = fill_omissions(block.table(), block.missing_marks or {}, defaults)
    for name, default in missing.items():
        rows = rows.append_column(name, take(default, np.zeros(block.num_rows, np.int64)))
    return RowBatch(rows.schema, block.num_rows, lambda: rows, block.checked)


def _fill(values: pa.ChunkedArray, lacks: np.ndarray, default: pa.Array) -> pa.ChunkedArray:
    """Fill in the default; leave the values as they are if the types have nothing in common, because fitting
    them to the column will report that."""
    kind = wider_type(values.type, default.type)
    fit, own = (None, None) if kind is None else (exact_cast(values, kind), exact_cast(default, kind))
    if fit is None or own is None:
        return values
    places = np.where(lacks, len(values), np.arange(len(values)))
    return pa.chunked_array([take(pa.concat_arrays([*fit.chunks, own]), places)])


def _repeat(default: pa.Array, kind: pa.DataType, count: int) -> pa.Array:
    fit = default.cast(kind) if pa.types.is_dictionary(kind) else exact_cast(default, kind)
    return take(default if fit is None else fit, np.zeros(count, np.int64))


# ------------------------------------------------------------------ checking a change


@dataclass(frozen=True, eq=False)
class _Part:
    """The values that a change gives a column; `row` describes the row of each, `ids` are the ids of existing
    rows."""

    values: pa.Array
    row: Rows
    ids: np.ndarray | None = None


def refuse_violations(state: TableVersion, change: Change) -> None:
    """Raise `BrokenCheck` for the first value of `change` that fails a check of its column."""
    rules = _rules_after(state, change)
    if not rules.checks:
        return
    for column in change.columns:
        checks = rules.checks.get(column.key)
        if checks is not None:
            parts = list(_parts(change, column))
            for part in parts:
                _refuse_part(state.snapshot.name, column, checks, part)
            if checks.unique:
                _refuse_doubles(state, change, column, parts)


def _rules_after(state: TableVersion, change: Change) -> TableRules:
    if change.metadata is None or change.metadata is state.metadata:
        return state.rules
    return rules_in(state.snapshot.name, change.metadata)


def _parts(change: Change, column: Column) -> Iterator[_Part]:
    cells, before = change.cells, 0
    if cells is not None and column.key in cells.values:
        ids = cells.ids
        yield _Part(cells.values[column.key], lambda place: _by_id(ids[place]), ids)
    if change.rows is not None:
        values, count = change.rows
        array = values[column.key] if column.key in values else pa.nulls(count, column.type)
        yield _Part(array, _row_numbers(before))
        before += count
    for file in change.files:
        names = {int(key): name for key, name in json.loads(file.names).items()}
        yield _Part(_file_values(FileSegment(file.path, file.rows, names), column), _row_numbers(before))
        before += file.rows


def _file_values(segment: FileSegment, column: Column) -> pa.Array:
    if column.key not in segment.names:
        return pa.nulls(segment.num_rows, column.type)
    groups = range(unchanged_footer(segment).metadata.num_row_groups)
    pieces = (column_chunks(segment, group, [column], into=None)[0] for group in groups)
    return combine_chunks(
        pa.chunked_array([chunk for values in pieces for chunk in values.chunks], column.type)
    )


def _refuse_part(table: str, column: Column, checks: ColumnChecks, part: _Part) -> None:
    if checks.required and part.values.null_count:
        place = int(np.argmax(to_numpy(part.values.is_null())))
        what = f"is required, but {part.row(place)} has no value"
        raise _check_error(table, column, part, place, what, "", "Give it a value")
    wrong = checks.forbidden_indices(part.values)
    if len(wrong):
        place = int(wrong[0])
        what = f"takes no {_text(part.values[place])}, the value of {part.row(place)}"
        raise _check_error(
            table, column, part, place, what, f"It takes {_listing(checks)}", "Give one of these"
        )


def _check_error(
    table: str, column: Column, part: _Part, place: int, what: str, why: str, fix: str
) -> BrokenCheck:
    row_id = None if part.ids is None else int(part.ids[place])
    what, fix = f"{table}: column '{column.name}' {what}", f"{fix}; nothing was changed"
    return BrokenCheck(what, why, fix, column=column.name, row_id=row_id)


def _refuse_doubles(state: TableVersion, change: Change, column: Column, parts: Sequence[_Part]) -> None:
    """Raise `BrokenCheck` for a value that occurs twice in a unique column; nulls do not count."""
    pieces = [(part, np.flatnonzero(to_numpy(part.values.is_valid()))) for part in parts]
    pieces = [(part, places) for part, places in pieces if len(places)]
    if not pieces:
        return
    arrays = [p.values if len(at) == len(p.values) else take(p.values, at) for p, at in pieces]
    values = decode_dictionary(pa.concat_arrays(arrays))
    ends = np.cumsum([len(places) for _, places in pieces])

    def origin(number: int) -> tuple[_Part, int]:
        piece = int(np.searchsorted(ends, number, side="right"))
        part, places = pieces[piece]
        return part, int(places[number - (ends[piece] - len(places))])

    def refusal(number: int, holder: str) -> BrokenCheck:
        part, place = origin(number)
        what = f"must be unique, but {part.row(place)} repeats {_text(values[number])}"
        why = f"{holder[0].upper()}{holder[1:]} already has it"
        return _check_error(state.snapshot.name, column, part, place, what, why, "Give another value")

    if len(values) > 1:
        first = KeyCodes([pa.chunked_array([values])]).first
        again = np.flatnonzero(first != np.arange(len(values)))
        if len(again):
            part, place = origin(int(first[again[0]]))
            raise refusal(int(again[0]), part.row(place))
    own = next((c for c in state.columns if c.key == column.key), None)
    if own is None:
        return
    lookup = matches(state, pa.table([values], names=[own.name]))
    leaving = [change.deleted_ids, *(part.ids for part in parts if part.ids is not None)]
    staying = np.flatnonzero(~among(lookup.ids, distinct(np.concatenate(leaving))))
    if len(staying):
        place = int(staying[np.argmin(lookup.keys[staying])])
        raise refusal(int(lookup.keys[place]), _by_id(lookup.ids[place]))


# ------------------------------------------------------------------ setting and removing rules


def default_change(state: TableVersion, column: Column, value: Any, message: str) -> Change:
    """Set the default of a column, None for none. Raises `BadData` for one that fails the column's checks."""
    name = state.snapshot.name
    default = None if value is None else value_array(name, column, [value])
    checks = state.rules.checks.get(column.key, NO_CHECKS)
    if default is not None:
        _refuse_default(name, column, checks, default)
    return Change(message, state.columns, with_default(state.metadata, column.key, default))


def checks_change(
    state: TableVersion,
    column: Column,
    required: bool | None,
    unique: bool | None,
    one_of: Sequence[Any] | None,
    job: Job,
    message: str,
) -> Change:
    """Set checks of a column; None leaves a check as it is. Raises `BrokenCheck` listing the first rows that
    fail a new check."""
    name, before = state.snapshot.name, state.rules.checks.get(column.key, NO_CHECKS)
    checks = before
    if required is not None:
        checks = replace(checks, required=required)
    if unique is not None:
        checks = replace(checks, unique=unique)
    if one_of is not None:
        checks = replace(checks, allowed_values=_allowed_values(name, column, one_of))
    if (checks.unique or checks.allowed_values is not None) and is_nested(column.type):
        raise BadData(
            f"{name}: column '{column.name}' holds nested values ({column.type}), which cannot be compared",
            fix="Such a column can only be required",
        )
    default = state.rules.defaults.get(column.key)
    if default is not None:
        _refuse_default(name, column, checks, default)
    _refuse_rows(state, column, before, checks, job)
    return Change(message, state.columns, with_checks(state.metadata, column.key, checks))


def rules_cast(
    state: TableVersion, notes: Metadata, column: Column, new_column: Column, how: Cast
) -> Metadata:
    """Copy the rules of `column`, cast to the new type, to `new_column`. A default that becomes null is
    dropped. Raises `BadData` for a default or value that does not survive."""
    default = state.rules.defaults.get(column.key)
    if default is not None:
        value = _cast(state, column, default, how, "the default")
        notes = with_default(notes, new_column.key, None if value.null_count else value)
    checks = state.rules.checks.get(column.key)
    if checks is not None and checks.allowed_values is not None:
        values = _cast(state, column, checks.allowed_values, how, "a value of its check").drop_null()
        notes = with_checks(notes, new_column.key, replace(checks, allowed_values=distinct_values(values)))
    return notes


def _cast(state: TableVersion, column: Column, values: pa.Array, how: Cast, what: str) -> pa.Array:
    try:
        return cast_values(values, how)
    except LostValues as lost:
        raise BadData(
            f"{state.snapshot.name}: {what} of column '{column.name}' is {lost.value},"
            f" which is not of type {how.to}",
            lost.why,
            "Change the default or the check first",
        ) from lost


def _allowed_values(table: str, column: Column, one_of: Sequence[Any]) -> pa.Array | None:
    if None in one_of:
        raise BadData(
            f"{table}: None is among the values that column '{column.name}' takes",
            "Null is allowed unless the column is required",
            "Leave it out",
        )
    return distinct_values(value_array(table, column, one_of)) if len(one_of) else None


def _refuse_default(table: str, column: Column, checks: ColumnChecks, default: pa.Array) -> None:
    if len(checks.forbidden_indices(default)):
        raise BadData(
            f"{table}: {_text(default[0])} cannot be the default of column '{column.name}'",
            f"It takes {_listing(checks)}",
            "Give one of these, or remove the default: table.columns.set_default(name, None)",
        )


def _refuse_rows(
    state: TableVersion, column: Column, before: ColumnChecks, checks: ColumnChecks, job: Job
) -> None:
    """Raise `BrokenCheck` listing the first rows that fail a new check."""
    required, unique = checks.required and not before.required, checks.unique and not before.unique
    allowed = checks.allowed_values is not None and checks.allowed_values is not before.allowed_values
    if not (required or unique or allowed):
        return
    ids, parts = [np.empty(0, np.int64)], [pa.nulls(0, column.type)]
    for rows in tables(state.snapshot, (ID_COLUMN, column), job):
        ids.append(to_numpy(rows.column(0)))
        parts.append(rows.column(1).combine_chunks())
    all_ids, values = np.concatenate(ids), decode_dictionary(pa.concat_arrays(parts))
    table = state.snapshot.name
    if required and values.null_count:
        null = np.flatnonzero(to_numpy(values.is_null()))
        raise _declaration_error(table, column, "required", f"{_rows(len(null))} null", all_ids[null])
    wrong = checks.forbidden_indices(values) if allowed else np.empty(0, np.int64)
    if len(wrong):
        some = [f"{_text(values[int(i)])} ({ID} {all_ids[i]})" for i in wrong[:MOST_EXAMPLES]]
        violation = f"{_rows(len(wrong))} other values"
        raise _declaration_error(table, column, f"one of {_listing(checks)}", violation, all_ids[wrong], some)
    if unique:
        _refuse_doubled_rows(table, column, all_ids, values)


def _refuse_doubled_rows(table: str, column: Column, ids: np.ndarray, values: pa.Array) -> None:
    present_rows = np.flatnonzero(to_numpy(values.is_valid()))
    if not len(present_rows):
        return
    present = values if len(present_rows) == len(values) else take(values, present_rows)
    first = KeyCodes([pa.chunked_array([present])]).first
    again = np.flatnonzero(first != np.arange(len(first)))
    if len(again):
        some = [
            f"{_text(present[int(i)])} ({ID} {ids[present_rows[first[i]]]} and {ids[present_rows[i]]})"
            for i in again[:MOST_EXAMPLES]
        ]
        violation = f"{_rows(len(again))} a value of an earlier row"
        raise _declaration_error(table, column, "unique", violation, ids[present_rows[again]], some)


def _declaration_error(
    table: str, column: Column, check: str, violation: str, ids: np.ndarray, some: Sequence[str] = ()
) -> BrokenCheck:
    examples = list(some) or [f"{ID} {i}" for i in ids[:MOST_EXAMPLES]]
    more = ", …" if len(ids) > len(examples) else ""
    return BrokenCheck(
        f"{table}: column '{column.name}' cannot be {check}: {violation}",
        f"They are {', '.join(examples)}{more}" if len(ids) > 1 else f"It is {examples[0]}",
        "Change these rows first",
        column=column.name,
        row_id=int(ids[0]),
    )


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


def _listing(checks: ColumnChecks) -> str:
    values = () if checks.allowed_values is None else checks.to_checks.one_of
    some = ", ".join(short_text(value) for value in values[: 2 * MOST_EXAMPLES])
    return some + (", …" if len(values) > 2 * MOST_EXAMPLES else "")


def _text(value: pa.Scalar) -> str:
    return short_text(python_value(value))


def _by_id(row_id: int) -> str:
    return f"the row with {ID} {row_id}"


def _row_numbers(first: int) -> Rows:
    return lambda place: f"row {first + place} of those given"
