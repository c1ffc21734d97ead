"""A cache of ranges of remote files on the local disk, up to a limit; the least recently used are evicted.

Each range is a separate file, named after its start, end and checksum. It is written under another name and
then renamed, so that two processes can share the folder without a lock, and a file that a crash left
incomplete is never used. A folder contains the ranges of one version of a remote file: its name is a hash of
address, size, time and etag.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import threading
import time
import uuid
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from lamella.core.remote.addresses import Address
from lamella.core.remote.server import Data, Status

DEFAULT_BYTES = 10 << 30
LEAST_FREE_BYTES, LEAST_FREE_SHARE = 1 << 30, 0.05
"""Free space that the cache leaves on the disk: the smaller of the two."""
SWEEP_SHARE = 0.9
REST_SECONDS = 60.0
"""After a failed write to the folder, how long nothing is written to it."""
TOUCH_SECONDS = 60.0
RECOUNT_SHARE = 0.1
"""After writing this share of the limit, the folder is measured again: other processes use it, too."""
STALE_SECONDS = 3600.0
"""A draft of this age was left by a process that has ended."""
COPY_FOLDER = "whole"
_RANGE = re.compile(r"(\d+)-(\d+)\.([0-9a-f]{8})")
_ENTRY = re.compile("[0-9a-f]{24}")
_LONGEST_NAME = 120

log = logging.getLogger(__name__)
Range = tuple[int, int]


def default_folder() -> Path:
    home = os.environ.get("LAMELLA_HOME")
    if home:
        return Path(home) / "cache" / "remote"
    import platformdirs

    return platformdirs.user_cache_path("Lamella", appauthor=False) / "remote"


class RangeCache:
    """A cache folder, for any thread and any number of processes. With `most_bytes` of 0, nothing is stored.
    Disk errors are not raised: a range that cannot be stored is fetched again."""

    def __init__(self, folder: Path | None = None, most_bytes: int = DEFAULT_BYTES) -> None:
        self._folder = folder
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._rests_until = 0.0
        self._total, self._bytes_since_sweep = 0, most_bytes
        """The size when last measured, and the bytes written since; initially the limit, so that it is
        measured."""

    @property
    def folder(self) -> Path:
        return self._folder or default_folder()

    def entry(self, address: Address, status: Status) -> CacheEntry:
        key = f"{address}\n{status.size}\n{status.modified_ns}\n{status.etag}"
        return CacheEntry(self, self.folder / hashlib.sha256(key.encode()).hexdigest()[:24])

    def size(self) -> int:
        """Return the bytes of everything in the cache."""
        return sum(size for _, size, _ in self._files())

    def clear(self) -> None:
        for folder in self._entries():
            shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            self._bytes_since_sweep = self.most_bytes

    def makes_room(self, count: int) -> bool:
        """Make room for `count` bytes, evicting the least recently used files; return whether that worked."""
        if count > self.most_bytes or time.monotonic() < self._rests_until or self._is_disk_full():
            return False
        with self._lock:
            if self._bytes_since_sweep >= RECOUNT_SHARE * self.most_bytes:
                self._total, self._bytes_since_sweep = self.size(), 0
            if self._total + self._bytes_since_sweep + count > self.most_bytes:
                self._total, self._bytes_since_sweep = (
                    self._sweep(int(self.most_bytes * SWEEP_SHARE) - count),
                    0,
                )
            self._bytes_since_sweep += count
        return True

    def _is_disk_full(self) -> bool:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            disk = shutil.disk_usage(self.folder)
        except OSError as error:
            self.pause_writing(error)
            return True
        return disk.free < min(LEAST_FREE_BYTES, int(LEAST_FREE_SHARE * disk.total))

    def pause_writing(self, error: OSError) -> None:
        """Stop writing for a while because the folder cannot be written."""
        if time.monotonic() >= self._rests_until:
            log.warning("%s: remote reads are not cached: %s", self.folder, error.strerror or error)
        self._rests_until = time.monotonic() + REST_SECONDS

    def _sweep(self, most_bytes: int) -> int:
        """Remove the least recently used files until the others fit, and drafts of processes that have ended.
        Return the bytes that remain."""
        now, files = time.time(), sorted(self._files())
        total = sum(size for _, size, _ in files)
        for used, size, path in files:
            is_draft = path.name.endswith(".part")
            if total <= most_bytes and not is_draft:
                continue
            if is_draft and now - used < STALE_SECONDS:
                continue
            with suppress(OSError):
                path.unlink()
                total -= size
        for folder in self._entries():
            with suppress(OSError):  # it is not empty
                (folder / COPY_FOLDER).rmdir()
            with suppress(OSError):
                folder.rmdir()
        return total

    def _files(self) -> Iterable[tuple[float, int, Path]]:
        """Yield the time of last use, the size and the path of each file."""
        for folder in self._entries():
            for path in (*_inside(folder), *_inside(folder / COPY_FOLDER)):
                with suppress(OSError):
                    status = path.stat()
                    if path.is_file():
                        yield status.st_mtime, status.st_size, path

    def _entries(self) -> list[Path]:
        return [path for path in _inside(self.folder) if _ENTRY.fullmatch(path.name)]


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


class CacheEntry:
    """The cached ranges of one version of a remote file."""

    def __init__(self, cache: RangeCache, folder: Path) -> None:
        self._cache, self.folder = cache, folder
        self._lock = threading.Lock()
        self._ranges: list[tuple[int, int, str]] | None = None
        self._touch_times = dict[str, float]()

    def read(self, start: int, stop: int) -> Data | None:
        """Return the bytes if all of them are cached, otherwise None."""
        parts: list[Data] = []
        place = start
        while place < stop:
            nearest = self._range_at(place)
            if nearest is None:
                return None
            begin, end, name = nearest
            upto = min(end, stop)
            data = self._load(name, end - begin, place - begin, upto - begin)
            if data is None:
                return None
            parts.append(data)
            place = upto
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def missing(self, ranges: Iterable[Range]) -> list[Range]:
        """Return the parts of these ranges that are not cached, in order and without overlaps."""
        gaps: list[Range] = []
        place = 0
        for start, stop in sorted(ranges):
            place = max(place, start)
            while place < stop:
                nearest = self._range_at(place)
                if nearest is not None:
                    place = nearest[1]
                    continue
                end = min(stop, self._next_begin(place))
                gaps.append((place, end))
                place = end
        return gaps

    def write(self, start: int, data: Data) -> None:
        if not data or not self._cache.makes_room(len(data)):
            return
        name = f"{start}-{start + len(data)}.{zlib.crc32(data):08x}"
        draft = self.folder / f"{uuid.uuid4().hex}.part"
        try:
            try:
                self._write(draft, data)
            except FileNotFoundError:  # a sweep removed the folder while it was empty
                self._write(draft, data)
            draft.replace(self.folder / name)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            self._cache.pause_writing(error)
            return
        with self._lock:
            if self._ranges is not None:
                self._ranges = sorted([*self._ranges, (start, start + len(data), name)])

    def _write(self, draft: Path, data: Data) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)

    def copy_path(self, name: str) -> Path:
        """Return the path of a whole copy. It has the name of the file, so that messages and suffixes are the
        same."""
        safe = re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", name)[-_LONGEST_NAME:] or "file"
        return self.folder / COPY_FOLDER / safe

    def _range_at(self, place: int) -> tuple[int, int, str] | None:
        """Return the range that contains this byte and extends farthest."""
        ranges = self._cached_ranges()
        best = None
        for begin, end, name in reversed(ranges[: bisect_right(ranges, (place, float("inf"), ""))]):
            if end > place and (best is None or end > best[1]):
                best = (begin, end, name)
        return best

    def _next_begin(self, place: int) -> int:
        ranges = self._cached_ranges()
        at = bisect_right(ranges, (place, float("inf"), ""))
        return ranges[at][0] if at < len(ranges) else 1 << 62

    def _cached_ranges(self) -> Sequence[tuple[int, int, str]]:
        with self._lock:
            if self._ranges is None:
                names = (_RANGE.fullmatch(path.name) for path in _inside(self.folder))
                self._ranges = sorted((int(m[1]), int(m[2]), m[0]) for m in names if m is not None)
            return self._ranges  # the list is replaced, never changed

    def _load(self, name: str, size: int, start: int, stop: int) -> Data | None:
        """Read a part of a range's file. If it is missing or damaged, remove it from the cache and return
        None. Each process checks the checksum of the whole file once, and later reads only the part."""
        path = self.folder / name
        try:
            if name in self._touch_times:
                data: Data | None = _part(path, size, start, stop)
            else:
                whole = path.read_bytes()
                is_right = len(whole) == size and f"{zlib.crc32(whole):08x}" == name[-8:]
                data = memoryview(whole)[start:stop] if is_right else None
        except OSError:
            data = None
        if data is None:
            self._touch_times.pop(name, None)
            with suppress(OSError):
                path.unlink(missing_ok=True)
            with self._lock:
                self._ranges = [span for span in self._ranges or () if span[2] != name]
            return None
        self._touch(path)
        return data

    def _touch(self, path: Path) -> None:
        """Record that the file was used, at most once in `TOUCH_SECONDS`."""
        now, before = time.monotonic(), self._touch_times.get(path.name)
        if before is None or now - before >= TOUCH_SECONDS:
            self._touch_times[path.name] = now
            with suppress(OSError):
                os.utime(path)


def _part(path: Path, size: int, start: int, stop: int) -> bytes | None:
    with path.open("rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size != size:
            return None
        file.seek(start)
        data = file.read(stop - start)
        return data if len(data) == stop - start else None


cache = RangeCache()


def limit(most_bytes: int) -> None:
    """Set the limit for everything in the cache; 0 stores nothing."""
    cache.most_bytes = most_bytes
