"""The columns of a record batch, by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import pyarrow as pa


class BatchValues(Mapping[int, pa.Array]):
    """Of a hundred columns of one row most are only kept and written, so each becomes an object of Python's
    when it is asked for. None is a dictionary, which could not be written without what it holds. `places`
    tell where each is in the batch."""

    def __init__(self, keys: tuple[int, ...], batch: pa.RecordBatch) -> None:
        self.batch, self.places = batch, _places(keys)

    def __getitem__(self, key: int) -> pa.Array:
        return self.batch.column(self.places[key])

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def named_by_key(values: Mapping[int, pa.Array]) -> pa.RecordBatch:
    """The columns as one batch, under the names `str(key)`."""
    names = list(map(str, values))
    if isinstance(values, BatchValues):
        return values.batch.rename_columns(names)
    return pa.RecordBatch.from_arrays(list(values.values()), names=names)


@lru_cache(maxsize=64)
def _places(keys: tuple[int, ...]) -> Mapping[int, int]:
    return {key: place for place, key in enumerate(keys)}
