"""When the indexes of a table were used last: kept in memory, and written to a small file now and then.

It is a hint for people who wonder which indexes are worth their room, so nothing waits for the disk: what a
crash loses is at most the last few minutes.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import time
import uuid
from pathlib import Path

from lamella.core.index.definition import DRAFT, IndexFolder

log = logging.getLogger(__name__)
USAGE_FILE = "last-used.json"
SAVE_EVERY = 600
"""Seconds between two writes of a process that goes on using indexes."""


class IndexUsage:
    """Of one open table, by what index files begin with (`Index.stem`). Any thread."""

    def __init__(self, place: IndexFolder) -> None:
        self._place = place
        self._used: dict[str, float] = {}
        self._saved_at = time.monotonic()
        self._is_saved = True

    def note(self, stem: str) -> None:
        """That an index found rows just now."""
        self._used[stem] = time.time()
        self._is_saved = False
        if time.monotonic() - self._saved_at > SAVE_EVERY:
            self.save()

    def last_used(self, stem: str) -> dt.datetime | None:
        """In UTC; None where it is not known to have been used. Reads the file, where others write too."""
        seconds = max(self._used.get(stem, 0.0), _read(self._file).get(stem, 0.0))
        return dt.datetime.fromtimestamp(seconds, dt.UTC) if seconds else None

    def forget(self, stem: str) -> None:
        """Of an index that is dropped: another one on the same columns begins anew."""
        self._used.pop(stem, None)
        known = _read(self._file)
        if stem in known:
            self._write({other: when for other, when in known.items() if other != stem})

    def save(self) -> None:
        """With what other processes wrote meanwhile. What cannot be written is let be."""
        self._saved_at = time.monotonic()
        if not self._is_saved:
            self._is_saved = True
            known = _read(self._file)
            used = dict(self._used)
            self._write({stem: max(known.get(stem, 0.0), used.get(stem, 0.0)) for stem in {*known, *used}})

    @property
    def _file(self) -> Path:
        return self._place.folder / USAGE_FILE

    def _write(self, used: dict[str, float]) -> None:
        if not self._place.writable or not self._place.folder.is_dir():
            return
        draft = self._file.with_name(f"{USAGE_FILE}.{uuid.uuid4().hex}{DRAFT}")
        try:
            draft.write_text(json.dumps(used, sort_keys=True))
            draft.replace(self._file)
        except OSError as error:
            log.info("%s: when indexes were used is not written down: %s", self._file, error)
            draft.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, float]:
    """Nothing where there is no such file, or another one."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {
        str(stem): float(when)
        for stem, when in known.items()
        if isinstance(when, int | float) and 0 < when < LATEST
    }


LATEST = 253_402_300_799.0
"""The last second that a date can have."""
