"""Cards of all rows of large Parquet files, kept on the disk so that they are there at once when a file is
opened again. An entry is of one version of a file, and holds nothing that cannot be computed anew."""

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
"""Part of every key: raised when cards come to be computed differently, so that no old one is used."""
LEAST_ROWS = 500_000
"""Of fewer, a card is made as soon as it would be read."""
MOST_ENTRIES = 4_000
"""The oldest ones go; an entry takes about 5 kB."""
_FILES = "parquet"
"""What the token of a snapshot of Parquet files begins with. It names path, size and time of each."""


def default_folder() -> Path:
    home = os.environ.get("LAMELLA_HOME")
    folder = Path(home) / "cache" if home else platformdirs.user_cache_path("Lamella", appauthor=False)
    return folder / "cards"


def load(snapshot: Snapshot, column: str, read: Callable[[Mapping[str, Any]], T]) -> T | None:
    """The card that was saved of this very version of the files, if it can be read. Blocks."""
    place = _place(snapshot, column)
    if place is None:
        return None
    try:
        entry = json.loads(place.read_bytes())
        if entry["checksum"] != _checksum(entry["card"]):
            return None
        made = read(entry["card"])
        os.utime(place)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return None  # it is made anew, and written over
    return made


def save(snapshot: Snapshot, column: str, card: Mapping[str, Any]) -> None:
    """Where the disk takes no more, the card is made again another time. Blocks."""
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
    """None where nothing of the snapshot is kept."""
    if snapshot.token[:1] != (_FILES,) or snapshot.num_rows < LEAST_ROWS:
        return None
    key = json.dumps([FORMAT_VERSION, repr(snapshot.token), column, str(snapshot.types.get(column))])
    return default_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _checksum(card: Any) -> str:
    return checksum_of_bytes(json.dumps(card, sort_keys=True).encode())


@cache
def _sweep(folder: Path) -> None:
    """Once in a process: the oldest entries go where there are too many, and drafts that nobody finished."""
    newest_first = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [*newest_first[MOST_ENTRIES:], *folder.glob("*.tmp")]:
        path.unlink(missing_ok=True)


class NotSaved(Exception):
    """A value that would not come back as it was."""


def saved_value(value: Any) -> Any:
    """As JSON, for `value_from_json`. Raises NotSaved."""
    try:
        written = value_json(value)
        back = value_from_json(json.loads(json.dumps(written)))
    except (BadFilter, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise NotSaved(repr(value)) from error
    if type(back) is not type(value) or repr(back) != repr(value):
        raise NotSaved(repr(value))
    return written
