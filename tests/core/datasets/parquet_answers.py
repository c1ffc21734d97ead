"""Lamella's answers over a Parquet file, compared in plain Python with the rows that pyarrow reads."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

import lamella
from lamella import Store
from lamella.core.arrow.nested_values import python_value, python_values
from lamella.core.datasets.base import Dataset
from lamella.core.errors import LamellaError
from lamella.core.filters.expr import Filter, Predicate
from lamella.core.filters.kinds import COMPARABLE, COUNTED_KINDS, Kind, kind_of
from lamella.core.filters.operators import fits
from lamella.core.query.find import Method, find_rows
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.view import View
from lamella.core.scan.read import live_positions, row_at
from lamella.core.scan.snapshot import SortKey
from lamella.core.store.importing import import_file, table_columns

NEAR = [dt.datetime(1970, 1, 1), None, dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(1677, 9, 22)]


def written(path: Path, rows: pa.Table, **options: Any) -> Path:
    pq.write_table(rows, path, **options)
    return path


def times(values: list, path: Path, **more: list) -> Path:
    columns = {name: pa.array(moments, pa.timestamp("us")) for name, moments in {"t": values, **more}.items()}
    return written(path, pa.table(columns), use_deprecated_int96_timestamps=True)


ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
}
STEPS = ("page", "filter", "sort", "profile", "sql", "import")


class Reference:
    """The rows as pyarrow reads them, times of 96 bits in `int96_unit`."""

    def __init__(self, path: Path, int96_unit: str | None, probes: Sequence[float]) -> None:
        self.probes = probes
        schema = pq.read_metadata(path).schema
        has_uuids = any(schema.column(i).logical_type.type == "UUID" for i in range(len(schema)))
        options = {"coerce_int96_timestamp_unit": int96_unit, "arrow_extensions_enabled": has_uuids}
        with pq.ParquetFile(path, **options) as file:
            self.rows = file.read()

    def leaves(self) -> Iterator[tuple[str, pa.ChunkedArray]]:
        """Columns without lists in them, and the fields inside structs, by the names that reach them."""
        leaves = list(_leaves("", zip(self.rows.schema.names, self.rows.columns, strict=True)))
        times = [name for name, _ in leaves]
        yield from ((name, column) for name, column in leaves if times.count(name) == 1)


def _leaves(before: str, columns: Any) -> Iterator[tuple[str, pa.ChunkedArray]]:
    for name, column in columns:
        yield before + name, column
        if is_.is_struct(column.type):
            fields = zip([f.name for f in column.type], column.flatten(), strict=True)
            yield from _leaves(f"{before}{name}.", fields)


def problems(path: Path, scratch: Path, steps: Sequence[str] = STEPS, thorough: bool = True) -> list[str]:
    """Every difference, in words; none where all answers are right. Errors of ours are raised.

    `thorough`: columns are compared with their extremes too, not with a value between them alone.
    """
    dataset = lamella.open_dataset(path)
    reference = Reference(path, _int96_unit(dataset, path), probes=(0, 0.5, 1) if thorough else (0.5,))
    faults = list(_shape(dataset, reference))
    if faults:
        return faults
    checks = {"page": _pages, "filter": _filters, "sort": _sorts, "profile": _profiles, "sql": _sql}
    for step in steps:
        if step == "import":
            faults += [f"import: {fault}" for fault in _import(path, scratch, reference)]
        else:
            faults += [f"{step}: {fault}" for fault in checks[step](dataset, reference)]
    return faults


def refusals(path: Path, scratch: Path) -> list[str]:
    """The messages for a file that pyarrow cannot read, at each step: errors of ours, or an answer if the
    step did not need the damaged part. Any other exception is raised."""
    try:
        dataset = lamella.open_dataset(path)
    except LamellaError as error:
        return [str(error)]
    said = []

    def ask(question: Callable[[], object]) -> None:
        try:
            question()
        except LamellaError as error:
            said.append(str(error))

    snapshot = dataset.snapshot()
    ask(lambda: View(snapshot).page(0, 100))
    ask(lambda: lamella.sql("select * from t", {"t": dataset}))
    for name in snapshot.schema.names:
        ask(lambda name=name: View(snapshot, ScanQuery(where=Predicate(name, "not_null"))).page(0, 10))
        ask(lambda name=name: View(snapshot, ScanQuery(sort=(SortKey(name),))).page(0, 10))
        ask(lambda name=name: dataset.read(where=Predicate(name, "is_null")))
        ask(lambda name=name: dataset.profile(name))
    with Store.open(scratch / "refused") as store:
        ask(lambda: import_file(path, store, "t"))
    return said


def _int96_unit(dataset: Dataset, path: Path) -> str | None:
    """The dataset's unit, if pyarrow has nanoseconds in the same place."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
    if not any(leaf.physical_type == "INT96" for leaf in leaves):
        return None
    return "us" if "timestamp[us]" in str(dataset.schema) else "ns"


def _shape(dataset: Dataset, reference: Reference) -> Iterator[str]:
    if dataset.num_rows != reference.rows.num_rows:
        yield f"open: {dataset.num_rows} rows instead of {reference.rows.num_rows}"
    if dataset.schema.names != reference.rows.schema.names:
        yield f"open: columns {dataset.schema.names} instead of {reference.rows.schema.names}"
    elif dataset.schema.types != reference.rows.schema.types:
        yield f"open: types {dataset.schema.types} instead of {reference.rows.schema.types}"


def _alike(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    return left.type == right.type and (left.equals(right) or _texts(left) == _texts(right))


def _texts(values: pa.ChunkedArray) -> list[str]:
    """NaN is equal to itself here, and zero is not to minus zero."""
    return [repr(value) for value in python_values(values)]


def _different(rows: pa.Table, expected: pa.Table) -> Iterator[str]:
    if rows.num_rows != expected.num_rows:
        yield f"{rows.num_rows} rows instead of {expected.num_rows}"
        return
    for name, column, expected_column in zip(
        expected.schema.names, rows.columns, expected.columns, strict=True
    ):
        if not _alike(column, expected_column):
            yield _first_difference(name, column, expected_column)


def _first_difference(name: str, left: pa.ChunkedArray, right: pa.ChunkedArray) -> str:
    if left.type != right.type:
        return f"'{name}' is {left.type} instead of {right.type}"
    pairs = enumerate(zip(_texts(left), _texts(right), strict=True))
    at, (ours, theirs) = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
    return f"'{name}' in row {at} is {ours[:80]} instead of {theirs[:80]}"


def _pages(dataset: Dataset, reference: Reference) -> Iterator[str]:
    snapshot, rows = dataset.snapshot(), reference.rows
    yield from _different(dataset.read(), rows)
    half = rows.num_rows // 2
    yield from _different(View(snapshot).page(half, 50), rows.slice(half, 50))
    if rows.num_rows:
        columns = snapshot.columns
        (last,) = live_positions(snapshot, np.array([rows.num_rows - 1])).tolist()
        actual = [repr(value) for value in row_at(snapshot, last, columns).values()]
        expected = [repr(python_value(column[rows.num_rows - 1])) for column in rows.columns]
        if actual != expected:
            yield f"the last row is {actual} instead of {expected}"


def _keys(column: pa.ChunkedArray) -> list[Any] | None:
    """The keys by which values are ordered and compared, null for null; None if they cannot be compared."""
    kind = column.type.value_type if is_.is_dictionary(column.type) else column.type
    if kind_of(kind) not in COMPARABLE:
        return None
    if is_.is_dictionary(column.type):
        column = column.cast(kind)
    if kind_of(kind) in COUNTED_KINDS:
        return [scalar.value if scalar.is_valid else None for scalar in column]
    values = python_values(column)
    if kind_of(kind) is Kind.FLOAT:
        return [None if v is None else (math.isnan(v), 0.0 if math.isnan(v) else v) for v in values]
    return [v.encode() if isinstance(v, str) else v for v in values]


def _probes(
    column: pa.ChunkedArray, keys: Sequence[Any], shares: Sequence[float]
) -> Iterator[tuple[Any, Any]]:
    """The values behind these shares of the others: as a filter takes them, and what they compare by."""
    places = sorted((i for i, key in enumerate(keys) if key is not None), key=lambda i: keys[i])
    for place in dict.fromkeys(places[round(share * (len(places) - 1))] for share in shares if places):
        try:
            value = python_value(column[place])
        except ValueError:  # nanoseconds that Python's own times do not have
            continue
        is_far = kind_of(column.type) in COUNTED_KINDS and not is_.is_duration(column.type)
        if is_far and isinstance(value, (str, int)):
            continue
        yield value, keys[place]


def _conditions(
    name: str, column: pa.ChunkedArray, keys: Sequence[Any] | None, shares: Sequence[float]
) -> Iterator[tuple[Filter, list[int]]]:
    """Conditions, and the rows that meet them."""
    nulls = set(np.flatnonzero(~np.asarray(column.is_valid())).tolist())
    everything = range(len(column))
    yield Predicate(name, "is_null"), sorted(nulls)
    yield ~Predicate(name, "is_null"), [i for i in everything if i not in nulls]
    if keys is None:
        return
    for value, key in _probes(column, keys, shares):
        for operator, holds in ORDERS.items():
            if fits(operator, column.type):
                met = [i for i in everything if keys[i] is not None and holds(keys[i], key)]
                if operator == "ne":
                    met = [i for i in everything if keys[i] is None or keys[i] != key]
                yield Predicate(name, operator, (value,)), met
                if operator in ("lt", "gte"):
                    yield ~Predicate(name, operator, (value,)), sorted(set(everything) - set(met))
        if fits("in", column.type):
            yield Predicate(name, "in", (value,)), [i for i in everything if keys[i] == key]


def _filters(dataset: Dataset, reference: Reference) -> Iterator[str]:
    snapshot = dataset.snapshot()
    for name, column in reference.leaves():
        if kind_of(column.type) is Kind.OTHER and not is_.is_struct(column.type):
            continue
        for where, expected in _conditions(name, column, _keys(column), reference.probes):
            by_mask = find_rows(snapshot, where, method=Method.MASKS).tolist()
            by_engine = find_rows(snapshot, where, method=Method.DUCKDB).tolist()
            for engine, met in (("masks", by_mask), ("DuckDB", by_engine)):
                if met != expected:
                    answer = f"{met[:9]}… ({len(met)}) by {engine}"
                    yield f"{where} is met by {answer}, not by {expected[:9]}… ({len(expected)})"


def _sorts(dataset: Dataset, reference: Reference) -> Iterator[str]:
    for name, column in reference.leaves():
        keys = _keys(column)
        if keys is None:
            continue
        present = [i for i, key in enumerate(keys) if key is not None]
        nulls = [i for i, key in enumerate(keys) if key is None]
        for descending in (False, True):
            order = sorted(present, key=lambda i: keys[i], reverse=descending) + nulls
            view = View(dataset.snapshot(), ScanQuery(sort=(SortKey(name, descending),)))
            placed = view.positions(0, view.num_rows).tolist()
            if placed != order:
                down = " descending" if descending else ""
                yield f"by '{name}'{down}: {placed[:9]}…, not {order[:9]}…"


def _profiles(dataset: Dataset, reference: Reference) -> Iterator[str]:
    for name, column in reference.leaves():
        keys, profile = _keys(column), dataset.profile(name)
        counts = (profile.rows, profile.nulls)
        if counts != (len(column), column.null_count):
            yield f"'{name}' has (rows, nulls) {counts} instead of {(len(column), column.null_count)}"
        if keys is None:
            continue
        present = [key for key in keys if key is not None]
        if profile.distinct != len(set(present)):
            yield f"'{name}' has {profile.distinct} distinct values instead of {len(set(present))}"
        if kind_of(column.type) is Kind.FLOAT:
            present = [key for key in present if not key[0]]
        for end, place in (("min", min), ("max", max)):
            expected = None
            if present:
                expected = python_value(column[keys.index(place(present))])
            if repr(getattr(profile, end)) != repr(expected) and getattr(profile, end) != expected:
                yield f"'{name}' has {end} {getattr(profile, end)!r} instead of {expected!r}"


def _sql(dataset: Dataset, reference: Reference) -> Iterator[str]:
    try:
        rows = lamella.sql("select * from t", {"t": dataset})
    except LamellaError as error:
        if "has no name for its column" in str(error):
            return
        raise
    if rows.num_rows != reference.rows.num_rows:
        yield f"select * gives {rows.num_rows} rows instead of {reference.rows.num_rows}"
        return
    for (name, column), answer in zip(
        zip(reference.rows.schema.names, reference.rows.columns, strict=True), rows.columns, strict=True
    ):
        if not _alike(answer, column):
            yield _first_difference(name, answer, column)
        quoted = '"' + name.replace('"', '""') + '"'
        counted = lamella.sql(f"select count(*) a, count({quoted}) b from t", {"t": dataset}).to_pylist()
        if list(counted[0].values()) != [len(column), len(column) - column.null_count]:
            yield f"'{name}' is counted as {counted}"


def _import(path: Path, scratch: Path, reference: Reference) -> Iterator[str]:
    with Store.open(scratch / "imported") as store:
        table = import_file(path, store, "t")
        names = table_columns(reference.rows.schema.names)
        rows = table.read(columns=names)
        for name, column in zip(names, reference.rows.columns, strict=True):
            if _texts(rows.column(name)) != _texts(column):
                yield f"'{name}' changed"
        if table.num_rows != reference.rows.num_rows:
            yield f"{table.num_rows} rows instead of {reference.rows.num_rows}"
        store.drop_table("t")
