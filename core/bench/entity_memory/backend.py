"""What a system is asked for its memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import pyarrow as pa

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.entity_memory.data import SCHEMA


class EntityMemory(Backend):
    """A table for each size of payload, in one database."""

    @property
    def columns(self) -> int:
        return len(SCHEMA)

    @abstractmethod
    def fill(self, table: str, made: pa.RecordBatchReader) -> None: ...

    @abstractmethod
    def ready(self, table: str) -> None:
        """What the open database does before a question about this table; no part of its memory."""

    @abstractmethod
    def result(self, table: str) -> Any:
        """Every column of the rows whose group is 1."""

    @abstractmethod
    def hold(self, table: str) -> Any:
        """Every row and column."""

    @abstractmethod
    def numbers(self, answer: Any) -> list[int]:
        """The numbers of an answer's rows."""
