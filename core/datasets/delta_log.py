"""The log of a Delta table: which versions it can give, and the library's view of each."""

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
CLEANUP = "Delta Lake cleans up what is older than the table's retention"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*")
_PART = re.compile(r"\d{20}\.checkpoint\.\d{10}\.(\d{10})\.parquet")
_LOST_SIDECAR = re.compile(rf"{SIDECARS}/([^/\s]+) not found")
_VECTORS = re.compile(r"deletion_vector_.*\.bin")


def deltalake() -> Any:
    """Return the library that reads and writes Delta logs. Raises `MissingLibrary`."""
    try:
        import deltalake as library
    except ImportError as error:
        raise MissingLibrary("deltalake", "Delta Lake tables need this library for their log") from error
    return library


@dataclass(frozen=True)
class Log:
    """What a table's log contains: commits with their sizes in bytes, and checkpoints, each of one or more
    files."""

    root: Path
    commits: Mapping[int, int]
    checkpoint_files: Mapping[int, tuple[str, ...]]
    has_sidecars: bool = False

    @classmethod
    def of(cls, root: Path) -> Log:
        """Read the names in the log of the table at `root`. Raises `FileProblem`."""
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
        """The error for a log without any version."""
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
        """The versions that can be read, ascending: each needs every commit since a checkpoint."""
        numbers, is_whole = list[int](), False
        for number in sorted({*self.commits, *self.checkpoints}):
            follows = is_whole and number - 1 == numbers[-1] and number in self.commits
            is_whole = number in self.checkpoints or number == 0 or follows
            if is_whole:
                numbers.append(number)
        return numbers

    def checked_version(self, version: int | None) -> int:
        """Return the version, or the newest if None. Raises `FileProblem` if the log cannot give it."""
        number = self.newest if version is None else version
        if number > self.newest:
            raise FileProblem(self.root, f"has no version {number:,} yet", fix=self._range_text())
        if number not in self.versions:
            raise self._missing_error(number)
        start = max((c for c in self.checkpoints if c <= number), default=-1)
        empty = next((c for c in range(start + 1, number + 1) if not self.commits[c]), None)
        if empty is not None:
            raise FileProblem(
                self.root,
                f"has an incomplete log: commit {empty:,} is empty",
                "Whether it added or removed rows is unknown",
                f"Open version {empty - 1:,}, or commit again" if empty else "Write the table again",
            )
        return number

    @contextmanager
    def table(self, version: int, with_history: bool = False) -> Iterator[DeltaTable]:
        """Give the library's table at a version, for the duration of the block. A table elsewhere is read
        from a copy of the part of the log that the version needs, or of the whole log `with_history`. Errors
        that the library raises in the block become `FileProblem`."""
        if not isinstance(self.root, RemotePath):
            with explain_errors(self, version):
                yield deltalake().DeltaTable(self.root, version=version)
            return
        with (
            tempfile.TemporaryDirectory(prefix="lamella-delta-") as folder,
            explain_errors(self, version, folder),
        ):
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

    def _missing_error(self, number: int) -> FileProblem:
        if number < (self.versions or [number])[0]:
            return FileProblem(self.root, f"no longer has version {number:,}", CLEANUP, self._range_text())
        since = max((c for c in self.checkpoints if c <= number), default=-1)
        lost = next((c for c in range(since + 1, number + 1) if c not in self.commits), number)
        return FileProblem(
            self.root,
            f"has a log with a gap: commit {lost:,} is missing",
            f"Version {number:,} needs every commit since a checkpoint",
            self._range_text() or "Restore the folder _delta_log, or write the table again",
        )

    def _range_text(self) -> str:
        numbers = self.versions
        if not numbers:
            return ""
        return f"There are versions {numbers[0]:,} to {numbers[-1]:,}" if len(numbers) > 1 else (
            f"There is version {numbers[0]:,}"
        )  # fmt: skip


def _are_all(names: Sequence[str]) -> bool:
    """Whether all files of a checkpoint are there; an incomplete one cannot be used."""
    parts = [match for name in names if (match := _PART.fullmatch(name))]
    return len(parts) < len(names) or len(parts) == int(parts[0][1])


def _entries(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield each name in a folder with its size in bytes. Raises `FileProblem`."""
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
    """Copy files of a log. They never change, so the cache still has those of a version opened before."""

    def copy(name: str) -> None:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((source / name).read_bytes())

    answers([partial(copy, name) for name in names], patient=False)


@contextmanager
def explain_errors(log: Log, version: int, copy: str = "") -> Iterator[None]:
    """Turn the library's errors about a log into `FileProblem` with the first line of the message, since its
    stack trace follows. `copy`, the folder that was read in place of the log, is replaced by the log's
    path."""
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
            f"Version {version:,} needs it",
            f"Restore it in {DELTA_LOG}/{SIDECARS}, or write the table again",
        )
    earlier = [number for number in log.versions if number < version]
    way_out = f"Open version {earlier[-1]:,}, or commit again" if earlier else "Write the table again"
    return FileProblem(log.root, f"has a Delta log whose version {version:,} cannot be read", why, way_out)


def unknown_feature(root: Path, names: Sequence[str]) -> FileProblem:
    return FileProblem(
        root,
        f"uses features of Delta Lake that are not known here: {', '.join(names)}",
        "Without them, wrong rows would be shown",
        "Read it with the program that wrote it",
    )
