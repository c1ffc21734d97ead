"""The systems under test. One table; a system's module is imported only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from core.bench.backends.base import Backend
from core.errors import LamellaError, UnknownName


class UnknownBackend(UnknownName):
    kind = "backend"


class MissingBackend(LamellaError):
    """A backend whose package is not installed here."""


@dataclass(frozen=True)
class Entry:
    """Where a backend's class is. `requires` is the module it cannot do without, `extra` what installs it."""

    id: str
    title: str
    place: str
    requires: str | None = None
    extra: str = "bench"

    @property
    def missing(self) -> str:
        """Why it cannot run here and the command that mends it; empty when it can."""
        if self.requires is None or find_spec(self.requires) is not None:
            return ""
        return f'The package {self.requires} is not installed. Run: pip install "lamella[{self.extra}]"'


ENTRIES = {
    entry.id: entry
    for entry in (
        Entry("lamella", "Lamella", "core.bench.backends.lamella:Lamella"),
        Entry("sqlite", "SQLite (synchronous off)", "core.bench.backends.sqlite:SQLite"),
        Entry("sqlite-wal", "SQLite (WAL, synchronous full)", "core.bench.backends.sqlite:SQLiteWal"),
    )
}


def entry_named(name: str) -> Entry:
    """One of the table, or `package.module:Class` for a backend of somebody's own.

    Raises UnknownBackend, with the nearest name, for anything else.
    """
    if name in ENTRIES:
        return ENTRIES[name]
    if ":" in name:
        return Entry(name, name.rpartition(":")[2], name)
    raise UnknownBackend(name, "The benchmark", ENTRIES)


def load(name: str) -> type[Backend]:
    """The backend's class. Raises UnknownBackend, or MissingBackend naming what to install."""
    entry = entry_named(name)
    if entry.missing:
        raise MissingBackend(f"{entry.title} cannot take part", entry.missing)
    module, _, class_name = entry.place.partition(":")
    try:
        backend: type[Backend] = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise MissingBackend(f"The backend {name} cannot be loaded", str(error)) from error
    return backend


__all__ = ["ENTRIES", "Backend", "Entry", "MissingBackend", "UnknownBackend", "entry_named", "load"]
