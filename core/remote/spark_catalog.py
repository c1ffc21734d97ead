"""Browsing a Spark server: its catalogs, their databases and tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from lamella.core.errors import BadData
from lamella.core.jobs import Job
from lamella.core.remote.spark_connect import (
    ServerAddress,
    SparkServer,
    is_server_address,
    parse_address,
    server_at,
    split_parameters,
)


@dataclass(frozen=True)
class CatalogFolder:
    """A server, one of its catalogs, or one of their databases; `parts` are the names. Its address ends with
    a slash, `sc://host:15002/lake/sales/`; that of a table does not."""

    server: ServerAddress
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        inside = "".join(f"{quote(part, safe=' ')}/" for part in self.parts)
        return (
            f"{replace(self.server, use_ssl=False)}/{inside}{';use_ssl=true' if self.server.use_ssl else ''}"
        )

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else self.server.host

    @property
    def parent(self) -> CatalogFolder | None:
        return CatalogFolder(self.server, self.parts[:-1]) if self.parts else None

    @classmethod
    def parse(cls, text: str) -> CatalogFolder | None:
        """Return None for the address of a table, or one that is not of a Spark server. Raises `BadData`."""
        if not is_server_address(text):
            return None
        plain, parameters = split_parameters(text.strip())
        root, _, inside = plain.removeprefix("sc://").partition("/")
        if inside and not inside.endswith("/"):
            return None
        server, _ = parse_address(f"sc://{root}/{parameters}")
        parts = tuple(unquote(part) for part in inside.split("/") if part)
        if len(parts) > 2:
            raise BadData(
                f"'{text}' does not name a catalog or database",
                fix=f"Write it as {server}/catalog/database/",
            )
        return cls(server, parts)

    @classmethod
    def holding(cls, address: str) -> CatalogFolder:
        """Return the folder in which a table is listed; the server for a path, or for a name without its
        catalog."""
        server, table = parse_address(address)
        return cls(server, table.parts[:-1] if table is not None and len(table.parts) == 3 else ())


@dataclass(frozen=True)
class CatalogEntry:
    """An entry of a folder: another folder, or a table."""

    name: str
    address: str
    is_folder: bool
    status: None = None


def look_into(
    folder: CatalogFolder, job: Job, past_single: bool = True
) -> tuple[CatalogFolder, list[CatalogEntry]]:
    """List a folder; return the folder that was listed, and its entries. With `past_single`, if the only
    entry is a folder, that one is listed instead. Blocks. Raises `ServerProblem` and `ServerRefusal`."""
    server = server_at(folder.server)
    job.report(0, None, f"Listing {folder}")
    entries = _entries(folder, server, job)
    if past_single and len(entries) == 1 and entries[0].is_folder:
        inside = CatalogFolder.parse(entries[0].address)
        assert inside is not None
        return look_into(inside, job)
    return folder, entries


def _entries(folder: CatalogFolder, server: SparkServer, job: Job) -> list[CatalogEntry]:
    if len(folder.parts) == 2:
        tables = server.tables(folder.parts, job)
        return [CatalogEntry(table.name, folder.server.of(table), False) for table in tables]
    names = server.databases(folder.name, job) if folder.parts else server.catalogs(job)
    inside = [CatalogFolder(folder.server, (*folder.parts, name)) for name in names]
    return [CatalogEntry(name.name, str(name), True) for name in inside]
