"""Changed cells of single rows, laid over what the segments hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.arrays import take

Changed = tuple[np.ndarray, pa.Array]
"""Ascending positions and the new value at each."""


@dataclass(frozen=True, eq=False)
class Part:
    """What one commit changed: ascending positions, and by column key a value for each. `places` are those
    of the values that are meant, None for all."""

    positions: np.ndarray
    values: Mapping[int, pa.Array]
    places: np.ndarray | None = None

    def column(self, key: int) -> pa.Array:
        return self.values[key] if self.places is None else take(self.values[key], self.places)


class Overlay:
    """Changed cells by column key, oldest first; a column's are put together when they are first asked for.
    Any thread."""

    def __init__(self, types: Mapping[int, pa.DataType], parts: Sequence[Part]) -> None:
        self.types, self._parts = types, tuple(parts)
        self._merged: dict[int, tuple[int, Changed | None]] = {}

    def changed(self, key: int) -> Changed | None:
        """The last value that each changed cell of a column was given, None where there are none."""
        seen, merged = self._merged.get(key, (0, None))
        later = [part for part in self._parts[seen:] if key in part.values] if key in self.types else []
        if later:
            merged = self._put_together(key, merged, later)
        self._merged[key] = (len(self._parts), merged)
        return merged

    def of_row(self, position: int) -> dict[int, pa.Scalar]:
        """The changed cells of one row by column key; only what a file holds is put together for it."""
        found: dict[int, tuple[Part, int]] = {}
        for part in self._parts:
            place = int(part.positions.searchsorted(position))
            if place < len(part.positions) and part.positions[place] == position:
                found.update((key, (part, place)) for key in part.values if key in self.types)
        return {key: self._cell(key, position, part, place) for key, (part, place) in found.items()}

    def followed_by(self, types: Mapping[int, pa.DataType], parts: Iterable[Part]) -> Overlay:
        """With later changes on top, in columns of these types."""
        following = Overlay(types, (*self._parts, *parts))
        if types is self.types:
            following._merged = dict(self._merged)
        return following

    def _cell(self, key: int, position: int, part: Part, place: int) -> pa.Scalar:
        if isinstance(part.values, dict):
            cell = part.values[key][place if part.places is None else int(part.places[place])]
            return cell if cell.type.equals(self.types[key]) else cell.cast(self.types[key])
        positions, values = self.changed(key) or (part.positions, part.column(key))
        return values[int(positions.searchsorted(position))]

    def _put_together(self, key: int, before: Changed | None, later: Sequence[Part]) -> Changed:
        found = [before] if before else []
        found += [(part.positions, self._typed(key, part.column(key))) for part in later]
        if len(found) == 1:
            return found[0]
        positions = np.concatenate([places for places, _ in found])
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        last = order[np.append(ordered[1:] != ordered[:-1], True)]
        return positions[last], take(pa.concat_arrays([values for _, values in found]), last)

    def _typed(self, key: int, values: pa.Array) -> pa.Array:
        kind = self.types[key]
        return values if values.type.equals(kind) else values.cast(kind)
