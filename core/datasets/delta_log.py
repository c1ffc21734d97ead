"""The log of a Delta table: which versions it can give, and these as the library reads them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamella.core.datasets.locate import DELTA_LOG, cannot_read
from lamella.core.errors import FileProblem, MissingLibrary
from lamella.core.remote.files import files
from lamella.core.remote.listing import pages
from lamella.core.remote.paths import RemotePath
from lamella.core.remote.requests import answers

if TYPE_CHECKING:
    from deltalake import DeltaTable

SIDECARS = "_sidecars"
CLEANED_UP = "Delta Lake cleans up what is older than the table's retention"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*")
_PART = re.compile(r"\d{20}\.checkpoint\.\d{10}\.(\d{10})\.parquet")
_LOST_SIDECAR = re.compile(rf"{SIDECARS}/([^/\s]+) not found")
_VECTORS = re.compile(r"deletion_vector_.*\.bin")


def deltalake() -> Any:
    """The library that reads and writes the logs; raises `MissingLibrary`."""
    try:
        import deltalake as library
    except ImportError as error:
        raise MissingLibrary("deltalake", "Delta Lake tables need its log's library") from error
    return library


@dataclass(frozen=True)
class Log:
    """The names in a table's log: of its commits with their sizes in bytes, and of its checkpoints, which may
    be several files each."""

    root: Path
    commits: Mapping[int, int]
    checkpoint_files: Mapping[int, tuple[str, ...]]
    has_sidecars: bool = False

    @classmethod
    def of(cls, root: Path) -> Log:
        """Raises `FileProblem`."""
        commits, checkpoints, has_sidecars = dict[int, int](), dict[int, tuple[str, ...]](), False
        for name, size in _entries(root / DELTA_LOG):
            if match := _COMMIT.fullmatch(name):
                commits[int(match[1])] = size
            elif match := _CHECKPOINT.fullmatch(name):
                checkpoints[int(match[1])] = (*checkpoints.get(int(match[1]), ()), name)
            has_sidecars = has_sidecars or name == SIDECARS
        checkpoints = {number: names for number, names in checkpoints.items() if _are_all(names)}
        log = cls(root, commits, checkpoints, has_sidecars)
        if not commits and not checkpoints:
            raise log.nothing()
        return log

    def nothing(self) -> FileProblem:
        """Where it can give no version at all."""
        return FileProblem(
            self.root, "has an empty Delta log", "No version of the table was committed", "Write it again"
        )

    @property
    def checkpoints(self) -> Iterable[int]:
        return self.checkpoint_files.keys()

    @property
    def newest(self) -> int:
        return max((*self.commits, *self.checkpoints))

    @cached_property
    def versions(self) -> list[int]:
        """Those that can be made of what is there, ascending: each needs all commits since a checkpoint."""
        numbers, is_whole = list[int](), False
        for number in sorted({*self.commits, *self.checkpoints}):
            follows = is_whole and number - 1 == numbers[-1] and number in self.commits
            is_whole = number in self.checkpoints or number == 0 or follows
            if is_whole:
                numbers.append(number)
        return numbers

    def wanted(self, version: int | None) -> int:
        """The version, or the newest one. Raises `FileProblem` where the log cannot give it."""
        number = self.newest if version is None else version
        if number > self.newest:
            raise FileProblem(self.root, f"has no version {number:,} yet", fix=self._others())
        if number not in self.versions:
            raise self._gone(number)
        start = max((c for c in self.checkpoints if c <= number), default=-1)
        empty = next((c for c in range(start + 1, number + 1) if not self.commits[c]), None)
        if empty is not None:
            raise FileProblem(
                self.root,
                f"has a log that was not written to its end: commit {empty:,} is empty",
                "Whether it added or removed rows is unknown",
                f"Open version {empty - 1:,}, or commit again" if empty else "Write the table again",
            )
        return number

    @contextmanager
    def table(self, version: int, with_history: bool = False) -> Iterator[DeltaTable]:
        """A version as the library knows it, for the block; elsewhere from a copy of the part of the log that
        it takes, or of all of it. What the library raises in the block is a `FileProblem`."""
        if not isinstance(self.root, RemotePath):
            with explained(self, version):
                yield deltalake().DeltaTable(self.root, version=version)
            return
        with tempfile.TemporaryDirectory(prefix="lamella-delta-") as folder, explained(self, version, folder):
            self._copy(Path(folder), version, with_history)
            table = deltalake().DeltaTable(folder, version=version)
            if "deletionVectors" in (table.protocol().reader_features or ()):
                self._copy_vectors(Path(folder))
            yield table

    def _copy(self, folder: Path, version: int, whole: bool) -> None:
        start = max((c for c in self.checkpoints if c <= version), default=0)
        first = 0 if whole else start
        names = [f"{number:020}.json" for number in sorted(self.commits) if first <= number <= version]
        names += self.checkpoint_files.get(start, ())
        if self.has_sidecars:
            sidecars = _entries(self.root / DELTA_LOG / SIDECARS)
            names += [f"{SIDECARS}/{name}" for name, _ in sidecars]
        _copy_files(self.root / DELTA_LOG, names, folder / DELTA_LOG)

    def _copy_vectors(self, folder: Path) -> None:
        names = [name for name, _ in _entries(self.root) if _VECTORS.fullmatch(name)]
        _copy_files(self.root, names, folder)

    def _gone(self, number: int) -> FileProblem:
        if number < (self.versions or [number])[0]:
            return FileProblem(self.root, f"no longer has version {number:,}", CLEANED_UP, self._others())
        since = max((c for c in self.checkpoints if c <= number), default=-1)
        lost = next((c for c in range(since + 1, number + 1) if c not in self.commits), number)
        return FileProblem(
            self.root,
            f"has a log with a gap: commit {lost:,} is missing",
            f"Version {number:,} is made of all commits since a checkpoint",
            self._others() or "Restore the folder _delta_log, or write the table again",
        )

    def _others(self) -> str:
        numbers = self.versions
        if not numbers:
            return ""
        return f"There are versions {numbers[0]:,} to {numbers[-1]:,}" if len(numbers) > 1 else (
            f"There is version {numbers[0]:,}"
        )  # fmt: skip


def _are_all(names: Sequence[str]) -> bool:
    """Whether a checkpoint in several files has all of them; else it is none."""
    parts = [match for name in names if (match := _PART.fullmatch(name))]
    return len(parts) < len(names) or len(parts) == int(parts[0][1])


def _entries(folder: Path) -> Iterator[tuple[str, int]]:
    """The names in a folder, and the sizes of files; raises `FileProblem`."""
    if isinstance(folder, RemotePath):
        for page in pages(folder.address):
            for address, status in page:
                if status is not None:
                    files.note(address, status)
                yield address.name, 0 if status is None else status.size
        return
    try:
        for entry in folder.iterdir():
            yield entry.name, entry.stat().st_size
    except OSError as error:
        raise cannot_read(folder, error) from error


def _copy_files(source: Path, names: Iterable[str], target: Path) -> None:
    """They never change, so that the cache has those of a version that was opened before."""

    def copy(name: str) -> None:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((source / name).read_bytes())

    answers([partial(copy, name) for name in names], patient=False)


@contextmanager
def explained(log: Log, version: int, copy: str = "") -> Iterator[None]:
    """What the library raises of a log, as a `FileProblem`: its message is followed by its own stack. A copy
    of the log that is read in its place is not named."""
    library = deltalake()
    try:
        yield
    except (library.exceptions.DeltaError, OSError) as error:
        why = str(error).splitlines()[0]
        why = why.replace(copy, str(log.root)) if copy else why
        for prefix in ("Kernel error: ", "Generic delta kernel error: "):
            why = why.removeprefix(prefix)
        raise _problem_of_log(log, version, why) from error


def _problem_of_log(log: Log, version: int, why: str) -> FileProblem:
    feature = re.search(r"Feature '(\w+)' is not supported", why)
    if feature or "catalog-managed" in why:
        return unknown_feature(log.root, [feature[1] if feature else "catalogManaged"])
    if lost := _LOST_SIDECAR.search(why):
        return FileProblem(
            log.root,
            f"has lost a part of its checkpoint: {lost[1]}",
            f"Version {version:,} is made of it",
            f"Restore it in {DELTA_LOG}/{SIDECARS}, or write the table again",
        )
    earlier = [number for number in log.versions if number < version]
    way_out = f"Open version {earlier[-1]:,}, or commit again" if earlier else "Write the table again"
    return FileProblem(log.root, f"has a Delta log whose version {version:,} cannot be read", why, way_out)


def unknown_feature(root: Path, names: Sequence[str]) -> FileProblem:
    return FileProblem(
        root,
        f"uses features of Delta Lake that are not known here: {', '.join(names)}",
        "Without them the rows would be other ones than the table holds",
        "Read it with the program that wrote it",
    )
