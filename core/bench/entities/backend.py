"""What a system that keeps entities can be asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from core.bench.backends.base import Backend
from core.bench.entities.data import Entity


class EntityBackend(Backend):
    """Every change is one commit. What a system needs of an entity first is part of the time."""

    @property
    def columns(self) -> int:
        return 7

    @abstractmethod
    def fill(self, made: list[Entity]) -> None:
        """Make the table with these in it."""

    @abstractmethod
    def ids(self) -> list[int]:
        """What the system itself calls them, in the order they came."""

    @abstractmethod
    def get(self, row_id: int) -> Any: ...

    @abstractmethod
    def as_entity(self, answer: Any) -> Entity:
        """What `get` gave, as it was put in."""

    @abstractmethod
    def create(self, made: list[Entity]) -> None: ...

    @abstractmethod
    def set_field(self, row_id: int, name: str, value: Any) -> None: ...

    @abstractmethod
    def increment(self, row_id: int, name: str, by: int) -> None: ...

    @abstractmethod
    def push(self, row_id: int, name: str, value: str) -> None:
        """Append to a list."""

    @abstractmethod
    def delete(self, row_id: int) -> None: ...

    @abstractmethod
    def contents(self) -> Iterator[Entity]: ...
