"""Cards of all rows of large Parquet files, stored on disk so that they appear immediately when a file is
opened again. An entry belongs to one version of a file, and can be recomputed at any time."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import platformdirs

from lamella.core.errors import BadFilter
from lamella.core.filters.expr_json import value_from_json, value_json
from lamella.core.scan.checksums import checksum_of_bytes

if TYPE_CHECKING:
    from lamella.core.scan.snapshot import Snapshot

T = TypeVar("T")

FORMAT_VERSION = 1
"""Part of every key; increased when cards are computed differently, so that no old entry is used."""
LEAST_ROWS = 500_000
"""For fewer rows, computing a card is as fast as reading it."""
MOST_ENTRIES = 4_000
"""The oldest entries beyond this number are deleted; an entry takes about 5 KB."""
_FILES = "parquet"
"""The first item in the token of a snapshot of Parquet files. The token has the path, size and time of each
file."""


def default_folder() -> Path:
    home = os.environ.get("LAMELLA_HOME")
    folder = Path(home) / "cache" if home else platformdirs.user_cache_path("Lamella", appauthor=False)
    return folder / "cards"


def load(snapshot: Snapshot, column: str, parse: Callable[[Mapping[str, Any]], T]) -> T | None:
    """The card saved for exactly this version of the files, if it is readable. Blocks."""
    place = _place(snapshot, column)
    if place is None:
        return None
    try:
        entry = json.loads(place.read_bytes())
        if entry["checksum"] != _checksum(entry["card"]):
            return None
        card = parse(entry["card"])
        os.utime(place)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return None  # it is computed and saved again
    return card


def save(snapshot: Snapshot, column: str, card: Mapping[str, Any]) -> None:
    """Save a card. If writing fails, nothing is saved, and the card is computed again next time. Blocks."""
    place = _place(snapshot, column)
    if place is None:
        return
    draft = place.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place.parent)
        draft.write_text(json.dumps({"card": card, "checksum": _checksum(card)}), "utf-8")
        draft.replace(place)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def clear() -> None:
    """Remove every entry."""
    for entry in default_folder().glob("*.json"):
        entry.unlink(missing_ok=True)


def _place(snapshot: Snapshot, column: str) -> Path | None:
    """The entry's path; None if cards of the snapshot are not saved."""
    if snapshot.token[:1] != (_FILES,) or snapshot.num_rows < LEAST_ROWS:
        return None
    key = json.dumps([FORMAT_VERSION, repr(snapshot.token), column, str(snapshot.types.get(column))])
    return default_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _checksum(card: Any) -> str:
    return checksum_of_bytes(json.dumps(card, sort_keys=True).encode())


@cache
def _sweep(folder: Path) -> None:
    """Delete the oldest entries beyond the limit, and unfinished drafts. Runs once per process."""
    newest_first = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [*newest_first[MOST_ENTRIES:], *folder.glob("*.tmp")]:
        path.unlink(missing_ok=True)


class InexactValue(Exception):
    """A value that JSON would not restore exactly."""


def saved_value(value: Any) -> Any:
    """Convert a value to JSON, for `value_from_json`. Raises InexactValue."""
    try:
        written = value_json(value)
        back = value_from_json(json.loads(json.dumps(written)))
    except (BadFilter, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise InexactValue(repr(value)) from error
    if type(back) is not type(value) or repr(back) != repr(value):
        raise InexactValue(repr(value))
    return written
