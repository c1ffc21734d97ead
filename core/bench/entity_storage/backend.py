"""What holds entities as a whole, whether file or database."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.entities.data import FIELDS, SCHEMA, Entity


class EntityStorage(Backend):
    """The ids of databases come on top: a file has none."""

    @property
    def columns(self) -> int:
        return len(FIELDS)

    def prepare(self, made: list[Entity]) -> Any:
        """The form that `write` takes."""
        return pa.Table.from_pylist(made, SCHEMA)

    @abstractmethod
    def write(self, prepared: Any) -> None: ...

    @abstractmethod
    def read(self) -> Any: ...

    def as_table(self, answer: Any) -> pa.Table:
        """What `read` gave, as Arrow."""
        return answer
