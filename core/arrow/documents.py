"""Dicts whose keys vary from row to row: frequent keys become fields, the rest is JSON text in one more
field.

Reading two of a hundred keys then reads only two columns. A key stays in the rest if its values have no type
in common with the field's, or there are too many keys.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from lamella.core.arrow.arrays import exact_array, nulls_among, quick_array
from lamella.core.arrow.types import MOST_FIELDS, REST, REST_FIELD, exact_cast

FEW_KEYS = 8
Convert = Callable[[list[Any]], pa.Array]
Document = Mapping[str, Any]
Refusals = tuple[type[Exception], ...]


class ReservedKey(Exception):
    """A document has a key with a reserved name."""

    def __init__(self) -> None:
        super().__init__(f"'{REST}' is reserved for keys without a field of their own")


def as_documents(values: Sequence[Document | None], convert: Convert, refusals: Refusals) -> pa.Array:
    """Convert dicts to a struct. Keys whose values have no type in common do not become fields, nor do the
    rarest of very many. `convert` makes an array of the values of one key, or raises one of `refusals`.
    Raises `ReservedKey`."""
    alike = columns_of_alike(values)
    keys = (key for value in values if value for key in value) if alike is None else iter(alike)
    counts = Counter(keys)
    if REST in counts:
        raise ReservedKey
    if not all(type(key) is str for key in counts) or not counts:
        return exact_array(list(values))
    fields: dict[str, pa.Array] = {}
    rest = {key for key, _ in counts.most_common()[MOST_FIELDS:]} if len(counts) > MOST_FIELDS else set()
    for key in (key for key in counts if key not in rest):
        try:
            inner = [value.get(key) if value else None for value in values] if alike is None else alike[key]
            fields[key] = convert(list(inner))
        except refusals:
            rest.add(key)
    arrays, names = list(fields.values()), list(fields)
    if rest:
        arrays, names = [*arrays, _rest_of(values, rest)], [*names, REST]
    mask = nulls_among(values) if alike is None else None
    return pa.StructArray.from_arrays(arrays, names=names, mask=mask)


def columns_of_alike(rows: Sequence[Any]) -> dict[str, Sequence[Any]] | None:
    """The values by key of dicts that all have the keys of the first, at half the cost; None for other dicts.

    A few keys are read one after another, which makes no tuple of each dict; many are read all at once,
    while the dict is in the processor's cache.
    """
    if set(map(type, rows)) != {dict}:
        return None
    names = list(rows[0])
    if not names or set(map(len, rows)) != {len(names)}:
        return None
    try:
        if len(names) <= FEW_KEYS:
            return {name: list(map(itemgetter(name), rows)) for name in names}
        values = list(map(itemgetter(*names), rows))
    except KeyError:
        return None
    return dict(zip(names, zip(*values, strict=True), strict=True))


def fold_extra_fields(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Move the fields that the struct `kind` lacks into its rest; return `values` unchanged if nothing has to
    move, or something cannot be JSON."""
    if not (is_.is_struct(values.type) and is_.is_struct(kind)) or REST not in kind.names:
        return values
    chunks = [_fold(chunk, kind) for chunk in values.chunks]
    return values if None in chunks else pa.chunked_array(chunks, kind)


def whole(value: Any) -> Any:
    """Restore a value read back: move the rest of each dict into the dict, which then leaves out nulls."""
    if isinstance(value, dict):
        fields = {key: whole(inner) for key, inner in value.items() if key != REST}
        if REST not in value:
            return fields
        rest = _read(value[REST])
        if rest is None:
            return fields | {REST: value[REST]}
        return {key: inner for key, inner in fields.items() if inner is not None} | rest
    return [whole(inner) for inner in value] if isinstance(value, list) else value


def json_of(rest: Mapping[str, Any]) -> str | None:
    """Convert the rest to JSON. Raises `TypeError` for values that JSON lacks or would change;
    `ReservedKey`."""
    if not rest:
        return None
    text = json.dumps(rest, ensure_ascii=False, default=_refuse)
    if f'"{REST}": ' in text:
        raise ReservedKey
    if json.loads(text) != rest:
        raise TypeError("JSON would change the values of keys that have no type in common")
    return text


def _refuse(value: Any) -> None:
    raise TypeError(
        f"values of a key without a common type are stored as JSON, which cannot represent {value!r}"
    )


def _read(text: Any) -> dict[str, Any] | None:
    """Parse the JSON of a rest; None for anything else that other files may store under that name."""
    try:
        value = {} if text is None else json.loads(text)
    except (TypeError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _fold(values: pa.StructArray, kind: pa.StructType) -> pa.Array | None:
    columns = {field.name: values.field(i) for i, field in enumerate(values.type)}
    fields, moved = [], {}
    for field in kind:
        inner = columns.pop(field.name, None)
        if field.name == REST:
            fields.append(inner)
            continue
        nested = None if inner is None else fold_extra_fields(pa.chunked_array([inner]), field.type)
        fit = None if nested is None else exact_cast(nested.combine_chunks(), field.type)
        if inner is not None and fit is None:
            moved[field.name] = inner
        fields.append(pa.nulls(len(values), field.type) if fit is None else fit)
    place = kind.names.index(REST)
    try:
        fields[place] = _merge_rest(fields[place], columns | moved, len(values))
    except (TypeError, ReservedKey):
        return None
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())


def _merge_rest(rest: pa.Array | None, moved: Mapping[str, pa.Array], rows: int) -> pa.Array:
    before = [None] * rows if rest is None else rest.to_pylist()
    columns = {key: array.to_pylist() for key, array in moved.items()}
    rests = [json.loads(old) if old else {} for old in before]
    for key, inner in columns.items():
        for document, value in zip(rests, inner, strict=True):
            if value is not None:
                document[key] = whole(value)
    return _texts(map(json_of, rests))


def _rest_of(values: Iterable[Document | None], keys: set[str]) -> pa.Array:
    return _texts(
        json_of({key: inner for key, inner in (value or {}).items() if key in keys}) for value in values
    )


def _texts(values: Iterable[str | None]) -> pa.Array:
    array = quick_array(list(values), REST_FIELD.type)
    assert array is not None
    return array
