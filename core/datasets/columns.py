"""The columns of several Parquet files as those of one dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from lamella.core.errors import FileProblem
from lamella.core.scan.footers import Footer
from lamella.core.scan.snapshot import Column
from lamella.core.widening import common_type

_EXACT_INTEGERS = range(-(1 << 53), (1 << 53) + 1)


class FileColumns:
    """Columns by name, in the order they were first seen, with a type for the values of all files."""

    def __init__(self, coarse_int96: bool = False) -> None:
        """`coarse_int96`: times of 96 bits are in microseconds in some of the files, and so in all in which
        that changes none."""
        self._coarse_int96 = coarse_int96
        self._keys: dict[str, int] = {}
        self._types: list[pa.DataType] = []
        self._seen_in: list[Footer] = []
        self._whole_and_double: set[str] = set()
        self._last: tuple[Footer, dict[int, str]] | None = None

    def take(self, told: Footer) -> dict[int, str]:
        """Add a file's columns; answers its names by key. Files that are alike share one answer."""
        if self._last and self._are_alike(told, self._last[0]):
            return self._last[1]
        _refuse_duplicates(told)
        names = {self._key(field, told): field.name for field in self._schema(told)}
        self._last = (told, names)
        return names

    def unified(self, footers: Sequence[Footer]) -> tuple[Column, ...]:
        """The columns of all the files taken; raises `FileProblem` where a value would change."""
        for name in self._whole_and_double:
            self._refuse_inexact(name, footers)
        return tuple(Column(name, self._types[key], key) for name, key in self._keys.items())

    def _are_alike(self, told: Footer, other: Footer) -> bool:
        if not told.metadata.schema.equals(other.metadata.schema):
            return False
        return other.int96 is None or self._schema(told).equals(self._schema(other))

    def _schema(self, told: Footer) -> pa.Schema:
        coarse = self._coarse_int96 and told.int96 is not None and told.int96.whole
        return told.coarse_schema if coarse else told.schema

    def _key(self, field: pa.Field, told: Footer) -> int:
        key = self._keys.setdefault(field.name, len(self._types))
        if key == len(self._types):
            self._types.append(field.type)
            self._seen_in.append(told)
            return key
        wide = common_type(self._types[key], field.type)
        if wide is None and _is_whole_and_double(self._types[key], field.type):
            self._whole_and_double.add(field.name)
            wide = pa.float64()
            if pa.types.is_floating(field.type):
                self._seen_in[key] = told
        if wide is None:
            raise self._conflict(field, told)
        self._types[key] = wide
        return key

    def _refuse_inexact(self, name: str, footers: Sequence[Footer]) -> None:
        """Whole numbers here, doubles there: what gaps make of a column on its way through pandas. It is
        one column of doubles when the statistics say that each whole number is exact as one."""
        for told in footers:
            place = told.schema.get_field_index(name)
            if (
                place >= 0
                and pa.types.is_integer(told.schema.field(place).type)
                and not _fits_double(told, name)
            ):
                raise self._conflict(told.schema.field(place), told)

    def _conflict(self, field: pa.Field, told: Footer) -> FileProblem:
        key = self._keys[field.name]
        return FileProblem(
            told.path,
            f"column '{field.name}' is {field.type} here but {self._types[key]} in {self._seen_in[key].path}",
            "Rows of both cannot stand in one column without changing values",
            "Open the files one by one",
        )


def _is_whole_and_double(a: pa.DataType, b: pa.DataType) -> bool:
    whole, double = (a, b) if pa.types.is_integer(a) else (b, a)
    return bool(pa.types.is_integer(whole) and pa.types.is_float64(double))


def _fits_double(told: Footer, name: str) -> bool:
    """Whether statistics of every row group keep the column within what doubles hold exactly."""
    groups = (told.metadata.row_group(number) for number in range(told.metadata.num_row_groups))
    for group in groups:
        column = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == name)
        known = column.statistics
        if known is None or not known.has_min_max:
            empty = known is not None and known.has_null_count and known.null_count == column.num_values
            if not empty:
                return False
        elif known.min not in _EXACT_INTEGERS or known.max not in _EXACT_INTEGERS:
            return False
    return True


def _refuse_duplicates(told: Footer) -> None:
    name, times = max(Counter(told.schema.names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise FileProblem(
            told.path,
            f"has {times} columns named '{name}'",
            "Parquet columns are found by name, so they cannot be told apart",
            "Write the file again with different names",
        )
