"""Records when the indexes of a table were last used, in memory and in a small file.

This is a hint for users who want to know which indexes are worth their disk space, so nothing waits for the
disk: a thread writes the file, at once, but not more than once a minute. A crash loses a minute at most.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import threading
import time
import uuid
from pathlib import Path

from lamella.core.index.definition import DRAFT, IndexFolder

log = logging.getLogger(__name__)
USAGE_FILE = "last-used.json"
SAVE_EVERY = 60
"""The least number of seconds between writes while indexes are in use."""


class IndexUsage:
    """The last uses of an open table's indexes, by `Index.stem`. Any thread."""

    def __init__(self, place: IndexFolder) -> None:
        self._place = place
        self._last_uses: dict[str, float] = {}
        self._time_saved = -math.inf
        self._is_saved = True
        self._writing: threading.Thread | None = None

    def note(self, stem: str) -> None:
        """Record that an index found rows just now."""
        self._last_uses[stem] = time.time()
        self._is_saved = False
        if time.monotonic() - self._time_saved > SAVE_EVERY and self._place.writable:
            self._time_saved = time.monotonic()
            self._writing = threading.Thread(target=self._save, name="uses of indexes", daemon=True)
            self._writing.start()

    def last_use(self, stem: str) -> dt.datetime | None:
        """The last use in UTC; None if unknown. Reads the file, to which other processes write too."""
        seconds = max(self._last_uses.get(stem, 0.0), _read(self._file).get(stem, 0.0))
        return dt.datetime.fromtimestamp(seconds, dt.UTC) if seconds else None

    def forget(self, stem: str) -> None:
        """Forget a dropped index, so that a new one on the same columns starts afresh."""
        self._last_uses.pop(stem, None)
        self._finish_writing()
        uses = _read(self._file)
        if stem in uses:
            self._write({stem_known: when for stem_known, when in uses.items() if stem_known != stem})

    def save(self) -> None:
        """Save the uses, merged with those that other processes wrote. Write errors are only logged."""
        self._finish_writing()
        self._save()

    def _finish_writing(self) -> None:
        if self._writing is not None:
            self._writing.join()

    def _save(self) -> None:
        self._time_saved = time.monotonic()
        if not self._is_saved:
            self._is_saved = True
            uses = _read(self._file)
            used = dict(self._last_uses)
            self._write({stem: max(uses.get(stem, 0.0), used.get(stem, 0.0)) for stem in {*uses, *used}})

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
            log.info("%s: the last uses of indexes were not saved: %s", self._file, error)
            draft.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, float]:
    """The saved uses; empty if the file does not exist or is invalid."""
    try:
        uses = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(uses, dict):
        return {}
    return {
        str(stem): float(when)
        for stem, when in uses.items()
        if isinstance(when, int | float) and 0 < when < LATEST
    }


LATEST = 253_402_300_799.0
"""The last second that a date can represent."""
