"""THE table of kinds of indexes, and the catalog entries of indexes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from lamella.core.errors import DamagedStore, UnknownName
from lamella.core.index.definition import Index, Kind
from lamella.core.validation import text_of


def _sorted_kind() -> Kind:
    from lamella.core.index.sorted_index import SortedKind

    return SortedKind()


def _fulltext() -> Kind:
    from lamella.core.index.fulltext.open_parts import FulltextKind

    return FulltextKind()


KINDS: dict[str, Callable[[], Kind]] = {"sorted": _sorted_kind, "fulltext": _fulltext}


def kind_of(name: str) -> Kind:
    """The operations of a kind. Raises `UnknownName`, and `BadData` if the name is not text."""
    if text_of(name, "the kind of an index") not in KINDS:
        raise UnknownName(name, "kind of index", list(KINDS))
    return KINDS[name]()


def index_of(catalog: Path, kind: str, keys: str, options: str) -> Index:
    """Parse a catalog entry; raises `DamagedStore` for an invalid one, since kind and keys become file
    names."""
    try:
        index = Index(kind, tuple(json.loads(keys)), json.loads(options))
    except (ValueError, TypeError, RecursionError) as error:
        raise _damage_error(catalog, kind, str(error)) from error
    if kind not in KINDS or not isinstance(index.options, dict):
        raise _damage_error(catalog, kind, "this kind of index does not exist")
    if not index.keys or not all(type(key) is int and key > 0 for key in index.keys):
        raise _damage_error(catalog, kind, "its columns are not column numbers")
    return index


def _damage_error(catalog: Path, kind: str, why: str) -> DamagedStore:
    return DamagedStore(
        f"{catalog}: the catalog's entry of an index ({kind!r:.40}) cannot be read", why, "Restore a backup"
    )


def entry_of(index: Index) -> tuple[str, str, str]:
    return index.kind, json.dumps(index.keys), json.dumps(dict(index.options), sort_keys=True)
