"""The public names of Lamella, each imported when it is first used.

    from lamella import Store, col, open_dataset

`app`, `core`, `ui` and `resources` beside this file are links to the folders at the top of the repository.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # checkers know it; `typing` costs 2 ms
if TYPE_CHECKING:
    from lamella.core.datasets import open_dataset as open_dataset
    from lamella.core.datasets.sql import sql as sql
    from lamella.core.errors import BadData as BadData
    from lamella.core.errors import BadFilter as BadFilter
    from lamella.core.errors import BadQuery as BadQuery
    from lamella.core.errors import BadSearch as BadSearch
    from lamella.core.errors import BadSql as BadSql
    from lamella.core.errors import Cancelled as Cancelled
    from lamella.core.errors import FileProblem as FileProblem
    from lamella.core.errors import LamellaError as LamellaError
    from lamella.core.errors import NoRoom as NoRoom
    from lamella.core.errors import ReadOnlyStore as ReadOnlyStore
    from lamella.core.errors import StoreBusy as StoreBusy
    from lamella.core.errors import StoreProblem as StoreProblem
    from lamella.core.errors import StoreTooNew as StoreTooNew
    from lamella.core.errors import TookTooLong as TookTooLong
    from lamella.core.errors import TypeConflict as TypeConflict
    from lamella.core.errors import UnknownColumn as UnknownColumn
    from lamella.core.errors import UnknownName as UnknownName
    from lamella.core.errors import UnknownRelation as UnknownRelation
    from lamella.core.errors import UnknownRow as UnknownRow
    from lamella.core.errors import UnknownTable as UnknownTable
    from lamella.core.errors import UnknownVersion as UnknownVersion
    from lamella.core.errors import VersionConflict as VersionConflict
    from lamella.core.index.fulltext.snippets import Highlight as Highlight
    from lamella.core.query import agg as agg
    from lamella.core.query.comparison import compare as compare
    from lamella.core.query.expressions import col as col
    from lamella.core.remote.connections import Connection as Connection
    from lamella.core.remote.connections import Connections as Connections
    from lamella.core.store.store import Store as Store
    from lamella.core.transfer.exporting import export as export
    from lamella.core.transfer.saving import save_edits as save_edits

_ERRORS = (
    "BadData",
    "BadFilter",
    "BadQuery",
    "BadSearch",
    "BadSql",
    "Cancelled",
    "FileProblem",
    "LamellaError",
    "NoRoom",
    "ReadOnlyStore",
    "StoreBusy",
    "StoreProblem",
    "StoreTooNew",
    "TookTooLong",
    "TypeConflict",
    "UnknownColumn",
    "UnknownName",
    "UnknownRelation",
    "UnknownRow",
    "UnknownTable",
    "UnknownVersion",
    "VersionConflict",
)

# Modules by name, not imports: a benchmark's child process must load no more than the one system it measures.
_MODULES = {
    "Connection": "lamella.core.remote.connections",
    "Connections": "lamella.core.remote.connections",
    "Highlight": "lamella.core.index.fulltext.snippets",
    "Store": "lamella.core.store.store",
    "compare": "lamella.core.query.comparison",
    "col": "lamella.core.query.expressions",
    "export": "lamella.core.transfer.exporting",
    "open_dataset": "lamella.core.datasets",
    "save_edits": "lamella.core.transfer.saving",
    "sql": "lamella.core.datasets.sql",
} | dict.fromkeys(_ERRORS, "lamella.core.errors")

__all__ = ["agg", *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name == "agg":
        return import_module("lamella.core.query.agg")
    if name not in _MODULES:
        raise AttributeError(f"module 'lamella' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
