"""The columns of a record batch, by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import pyarrow as pa

from lamella.core.errors import StoreProblem


class BatchValues(Mapping[int, pa.Array]):
    """Of a hundred columns of one row most are only kept and written. So a batch may be `packed`, an Arrow
    IPC record batch message without its schema, until a column is asked for, and each becomes an object of
    Python's only then. None is a dictionary, which could not be written without what it holds. `places` tell
    where each is in the batch, `about` what it is in a message. Raises `StoreProblem` where it is damaged."""

    def __init__(
        self, keys: tuple[int, ...], schema: pa.Schema, held: pa.RecordBatch | bytes, about: str = ""
    ) -> None:
        self.places, self.schema, self._about = _places(keys), schema, about
        self.packed = held if isinstance(held, bytes) else None
        self._batch = None if isinstance(held, bytes) else held

    @property
    def batch(self) -> pa.RecordBatch:
        if self._batch is None:
            self._batch = self._unpacked()
        return self._batch

    def _unpacked(self) -> pa.RecordBatch:
        try:
            return pa.ipc.read_record_batch(pa.py_buffer(self.packed), self.schema)
        except (pa.ArrowException, OSError, EOFError) as error:
            fix = "Verify the store, which tells what else is damaged, and restore a backup"
            raise StoreProblem(f"{self._about} cannot be read", str(error), fix) from error

    @property
    def message(self) -> bytes:
        """The batch as it is written."""
        message: bytes = self.batch.serialize().to_pybytes() if self.packed is None else self.packed
        return message

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
