"""The systems under test. One table; a system's module is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from core.bench.backends.base import Backend
from core.errors import LamellaError, UnknownName


class UnknownBackend(UnknownName):
    kind = "backend"


class MissingBackend(LamellaError):
    """A backend whose package is not installed here, or that has no part in a workload."""


@dataclass(frozen=True)
class Entry:
    """Where a backend's classes are, by family of workloads.

    `requires` is the module it cannot do without, `extra` what installs it.
    """

    id: str
    title: str
    places: Mapping[str, str]
    requires: str | None = None
    extra: str = "bench"

    @property
    def missing(self) -> str:
        """Why it cannot run here and the command that mends it; empty when it can."""
        if self.requires is None or find_spec(self.requires) is not None:
            return ""
        return f'The package {self.requires} is not installed. Run: pip install "lamella[{self.extra}]"'

    def takes(self, family: str) -> bool:
        return family in self.places


ENTRIES = {
    entry.id: entry
    for entry in (
        Entry(
            "lamella",
            "Lamella",
            {
                "table": "core.bench.backends.lamella:Lamella",
                "entity": "core.bench.backends.lamella_entities:LamellaEntities",
            },
        ),
        Entry(
            "sqlite",
            "SQLite (synchronous off)",
            {
                "table": "core.bench.backends.sqlite:SQLite",
                "entity": "core.bench.backends.sqlite_entities:SQLiteEntities",
            },
        ),
        Entry(
            "sqlite-wal",
            "SQLite (WAL, synchronous full)",
            {
                "table": "core.bench.backends.sqlite:SQLiteWal",
                "entity": "core.bench.backends.sqlite_entities:SQLiteWalEntities",
            },
        ),
        Entry(
            "parquetdb",
            "ParquetDB",
            {"table": "core.bench.backends.parquetdb:ParquetDB"},
            requires="parquetdb",
        ),
        Entry(
            "pyarrow",
            "PyArrow (recipe)",
            {"table": "core.bench.backends.pyarrow:Recipe"},
        ),
        Entry(
            "pyarrow-tuned",
            "PyArrow (tuned)",
            {"table": "core.bench.backends.pyarrow:Tuned"},
        ),
    )
}


def entry_named(name: str) -> Entry:
    """One of the table, or `package.module:Class` for a backend of somebody's own.

    Raises UnknownBackend, with the nearest name, for anything else.
    """
    if name in ENTRIES:
        return ENTRIES[name]
    if ":" in name:
        return Entry(name, name.rpartition(":")[2], dict.fromkeys(("table", "entity"), name))
    raise UnknownBackend(name, "The benchmark", ENTRIES)


def load(name: str, family: str = "table") -> type[Backend]:
    """The backend's class. Raises UnknownBackend, or MissingBackend naming what to install."""
    entry = entry_named(name)
    if entry.missing:
        raise MissingBackend(f"{entry.title} cannot take part", entry.missing)
    if not entry.takes(family):
        raise MissingBackend(f"{entry.title} takes no part in workloads of the kind '{family}'")
    module, _, class_name = entry.places[family].partition(":")
    try:
        backend: type[Backend] = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise MissingBackend(f"The backend {name} cannot be loaded", str(error)) from error
    return backend


__all__ = ["ENTRIES", "Backend", "Entry", "MissingBackend", "UnknownBackend", "entry_named", "load"]
