"""Everything that knows data. The public surface; each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.datasets import open_dataset
    from core.filters import col
    from core.index.fulltext.snippets import Highlight
    from core.query.sql import sql
    from core.store.store import Store

__all__ = ["Highlight", "Store", "col", "open_dataset", "sql"]

_HOMES = {
    "Highlight": "core.index.fulltext.snippets",
    "Store": "core.store.store",
    "col": "core.filters",
    "open_dataset": "core.datasets",
    "sql": "core.query.sql",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'core' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
