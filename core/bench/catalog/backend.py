"""What a system that keeps objects, or entities beside objects, can be asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from lamella.core.bench.backends.base import Backend
from lamella.core.bench.entities.backend import EntityBackend
from lamella.core.bench.entities.data import Entity


class ObjectBackend(Backend):
    """Bytes by key, as an object store has them; a key is "prefix/name". Every put is one commit."""

    @abstractmethod
    def fill(self, made: list[Entity]) -> None:
        """Make the database, with these entities in it where it keeps any."""

    @abstractmethod
    def put_object(self, key: str, body: bytes) -> None:
        """Whole or not at all."""

    @abstractmethod
    def get_object(self, key: str) -> bytes: ...

    @abstractmethod
    def head_object(self, key: str) -> int:
        """How many bytes it has; they are not read."""

    @abstractmethod
    def list_objects(self, prefix: str) -> Sequence[str]:
        """The keys under a prefix, in order."""


class CatalogBackend(ObjectBackend, EntityBackend):
    """Entities and objects in one database."""

    @abstractmethod
    def tables(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table, ids left out: what its catalog says."""

    @abstractmethod
    def create_one(self, entity: Entity) -> int:
        """Its id."""

    @abstractmethod
    def names_rated(self, rating: float, limit: int) -> Sequence[str]:
        """The names of the first entities of this rating, in order of id."""
