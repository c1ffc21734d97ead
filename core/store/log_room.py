"""Room in a write-ahead log ahead of the commits that come, and room kept back for a full disk.

To sync a file that grew takes a file system twice as long as one that was written over: where the file ends
has to become durable too. SQLite lengthens its log by every commit's pages until it is first worked into the
catalog, a thousand pages later, and begins again with each process.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from lamella.core.store.paths import NO_FILE, FileIdentity, StorePaths

LEAST_BYTES, MOST_BYTES = 128 << 10, 1 << 20
LEAST_RESERVE, MOST_RESERVE = 256 << 10, 4 << 20
FRAME_BYTES = 24 + 4096
"""Of a page of a catalog, as the log holds it: its header is never all zeros."""

log = logging.getLogger(__name__)


class LogRoom:
    """Of the log beside a catalog. One thread at a time, which has the catalog's write lock.

    Zeros are no frames: one is valid only with the salts and the checksum that follow from the log's header
    (sqlite.org/fileformat2.html, "The Write-Ahead Log"), so SQLite stops there, as it does where frames of an
    earlier round follow. Only who has the lock lengthens the file, so nobody's frames are written over.
    """

    def __init__(self, catalog: Path) -> None:
        self._log = Path(f"{catalog}-wal")
        self._bytes = 0

    def keep(self) -> FileIdentity:
        """Twice the log, within bounds, where it was outgrown; the commit's own sync makes it durable. Before
        the first commit the log is empty, so whoever makes only one does without.

        Where none can be made, commits do without too. Answers which file the log is.
        """
        identity = NO_FILE
        try:
            status = os.stat(self._log)  # noqa: PTH116 -- at each commit
            identity, found = (status.st_dev, status.st_ino), status.st_size
            grew, self._bytes = found > self._bytes, found
            if grew:
                self._bytes = self._lengthened(found, min(max(found, LEAST_BYTES), MOST_BYTES))
        except FileNotFoundError:
            return NO_FILE
        except OSError as error:
            log.info("%s: no room is made in it: %s", self._log, error)
        return identity

    def _lengthened(self, size: int, by: int) -> int:
        """The log's new size. It stays as it is where somebody else made room, of whichever process, and on a
        full disk: the last of the room is for commits."""
        whole = False
        with self._log.open("r+b", buffering=0) as file:
            file.seek(max(0, size - FRAME_BYTES))
            if size and not any(file.read(FRAME_BYTES)):
                return size
            try:
                whole = file.write(bytes(by)) == by
            finally:
                if not whole:
                    file.truncate(size)
        return size + by if whole else size


class Reserve:
    """A file that takes room until a full disk stands in the way of giving room back: to drop a table, or to
    let versions expire, first takes room in the catalog's log, for every page that changes."""

    def __init__(self, paths: StorePaths) -> None:
        self._path, self._catalog = paths.reserve, paths.catalog

    def keep(self) -> None:
        """See to it that there is one that is large enough, or as large as the disk has room for."""
        try:
            wanted = min(max(LEAST_RESERVE, self._catalog.stat().st_size), MOST_RESERVE)
            if self._path.exists() and self._path.stat().st_size >= wanted:
                return
        except OSError as error:
            log.info("%s: no room is kept back for a full disk: %s", self._path, error)
            return
        if not any(self._taken(wanted * eighths // 8) for eighths in range(8, 0, -1)):
            log.info("%s: the disk has no room that could be kept back", self._path)

    def _taken(self, size: int) -> bool:
        self.release()
        try:
            with self._path.open("xb") as file:
                file.write(os.urandom(size))  # zeros take no room where a file system compresses
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give its room back; whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
