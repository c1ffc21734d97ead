"""What this process knows about files: which pages were verified, and which files are damaged.

Arrow verifies the checksum of a page when it first decodes it (`OpenFile`). DuckDB verifies none, so a file
that it reads is also read once as a whole in the background, and counts as damaged if its checksum differs.
Later reads raise `DamagedFile`; listeners withdraw earlier answers.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.parquet as pq

from lamella.core.errors import DamagedFile
from lamella.core.processes import call_after_fork
from lamella.core.scan.checksums import checksum_of_open, has_page_checksums, wrong_page

AT_ONCE_BYTES = 1 << 20
"""The largest total size of files that are checked before they are read: this takes a third of a
millisecond."""
DELAY_SECONDS = 0.2
"""The delay before background checks. Most queries are done by then, and so do not share disk and processors
with the check."""

Identity = tuple[int, int, int, int]
"""Device, inode, size and mtime in ns; two links to one file have the same identity."""

log = logging.getLogger(__name__)


class FileRecord:
    """The state of one file with one content. `accepted_names` are the column names that were last found to
    match it, see `parquet_file.unchanged_footer`; `is_checked`: a check of the whole file has begun;
    `is_whole`: it found no damage; `remedy`: what to do if the file is damaged."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.accepted_names: object = None
        self.is_checked = self.is_whole = self.has_wrong_pages = False
        self.damage = self.remedy = ""
        self._verified_groups: dict[str, int] = {}

    @property
    def is_small(self) -> bool:
        """Whether the file is so small that reading all of it takes almost no time."""
        return self.identity[2] <= AT_ONCE_BYTES

    def note_wrong_pages(self) -> None:
        """Note damaged pages; other pages may still be read."""
        self.has_wrong_pages = True
        _damaged_files.append(self)

    def is_verified(self, row_groups: Sequence[int], columns: Iterable[str]) -> bool:
        """Whether the pages of these columns have been verified in all of the row groups."""
        if self.is_whole:
            return True
        bits = _bits(row_groups)
        return all(self._verified_groups.get(column, 0) & bits == bits for column in columns)

    def note_verification(self, row_groups: Sequence[int], columns: Iterable[str]) -> None:
        bits = _bits(row_groups)
        for column in columns:
            self._verified_groups[column] = self._verified_groups.get(column, 0) | bits

    def damage_error(self, path: Path, why: str) -> DamagedFile:
        """The error to raise. Files without a remedy belong to the user, who may read them anyway."""
        if self.remedy:
            return DamagedFile(path, "is damaged", why, self.remedy)
        return DamagedFile(path, "is damaged", why, DAMAGED_FIX, readable_anyway=True)


@dataclass(frozen=True)
class FileCheck:
    """A check of a whole file: of its bytes if the `checksum` from when it was written is known, else of its
    pages."""

    path: Path
    record: FileRecord
    checksum: str
    metadata: pq.FileMetaData

    def run(self) -> None:
        """Run the check, and note any damage. A file that is gone or was replaced is skipped."""
        try:
            with self.path.open("rb", buffering=0) as file:
                if identity_of(os.fstat(file.fileno())) != self.record.identity:
                    return
                if self.checksum:
                    is_whole = checksum_of_open(file) == self.checksum
                else:
                    is_whole = not has_page_checksums(file, self.metadata) or self._pages_are_whole()
        except FileNotFoundError:
            return
        except (OSError, ValueError, pa.ArrowException) as error:  # its footer may name invalid offsets
            log.warning("%s: could not be checked: %s", self.path, error)
            return
        if is_whole:
            self.record.is_whole = bool(self.checksum)
        else:
            self.record.damage = OTHER_BYTES if self.checksum else OTHER_PAGES
            _damaged_files.append(self.record)

    def _pages_are_whole(self) -> bool:
        with self.path.open("rb") as file:
            return wrong_page(file, self.metadata) is None


class Checks:
    """Runs pending checks on a thread of its own. Any thread may request one.

    `damages` counts the damaged files; `damaged_reads` are those read before the damage was known, with the
    reason.
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[[Path], None]] = []
        self.damaged_reads: list[tuple[Path, str]] = []
        self.damages = 0
        self.reset_after_fork()
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        """Start afresh in a forked child, which has none of its parent's threads."""
        self._condition = threading.Condition()
        self._due = deque[FileCheck]()
        self._is_hurried = self._is_running = False

    def begin(self, checks: Sequence[FileCheck]) -> None:
        """Have the files checked, once: small ones now, others soon in the background."""
        new = [check for check in checks if not check.record.is_checked]
        if not new:
            return
        room = AT_ONCE_BYTES
        for check in new:
            check.record.is_checked = True
            room -= check.record.identity[2]
            if room >= 0:
                check.run()
                self.damages += bool(check.record.damage)
            else:
                self._defer(check)

    def settle(self, seconds: float | None = None) -> None:
        """Wait until all pending checks are done, or the time is up. Called before the program ends, and by
        tests and verification."""
        with self._condition:
            self._is_hurried = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._is_running, seconds)
            self._is_hurried = False

    def listen(self, listener: Callable[[Path], None]) -> Callable[[], None]:
        """Call `listener`, on the thread of the checks, with each file found damaged after it was read.
        Returns a function that ends this."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _defer(self, check: FileCheck) -> None:
        with self._condition:
            self._due.append(check)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="file checks", daemon=True).start()

    def _work(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._is_hurried, DELAY_SECONDS)
        while True:
            with self._condition:
                if not self._due:
                    self._is_running = False
                    self._condition.notify_all()
                    return
                check = self._due.popleft()
            try:
                self._run(check)
            except Exception:  # the other checks must still run, and somebody may be waiting for them
                log.exception("%s: could not be checked", check.path)

    def _run(self, check: FileCheck) -> None:
        check.run()
        if check.record.damage:
            self.damages += 1
            self.damaged_reads.append((check.path, check.record.damage))
            log.error("%s: %s. Results computed from it are not valid", check.path, check.record.damage)
            for listener in list(self._listeners):
                listener(check.path)


OTHER_BYTES = "It does not match what was written: its checksum differs"
OTHER_FOOTER = "Its footer does not match what was written: the checksum differs"
OTHER_PAGES = "Some bytes do not match what was written: the checksum of a page differs"
DAMAGED_FIX = "Copy, download or write the file again, or open it without verifying checksums"

_records: WeakValueDictionary[Identity, FileRecord] = WeakValueDictionary()
_damaged_files = deque[FileRecord](maxlen=1024)
"""Records of damaged files, kept even when the files' footers are forgotten."""
_lock = threading.Lock()
checks = Checks()


def identity_of(status: os.stat_result) -> Identity:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def is_known_damaged(path: Path) -> bool:
    """Whether damage has been found in the file as it is now."""
    record = record_of(identity_of(path.stat()))
    return record.has_wrong_pages or bool(record.damage)


def record_of(identity: Identity) -> FileRecord:
    """The shared record of a file, for as long as somebody refers to it."""
    with _lock:
        record = _records.get(identity)
        if record is None:
            record = _records[identity] = FileRecord(identity)
        return record


def _bits(row_groups: Iterable[int]) -> int:
    bits = 0
    for group in row_groups:
        bits |= 1 << group
    return bits
