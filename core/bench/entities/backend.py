"""What a system that keeps entities can be asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.entities.data import FIELDS, Entity

Id = Any
"""What the system itself calls an entity."""


class EntityBackend(Backend):
    """Every change is one commit. What a system needs of an entity first is part of the time.

    The operators mean what MongoDB says they mean; a field that was taken away may be null instead.
    """

    @property
    def columns(self) -> int:
        return len(FIELDS)

    @abstractmethod
    def fill(self, made: list[Entity]) -> None:
        """Make the table with these in it."""

    @abstractmethod
    def ids(self) -> list[Id]:
        """Of all that are there, in the order they came."""

    @abstractmethod
    def get(self, row_id: Id) -> Any: ...

    @abstractmethod
    def as_entity(self, answer: Any) -> Entity:
        """What `get` gave, as it was put in: without the id, and None for a field that was taken away."""

    @abstractmethod
    def create(self, made: list[Entity]) -> None: ...

    @abstractmethod
    def set_fields(self, row_id: Id, values: Mapping[str, Any]) -> None:
        """$set of one field or several."""

    @abstractmethod
    def increment(self, row_id: Id, name: str, by: int) -> None:
        """$inc."""

    @abstractmethod
    def push(self, row_id: Id, name: str, value: str) -> None:
        """$push: append to a list."""

    @abstractmethod
    def add_to_set(self, row_id: Id, name: str, value: str) -> None:
        """$addToSet: append to a list that lacks it, leave any other as it is."""

    @abstractmethod
    def pull(self, row_id: Id, name: str, value: str) -> None:
        """$pull: take every item that equals it out of a list; the others keep their order."""

    @abstractmethod
    def unset(self, row_id: Id, name: str) -> None:
        """$unset."""

    @abstractmethod
    def delete(self, row_ids: Sequence[Id]) -> None:
        """One or many."""

    @abstractmethod
    def contents(self) -> Iterator[Entity]:
        """All of them, each as `as_entity` would give it."""
