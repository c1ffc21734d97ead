"""Changed cells on top of stored segments; applies them to arrays that are read, and removes deleted rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import from_numpy, take, to_numpy

PlacedValues = tuple[np.ndarray, pa.Array]
"""Ascending positions, and the new value at each."""


class StoredValues(Mapping[int, pa.Array]):
    """Values that are read on each access; reading several columns at once costs little more than one."""

    @abstractmethod
    def read(self, keys: Sequence[int]) -> Mapping[int, pa.Array]: ...


@dataclass(frozen=True, eq=False)
class Part:
    """The changes of one commit: ascending positions, and by column key a value for each. `places` are the
    indices of the values that apply, None for all."""

    positions: np.ndarray
    values: Mapping[int, pa.Array]
    places: np.ndarray | None = None

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first and the last position."""
        return int(self.positions[0]), int(self.positions[-1])

    def columns(self, keys: Sequence[int]) -> dict[int, pa.Array]:
        """The values of those of these columns that changed."""
        own_keys = [key for key in keys if key in self.values]
        values = (
            self.values.read(own_keys) if isinstance(self.values, StoredValues) and own_keys else self.values
        )
        return {
            key: values[key] if self.places is None else take(values[key], self.places) for key in own_keys
        }


class Overlay:
    """Changed cells by column key, oldest first; those of a column are merged when it is first read. Any
    thread may use it."""

    def __init__(self, types: Mapping[int, pa.DataType], parts: Sequence[Part]) -> None:
        self.types, self._parts = types, tuple(parts)
        self._merged_parts: dict[int, tuple[int, PlacedValues | None]] = {}

    def changes_of(self, key: int) -> PlacedValues | None:
        """The last value of each changed cell of a column; None if there are none."""
        count, merged = self._merged_parts.get(key, _NOTHING)
        if count == len(self._parts):
            return merged
        self.merge([key])
        return self._merged_parts[key][1]

    def merge(self, keys: Sequence[int]) -> None:
        """Merge the changes of these columns; reads each file's part of them in one go."""
        before = {key: self._merged_parts.get(key, _NOTHING) for key in keys}
        behind = {key: count for key, (count, _) in before.items() if count < len(self._parts)}
        parts = {key: [before[key][1]] for key in behind}
        for number in range(min(behind.values(), default=0), len(self._parts) if behind else 0):
            part = self._parts[number]
            behind_keys = [key for key, count in behind.items() if number >= count and key in self.types]
            for key, values in part.columns(behind_keys).items():
                parts[key].append((part.positions, self._to_type(key, values)))
        last = _Last()
        for key, changes in parts.items():
            self._merged_parts[key] = (len(self._parts), last.of([c for c in changes if c is not None]))

    def of_row(self, position: int) -> dict[int, pa.Scalar]:
        """The changed cells of one row by column key; only columns stored in files are merged for it."""
        parts: dict[int, tuple[Part, int]] = {}
        for part in self._parts:
            low, high = part.span
            if not low <= position <= high:
                continue
            place = int(part.positions.searchsorted(position))
            if part.positions[place] == position:
                parts.update((key, (part, place)) for key in part.values if key in self.types)
        self.merge([key for key, (part, _) in parts.items() if isinstance(part.values, StoredValues)])
        return {key: self._cell(key, position, part, place) for key, (part, place) in parts.items()}

    def with_later_changes(self, types: Mapping[int, pa.DataType], parts: Iterable[Part]) -> Overlay:
        """An overlay with later changes on top, in columns of these types."""
        following = Overlay(types, (*self._parts, *parts))
        if types is self.types:
            following._merged_parts = dict(self._merged_parts)
        return following

    def _cell(self, key: int, position: int, part: Part, place: int) -> pa.Scalar:
        if not isinstance(part.values, StoredValues):
            cell = part.values[key][place if part.places is None else int(part.places[place])]
            return cell if cell.type.equals(self.types[key]) else cell.cast(self.types[key])
        changed = self.changes_of(key)
        assert changed is not None
        positions, values = changed
        return values[int(positions.searchsorted(position))]

    def _to_type(self, key: int, values: pa.Array) -> pa.Array:
        kind = self.types[key]
        return values if values.type.equals(kind) else values.cast(kind)


_NOTHING: tuple[int, PlacedValues | None] = (0, None)


class _Last:
    """Merges cells that were changed several times. Columns that changed in the same rows share their
    positions, which are sorted once."""

    def __init__(self) -> None:
        self._cache: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def of(self, changes: Sequence[PlacedValues]) -> PlacedValues | None:
        """Merge changes, given in the order in which they were made, each with ascending positions."""
        if len(changes) < 2:
            return changes[0] if changes else None
        rows = tuple(id(positions) for positions, _ in changes)
        if rows not in self._cache:
            self._cache[rows] = _last_positions([positions for positions, _ in changes])
        positions, last = self._cache[rows]
        return positions, take(pa.concat_arrays([values for _, values in changes]), last)


def _last_positions(places_of_parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct positions, and the index of the last occurrence of each in the concatenated parts."""
    positions = np.concatenate(places_of_parts)
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    last = order[np.append(ordered[1:] != ordered[:-1], True)]
    return positions[last], last


FEW_GAPS = 16
"""Up to this many rows are left out by slicing the same memory; more would make too many chunks."""


def patch_chunk(
    chunk: pa.ChunkedArray, places: np.ndarray, values: pa.Array, in_place: bool = False
) -> pa.ChunkedArray:
    """Put `values` into `chunk` at the given ascending indices; `in_place` if nobody else refers to its
    memory, which is then overwritten."""
    if chunk.num_chunks == 1:
        return pa.chunked_array([_patch_array(chunk.chunk(0), places, values, in_place)])
    parts, start = [], 0
    for part in chunk.chunks:
        low, high = places.searchsorted((start, start + len(part))).tolist()
        if low < high:
            parts.append(
                _patch_array(part, places[low:high] - start, values.slice(low, high - low), in_place)
            )
        else:
            parts.append(part)
        start += len(part)
    return pa.chunked_array(parts, chunk.type)


class Gaps:
    """The rows to leave out of columns of length `rows`: ascending, at least one."""

    def __init__(self, deleted: np.ndarray, rows: int) -> None:
        self._deletions, self._rows = deleted, rows

    @cached_property
    def _live(self) -> np.ndarray:
        live = np.ones(self._rows, bool)
        live[self._deletions] = False
        return live

    @cached_property
    def _kept_ranges(self) -> list[tuple[int, int]]:
        """The ranges [first, stop) between the rows to leave out."""
        firsts, stops = np.append(0, self._deletions + 1), np.append(self._deletions, self._rows)
        return [(a, b) for a, b in zip(firsts.tolist(), stops.tolist(), strict=True) if a < b]

    @cached_property
    def _mask(self) -> pa.BooleanArray:
        return from_numpy(self._live)

    def without(self, chunk: pa.ChunkedArray) -> pa.ChunkedArray:
        nested = pa.types.is_nested(chunk.type)  # pyarrow casts slices of structs wrongly
        if len(self._deletions) <= FEW_GAPS and not nested:
            parts = [part for low, high in self._kept_ranges for part in chunk.slice(low, high - low).chunks]
            return pa.chunked_array(parts, chunk.type)
        if chunk.type in _VIEWS:
            return take(chunk, np.flatnonzero(self._live))
        return chunk.filter(self._mask)


_VIEWS = (pa.string_view(), pa.binary_view())


def _patch_array(base: pa.Array, places: np.ndarray, values: pa.Array, in_place: bool) -> pa.Array:
    width = _width(base.type)
    if not width and not pa.types.is_boolean(base.type):
        indices = np.arange(len(base), dtype=np.int64)
        indices[places] = len(base) + np.arange(len(places))
        return take(pa.concat_arrays([base, values]), indices)
    if not in_place or not base.buffers()[1].is_mutable:
        base = take(base, np.arange(len(base)))
    valid, data = base.buffers()
    if width:
        _set_values(data, width, base.offset + places, values)
    else:
        _set_bits(data, base.offset + places, to_numpy(values))
    if base.null_count or values.null_count:
        valid = valid or _all_valid(base)
        _set_bits(valid, base.offset + places, to_numpy(values.is_valid()))
    return pa.Array.from_buffers(base.type, len(base), [valid, data], offset=base.offset)


def _width(kind: pa.DataType) -> int:
    """The bytes of a fixed-width value, else 0."""
    if pa.types.is_boolean(kind):
        return 0
    plain = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)
    return int(kind.byte_width) if plain else 0


def _set_values(data: pa.Buffer, width: int, places: np.ndarray, values: pa.Array) -> None:
    kind = np.dtype(f"u{width}" if width in (1, 2, 4, 8) else f"V{width}")
    old = np.frombuffer(data, kind, count=data.size // width)
    new = np.frombuffer(values.buffers()[1], kind, count=values.offset + len(values))
    old[places] = new[values.offset :]


def _set_bits(data: pa.Buffer, places: np.ndarray, flags: np.ndarray) -> None:
    octets = np.frombuffer(data, np.uint8)
    in_byte = np.left_shift(1, places & 7).astype(np.uint8)
    np.bitwise_or.at(octets, places[flags] >> 3, in_byte[flags])
    np.bitwise_and.at(octets, places[~flags] >> 3, ~in_byte[~flags])


def _all_valid(base: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.full((base.offset + len(base) + 7) // 8, 255, np.uint8))
