"""The full-text indexes of a table that are open, as its snapshots are searched by them."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from lamella.core.ascending import union
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.forks import let_go_in_children
from lamella.core.index.fulltext import files
from lamella.core.index.fulltext.files import Covering, Source
from lamella.core.index.fulltext.pending import Pending, Placed, changed
from lamella.core.index.registry import Index, Place
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import FileSegment, Snapshot

KEPT_OPEN = 1_024
KEPT_PLACED = 4
SECONDS_A_CHECK = 0.05

log = logging.getLogger(__name__)


class OpenFulltext:
    """One for each open table. Any thread."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._open: OrderedDict[Path, Covering] = OrderedDict()
        self._pending: dict[tuple[Index, tuple[int, ...]], Pending] = {}
        self._placed: OrderedDict[tuple[object, ...], list[Placed]] = OrderedDict()
        self.forked()
        let_go_in_children(self)

    def forked(self) -> None:
        """Whoever held a lock is not in the child."""
        self._one_at_a_time = threading.Lock()
        self._making: dict[Index, threading.RLock] = {}

    def parts(self, index: Index, snapshot: Snapshot, job: Job) -> list[Placed]:
        """Parts that have every live row once. What is missing or damaged of them is made first; who needs
        the same index meanwhile waits, until its job is cancelled."""
        at = (index, language_of(index), snapshot.token)
        placed, making = self._held(at, index)
        if placed is not None:
            return placed
        while not making.acquire(timeout=SECONDS_A_CHECK):
            job.check()
        try:
            placed, _ = self._held(at, index)
            return self._parts(index, snapshot, job, at) if placed is None else placed
        finally:
            making.release()

    def _held(self, at: tuple[object, ...], index: Index) -> tuple[list[Placed] | None, threading.RLock]:
        """What was placed before, and the lock of who places it now."""
        with self._one_at_a_time:
            if at in self._placed:
                self._placed.move_to_end(at)
            return self._placed.get(at), self._making.setdefault(index, threading.RLock())

    def let_go(self) -> None:
        """Keep nothing open; what is in use is opened again."""
        with self._one_at_a_time:
            self._open.clear()
            self._placed.clear()
            self._pending.clear()

    def forget(self, index: Index) -> None:
        """Let go of an index that is gone."""
        with self._one_at_a_time:
            self._placed.clear()
            self._making.pop(index, None)
            for other in [key for key in self._pending if key[0] == index]:
                del self._pending[other]
            for path in [p for p in self._open if index.owns(p.name)]:
                del self._open[path]

    def _parts(self, index: Index, snapshot: Snapshot, job: Job, at: tuple[object, ...]) -> list[Placed]:
        there = (c for c in snapshot.columns if c.key in index.keys and not c.path)
        columns = sorted(there, key=lambda column: column.key)
        gone = union(snapshot.deleted, changed(snapshot, columns))
        placed = []
        for number, segment in enumerate(snapshot.segments):
            if isinstance(segment, FileSegment):
                job.check()
                covering = self._covering(index, segment, snapshot, job)
                start = int(snapshot.segment_starts[number])
                parts = zip(covering.starts, covering.parts, strict=True)
                placed += [Placed(part, None, start + first, gone) for first, part in parts]
        having = (index, tuple(column.key for column in columns))
        with self._one_at_a_time:
            pending = self._pending.setdefault(having, Pending(language_of(index)))
        placed += pending.of(snapshot, columns, _usual((p.part.rows, p.part.lengths) for p in placed))
        with self._one_at_a_time:
            self._placed[at] = placed
            if len(self._placed) > KEPT_PLACED:
                self._placed.popitem(last=False)
        return placed

    def _covering(self, index: Index, segment: FileSegment, snapshot: Snapshot, job: Job) -> Covering:
        path = files.path_of(self._place, segment, index)
        with self._one_at_a_time:
            covering = self._open.get(path)
        if covering is not None:
            return covering
        covering = self._read_or_made(path, source_of(self._place, index, segment, snapshot), job)
        with self._one_at_a_time:
            self._open[path] = covering
            if len(self._open) > KEPT_OPEN:
                self._open.popitem(last=False)
        return covering

    def _read_or_made(self, path: Path, source: Source, job: Job) -> Covering:
        try:
            if path.exists():
                return files.read(path, source.segment, source.keys, self._place.writable)
            log.info("%s: the full-text index is missing, and made anew", path)
        except FileProblem as problem:
            log.warning("%s It is made anew", problem)
        try:
            if self._place.writable:
                files.remove(path)
                files.write(path, source, job)
                return files.read(path, source.segment, source.keys, writable=True)
        except (LamellaError, OSError, ValueError, pa.ArrowException) as error:
            log.warning("%s: the full-text index is kept in memory: %s", path, error)
        return files.in_memory(source, job)


def language_of(index: Index) -> str | None:
    language = index.options.get("language")
    return None if language is None else str(language)


def source_of(place: Place, index: Index, segment: FileSegment, snapshot: Snapshot) -> Source:
    """What a data file's index is made of, and of the snapshot's other files as far as they are indexed."""
    others = [s for s in snapshot.segments if isinstance(s, FileSegment) and s is not segment]
    told = (known for other in others for known in files.lengths_told(files.path_of(place, other, index)))
    return Source(segment, index.keys, language_of(index), _usual(told))


def _usual(told: Iterable[tuple[int, Mapping[int, float]]]) -> dict[int, float]:
    """The average length of texts, by column key, of parts with so many rows and such lengths."""
    rows, words = 0, defaultdict[int, float](float)
    for count, lengths in told:
        rows += count
        for key, length in lengths.items():
            words[key] += count * length
    return {key: total / rows for key, total in words.items() if rows}
