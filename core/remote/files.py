"""Reads remote files by ranges, several at a time, through the cache on the local disk."""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import shutil
import stat
import tempfile
import threading
import time
import uuid
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from lamella.core.errors import CHANGED_ON_DISK, FileProblem
from lamella.core.jobs import Job, current_job
from lamella.core.processes import call_after_fork
from lamella.core.remote import paths
from lamella.core.remote.addresses import Address
from lamella.core.remote.cache import CacheEntry, Range, cache
from lamella.core.remote.listing import is_folder, missing
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.problems import MissingFile, RemoteProblem
from lamella.core.remote.requests import answer, answers
from lamella.core.remote.server import Data, NoRanges, Server, Status
from lamella.core.remote.servers import servers

FRESH_SECONDS = 30.0
"""How long the status of a file is used without asking again. Reading always detects a change."""
PARTS_AT_ONCE = 8
"""Parts of a whole copy that are in memory at a time."""
PART_BYTES = 8 << 20
"""Larger ranges are fetched as several parts at a time."""
GAP_BYTES = 16 << 10
"""Ranges with a gap of up to this size are fetched as one: a further request would cost more."""
TAIL_BYTES = 64 << 10
"""Fetched when the end of a file is read: its last bytes tell where its footer begins."""
FIRST_AHEAD_BYTES, MOST_AHEAD_BYTES = 256 << 10, 16 << 20
"""Read ahead when a file is read sequentially: at first, and at most; it doubles each time."""
MOST_STATUSES = 100_000
MOST_ENTRIES = 256
BUFFER_BYTES = 64 << 10


class RemoteFiles:
    """Opens remote files and remembers their statuses. `are_used` is whether one was opened so far. Any
    thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: OrderedDict[Address, tuple[Status, float]] = OrderedDict()
        self._entries: OrderedDict[tuple[Address, Status], CacheEntry] = OrderedDict()
        self._whole_alone: set[tuple[Address, Status]] = set()
        self.are_used = False
        call_after_fork(self)

    def reset_after_fork(self) -> None:
        self._lock = threading.Lock()
        _temporary.clear()  # the parent removes them

    # ------------------------------------------------------------------ statuses

    def remote_status(self, address: Address, fresh: bool = False) -> Status:
        """Return size, time and etag. Asks the server if the known status is old, or always with `fresh`."""
        with self._lock:
            recent = self._statuses.get(address)
        if recent is not None and not fresh and time.monotonic() - recent[1] < FRESH_SECONDS:
            return recent[0]
        server = servers.server(address)
        try:
            status = answer(lambda: server.status(address))
        except MissingFile as problem:
            self.forget(address)
            raise missing(problem, address) from None
        self.note(address, status)
        return status

    def note(self, address: Address, status: Status) -> None:
        """Remember the status of a file, such as from a listing."""
        with self._lock:
            self._statuses[address] = (status, time.monotonic())
            self._statuses.move_to_end(address)
            if len(self._statuses) > MOST_STATUSES:
                self._statuses.popitem(last=False)

    def forget(self, address: Address) -> None:
        with self._lock:
            self._statuses.pop(address, None)

    def forget_all(self) -> None:
        """Forget all statuses, so that the servers are asked again."""
        with self._lock:
            self._statuses.clear()
            self._entries.clear()

    # ------------------------------------------------------------------ for paths

    def status(self, path: RemotePath) -> os.stat_result:
        return _stat_result(path.address, self.remote_status(path.address))

    def open(self, path: RemotePath, buffering: int) -> IO[bytes]:
        raw = self.file(path.address)
        return raw if buffering == 0 else io.BufferedReader(raw, BUFFER_BYTES)  # type: ignore[return-value]

    def file(self, address: Address) -> RemoteFile:
        self.are_used = True
        return RemoteFile(self, address, self.remote_status(address))

    def is_there(self, path: RemotePath) -> bool:
        try:
            self.remote_status(path.address)
        except MissingFile:
            return self.is_folder(path)
        return True

    def is_folder(self, path: RemotePath) -> bool:
        return is_folder(path.address)

    def local_copy(self, path: RemotePath, job: Job | None = None) -> Path:
        """Return the path of a whole copy on this machine, which is fetched if there is none. Blocks; raises
        `FileProblem`, and `Cancelled` when the job is cancelled."""
        address, job = path.address, job or current_job() or Job()
        status = self.remote_status(address)
        copy = self.entry(address, status).copy_path(address.name)
        for candidate in (copy, _temporary.get((address, status), copy)):
            if _is_whole(candidate, status):
                with suppress(OSError):
                    os.utime(candidate)
                return candidate
        return self._fetch_whole(address, status, copy, job)

    # ------------------------------------------------------------------ reading

    def entry(self, address: Address, status: Status) -> CacheEntry:
        key = (address, status)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = cache.entry(address, status)
                if len(self._entries) > MOST_ENTRIES:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(key)
            return entry

    def fetch(self, address: Address, status: Status, ranges: Iterable[Range]) -> dict[int, Data]:
        """Fetch and cache the parts of these ranges that are not cached. Return them by their starts."""
        ranges = list(ranges)
        gaps = _join_gaps(self.entry(address, status).missing(ranges))
        if not gaps:
            return {}
        if (address, status) in self._whole_alone:
            return self._from_copy(address, status, gaps)
        server = servers.server(address)
        parts = [part for gap in gaps for part in _split(gap, ranges)]
        reads = [partial(self._read_part, server, address, status, part) for part in parts]
        try:
            chunks = answers(reads)
            answer(lambda: server.confirm(address, status))
        except NoRanges:
            self._whole_alone.add((address, status))
            return self._from_copy(address, status, gaps)
        except RemoteProblem as problem:
            if problem.problem == CHANGED_ON_DISK or isinstance(problem, MissingFile):
                self.forget(address)
            raise
        fetched = {start: data for (start, _), data in zip(parts, chunks, strict=True)}
        entry = self.entry(address, status)
        answers([partial(entry.write, start, data) for start, data in fetched.items()], patient=False)
        return fetched

    def _read_part(self, server: Server, address: Address, status: Status, part: Range) -> Data:
        start, stop = part
        data = server.read(address, start, stop, status)
        if len(data) != stop - start:
            raise RemoteProblem(
                address,
                "is shorter than the server says",
                f"It sent {len(data):,} of the {stop - start:,} bytes from {start:,} on",
                "Wait until the file is completely written, and open it again",
            )
        return data

    def _from_copy(self, address: Address, status: Status, gaps: Sequence[Range]) -> dict[int, Data]:
        """Read ranges from a whole copy, for servers that send only whole files."""
        copy = self.local_copy(RemotePath(str(address)))
        with copy.open("rb") as file:
            parts: dict[int, Data] = {}
            for start, stop in gaps:
                file.seek(start)
                parts[start] = file.read(stop - start)
            return parts

    def _fetch_whole(self, address: Address, status: Status, copy: Path, job: Job) -> Path:
        draft = copy.with_name(f"{uuid.uuid4().hex}.part")
        try:
            if not cache.makes_room(status.size):
                raise OSError("The cache has no room for it")
            copy.parent.mkdir(parents=True, exist_ok=True)
            return self._write_copy(address, status, draft, copy, job)
        except OSError:
            folder = Path(tempfile.mkdtemp(prefix="lamella-remote-"))
            _temporary[address, status] = folder / copy.name
            return self._write_copy(address, status, folder / "draft.part", folder / copy.name, job)

    def _write_copy(self, address: Address, status: Status, draft: Path, copy: Path, job: Job) -> Path:
        text = f"Fetching {address.name}"
        try:
            with draft.open("wb") as file:
                job.report(0, status.size or None, text)
                if (address, status) in self._whole_alone or not self._write_parts(
                    address, status, file, job
                ):
                    file.seek(0)
                    self._write_stream(address, file, status, job)
            draft.replace(copy)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            if copy in _temporary.values():
                raise FileProblem(
                    copy,
                    "cannot be written",
                    error.strerror or str(error),
                    f"{address} has to be fetched as a whole: free some space there",
                ) from error
            raise
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        return copy

    def _write_parts(self, address: Address, status: Status, file: IO[bytes], job: Job) -> bool:
        """Write a copy by ranges, a few at a time to limit the memory. Return False if the server does not
        support ranges."""
        server, entry = servers.server(address), self.entry(address, status)
        parts = _split((0, status.size))
        for at in range(0, len(parts), PARTS_AT_ONCE):
            some = parts[at : at + PARTS_AT_ONCE]
            cached = [entry.read(start, stop) for start, stop in some]
            missing = [part for part, data in zip(some, cached, strict=True) if data is None]
            try:
                reads = [partial(self._read_part, server, address, status, part) for part in missing]
                contents = iter(answers(reads, job))
                for (_, stop), data in zip(some, cached, strict=True):
                    file.write(next(contents) if data is None else data)
                    job.report(stop, status.size)
            except NoRanges:
                self._whole_alone.add((address, status))
                return False
        answer(lambda: server.confirm(address, status), job)
        return True

    def _write_stream(self, address: Address, file: IO[bytes], status: Status, job: Job) -> None:
        server, position = servers.server(address), 0

        def first() -> tuple[Iterator[bytes], bytes]:
            pieces = server.stream(address, status)
            return pieces, next(pieces, b"")

        pieces, piece = answer(first, job)
        while piece:
            file.write(piece)
            position += len(piece)
            job.report(position, status.size or None)
            piece = answer(lambda: next(pieces, b""), job, patient=False)
        if status.size and position != status.size:
            raise RemoteProblem(
                address,
                "is incomplete",
                f"The server sent {position:,} of {status.size:,} bytes",
                "Try again, or ask who runs the server",
            )


_temporary: dict[tuple[Address, Status], Path] = {}
"""Copies for which the cache had no room, each in a temporary folder that is removed at exit."""


def remove_temporary_copies() -> None:
    while _temporary:
        shutil.rmtree(_temporary.popitem()[1].parent, ignore_errors=True)


atexit.register(remove_temporary_copies)


def _is_whole(copy: Path, status: Status) -> bool:
    try:
        return copy.stat().st_size == status.size
    except OSError:
        return False


def _join_gaps(gaps: Sequence[Range]) -> list[Range]:
    """Merge gaps that are at most `GAP_BYTES` apart."""
    joined: list[Range] = []
    for start, stop in gaps:
        if joined and start - joined[-1][1] <= GAP_BYTES:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


def _split(gap: Range, ranges: Iterable[Range] = ()) -> list[Range]:
    """Split a gap into parts of about `PART_BYTES`. Where possible, a part starts where one of the ranges
    does, so that this range lies in a single part."""
    start, stop = gap
    cuts = sorted({begin for begin, _ in ranges if start < begin < stop})
    parts: list[Range] = []
    while start < stop:
        reach = start + PART_BYTES
        inside = cuts[bisect_right(cuts, start) : bisect_right(cuts, reach)]
        following = cuts[bisect_right(cuts, reach) :][:1]
        if reach >= stop:
            end = stop
        elif inside:
            end = inside[-1]
        else:  # a long range: not split if the second part would be short
            end = min(following[0] if following else stop, start + 2 * PART_BYTES)
        parts.append((start, end))
        start = end
    return parts


def _stat_result(address: Address, status: Status) -> os.stat_result:
    number = int.from_bytes(hashlib.sha256(f"{address}\n{status.etag}".encode()).digest()[:7], "big")
    seconds = status.modified_ns // 1_000_000_000
    modified = seconds * 1_000_000_000 + number % 1_000_000_000
    mode = stat.S_IFREG | stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
    fields = (mode, number, 0, 1, 0, 0, status.size, seconds, seconds, seconds)
    times = dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), modified)
    return os.stat_result(fields, times)


class RemoteFile(io.RawIOBase):
    """One version of a remote file, for reading. Raises `FileProblem` if the file has changed since."""

    place: int

    def __init__(self, files: RemoteFiles, address: Address, status: Status) -> None:
        self._files, self.address, self.status = files, address, status
        self.place = self._expected_place = 0
        self._ahead = FIRST_AHEAD_BYTES
        self._window: dict[int, Data] = {}

    @property
    def size(self) -> int:
        return self.status.size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        self.place = max(0, base + offset)
        return self.place

    def tell(self) -> int:
        return self.place

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read_range(self.place, min(self.place + len(view), self.size))
        view[: len(data)] = data
        self.place += len(data)
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        stop = self.size if size is None or size < 0 else min(self.place + size, self.size)
        data = bytes(self.read_range(self.place, stop))
        self.place += len(data)
        return data

    def prefetch(self, ranges: Iterable[Range]) -> None:
        """Fetch ranges that will be read, several at a time, and hold them in memory until `release`."""
        within = [(start, min(stop, self.size)) for start, stop in ranges]
        self._window.update(self._files.fetch(self.address, self.status, within))

    def release(self) -> None:
        self._window.clear()

    def read_range(self, start: int, stop: int) -> Data:
        if stop <= start:
            return b""
        for at, data in self._window.items():
            if at <= start and stop <= at + len(data):
                return memoryview(data)[start - at : stop - at]
        entry = self._files.entry(self.address, self.status)
        cached = entry.read(start, stop)
        if cached is not None:
            self._expected_place = stop
            return cached
        fetched = self._files.fetch(self.address, self.status, [self._extend_range(start, stop)])
        self._expected_place = stop
        return _assemble(start, stop, fetched, entry) or self._fetched_anew(start, stop)

    def _extend_range(self, start: int, stop: int) -> Range:
        """Extend a range by what is likely read next: the end of the file, or more of it if it is read
        sequentially."""
        if self.size - start <= TAIL_BYTES:
            return max(0, self.size - TAIL_BYTES), self.size
        if start != self._expected_place or start == 0:
            self._ahead = FIRST_AHEAD_BYTES
            return start, stop
        self._ahead = min(2 * self._ahead, MOST_AHEAD_BYTES)
        return start, min(self.size, max(stop, start + self._ahead))

    def _fetched_anew(self, start: int, stop: int) -> Data:
        """Fetch a range of which the cache has evicted a part meanwhile."""
        server = servers.server(self.address)
        return answer(lambda: server.read(self.address, start, stop, self.status))


def _assemble(start: int, stop: int, fetched: dict[int, Data], entry: CacheEntry) -> Data | None:
    """Join parts that were just fetched with the cached ones between them; None if one of these is gone."""
    pieces: list[Data] = []
    place = start
    for at, data in sorted(fetched.items()):
        if at + len(data) <= place or at >= stop:
            continue
        if at > place:
            cached = entry.read(place, at)
            if cached is None:
                return None
            pieces.append(cached)
            place = at
        upto = min(stop, at + len(data))
        pieces.append(memoryview(data)[place - at : upto - at])
        place = upto
    if place < stop:
        cached = entry.read(place, stop)
        if cached is None:
            return None
        pieces.append(cached)
    return b"".join(pieces)


files = RemoteFiles()
paths.use(files)
