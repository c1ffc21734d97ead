"""Caches files as Parquet parts, so that every row is accessible and the next opening takes no time."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Any

import platformdirs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.datasets.blocks import Block, BlockFile, in_order, read_block
from lamella.core.datasets.locate import Stamp, fingerprint_of, stamp_of
from lamella.core.errors import FileProblem
from lamella.core.processes import FileLock
from lamella.core.remote.addresses import is_file_address
from lamella.core.scan.checksums import RunningChecksum, checksum_of_bytes
from lamella.core.scan.file_checks import is_known_damaged
from lamella.core.scan.parquet_file import BODY
from lamella.core.scan.snapshot import FileSegment

FORMAT_VERSION = 5
"""Part of every key; increased when reading changes, so that old caches are not used."""
MOST_BYTES = 20 << 30
_MANIFEST = "manifest.json"
REMEDY = "It is the cached copy of another file: open that file again to rebuild it"
_ENTRY, _GENERATION = re.compile("[0-9a-f]{24}"), re.compile("[0-9a-f]{32}")


def default_folder() -> Path:
    home = os.environ.get("LAMELLA_HOME")
    folder = Path(home) / "cache" if home else platformdirs.user_cache_path("Lamella", appauthor=False)
    return folder / "text"


@dataclass(frozen=True)
class CachedFile:
    """A complete file as parts, and the schema with which it was read."""

    schema: pa.Schema
    parts: tuple[FileSegment, ...]


class CacheEntry:
    """The cache of one version of one file, read with one set of options. Locked until `release`."""

    def __init__(self, root: Path, stamps: Sequence[Stamp], reading: Sequence[object]) -> None:
        self._stamps = [list(stamp) for stamp in stamps]
        key = json.dumps([FORMAT_VERSION, self._stamps, [str(option) for option in reading]])
        self.key = hashlib.sha256(key.encode()).hexdigest()[:24]
        self.root, self.folder = root, root / self.key
        self._lock: FileLock | None = None

    def hold(self) -> None:
        """Protect the entry from being swept by any process until `release`, or as long as this object
        lives."""
        if self._lock is None:
            self._make(self.folder)
            self._lock = FileLock(self.folder / f"{uuid.uuid4().hex}.lock")
            self._lock.acquire()

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def load(self) -> CachedFile | None:
        """The file's parts, if it was cached completely and nothing has changed since."""
        manifest = _read_manifest(self.folder)
        if manifest is None:
            return None
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(manifest["schema"])))
        names = part_names(schema)
        parts = tuple(
            part_of(self.folder / name, rows, names, (size, time), checksum)
            for name, rows, size, time, checksum in manifest["parts"]
        )
        if not all(_is_as_written(part) for part in parts):
            return None
        os.utime(self.folder / _MANIFEST)
        return CachedFile(schema, parts)

    def new_generation(self) -> Path:
        """Create an empty folder for parts; other generations stay for their readers."""
        self.hold()
        folder = self.folder / uuid.uuid4().hex
        self._make(folder)
        return folder

    def finish(self, cached_file: CachedFile) -> None:
        manifest = {
            "files": self._stamps,
            "schema": base64.b64encode(bytes(cached_file.schema.serialize())).decode(),
            "parts": [
                [_below(self.folder, p.path), p.num_rows, *(p.fingerprint or ()), p.checksum]
                for p in cached_file.parts
            ],
        }
        manifest["checksum"] = _checksum_of(manifest)
        draft = self.folder / f"{uuid.uuid4().hex}.tmp"
        try:
            draft.write_text(json.dumps(manifest), "utf-8")
            draft.replace(self.folder / _MANIFEST)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise unwritable(self.folder, error) from error

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error


def part_of(
    path: Path, rows: int, names: dict[int, str], fingerprint: tuple[int, int], checksum: str
) -> FileSegment:
    return FileSegment(path, rows, names, fingerprint, checksum=checksum, remedy=REMEDY)


def _is_as_written(part: FileSegment) -> bool:
    is_there = part.path.exists() and fingerprint_of(part.path) == part.fingerprint
    return is_there and not is_known_damaged(part.path)


def _checksum_of(manifest: dict[str, Any]) -> str:
    return checksum_of_bytes(json.dumps(manifest).encode())


def part_names(schema: pa.Schema) -> dict[int, str]:
    """The names of columns inside parts: by index, so that any name works."""
    return {place: f"c{place}" for place in range(len(schema))}


def unwritable(path: Path, error: OSError) -> FileProblem:
    return FileProblem(
        path,
        "the cache of files cannot be written",
        error.strerror or str(error),
        "Make room on that disk, or choose another cache folder in the settings",
    )


def sweep(root: Path, most_bytes: int = MOST_BYTES) -> None:
    """Remove entries that nobody uses: unfinished and outdated ones, then the least recently used above the
    limit.

    The folder is the user's choice, so only files with names of the cache's own are touched; links are not.
    """
    idle = [folder for folder in _folders(root, _ENTRY) if not _is_locked(folder)]
    useful = [folder for folder in idle if _is_current(folder)]
    for folder in set(idle) - set(useful):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in useful:
        _drop_old_generations(folder)
    total = sum(_size(folder) for folder in _folders(root, _ENTRY))
    for folder in sorted(useful, key=lambda f: (f / _MANIFEST).stat().st_mtime):
        if total <= most_bytes:
            return
        total -= _size(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _is_locked(folder: Path) -> bool:
    locked = False
    for path in folder.glob("*.lock"):
        if FileLock(path).is_locked():
            locked = True
        else:
            path.unlink(missing_ok=True)
    return locked


def _is_current(folder: Path) -> bool:
    manifest = _read_manifest(folder)
    if manifest is None:
        return False
    return all(
        is_file_address(path) or stamp_of(Path(path)) == (path, *times) for path, *times in manifest["files"]
    )  # asking servers takes time; unused entries are swept by age


def _drop_old_generations(folder: Path) -> None:
    manifest = _read_manifest(folder) or {"parts": []}
    generations = {name.split("/")[0] for name, *_ in manifest["parts"]}
    for generation in _folders(folder, _GENERATION):
        if generation.name not in generations:
            shutil.rmtree(generation, ignore_errors=True)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest; None if there is no usable cache. If the folder is at fault, writing a new one
    reports it."""
    try:
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text("utf-8"))
        is_whole = manifest.pop("checksum") == _checksum_of(manifest)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return manifest if is_whole else None


def _folders(root: Path, own: re.Pattern[str]) -> list[Path]:
    entries = root.iterdir() if root.is_dir() else ()
    return [p for p in entries if own.fullmatch(p.name) and p.is_dir() and not p.is_symlink()]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _below(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


ROWS_A_GROUP = 100_000
_MOST_DISTINCT = 0.5
_SAMPLED_ROWS = 20_000


@dataclass(frozen=True)
class CachedBlock:
    """The cached part of a block; None if the block did not fit. `progress`: how much of the file was read by
    then."""

    part: FileSegment | None
    schema: pa.Schema
    progress: int


class PartWriter:
    """Writes the parts of a file in one pass with one schema."""

    def __init__(self, file: BlockFile, schema: pa.Schema, folder: Path) -> None:
        self._file, self._folder = file, folder
        self.schema = self.wide = schema

    def write(self, blocks: Iterable[Block], on_block: Callable[[CachedBlock], None]) -> None:
        """Write parts until a block does not fit; then only determine how wide the schema must be for the
        rest, see `wide`. Raises `FileProblem`."""
        for written in in_order(self._write_block, blocks):
            self.wide = self._file.join(self.wide, written.schema)
            on_block(written)

    def _write_block(self, block: Block) -> CachedBlock:
        wide = self.wide
        reading = read_block(self._file, block, wide)
        if reading.rows is None or (wide is not self.schema and not wide.equals(self.schema)):
            return CachedBlock(None, reading.schema, block.progress)
        path = self._folder / f"part-{block.number:06d}.parquet"
        checksum = write_part(path, reading.rows)
        names = part_names(self.schema)
        part = part_of(path, reading.rows.num_rows, names, fingerprint_of(path), checksum)
        return CachedBlock(part, reading.schema, block.progress)


def write_part(path: Path, rows: pa.Table) -> str:
    """Write a part; return the file's checksum."""
    _refuse_full_disk(path.parent)
    stored = rows.rename_columns(list(part_names(rows.schema).values()))
    draft = path.with_suffix(".tmp")
    try:
        with pq.ParquetWriter(
            draft, stored.schema, compression="snappy", use_dictionary=_repetitive(stored),
            write_page_checksum=True,
        ) as file:  # fmt: skip
            file.write_table(stored, row_group_size=ROWS_A_GROUP)
            checksum = RunningChecksum(draft)
            file.add_key_value_metadata({BODY: checksum.extend_to_text()})
        with closing(checksum):
            checksum.extend()
        draft.replace(path)
        return checksum.text
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise unwritable(path, error) from error


LEAST_FREE, LEAST_SHARE = 1 << 30, 0.05
"""The space that a cache leaves free: this many bytes, or on a small disk this share."""


def _refuse_full_disk(folder: Path) -> None:
    """Raise `FileProblem` before a cache uses up the disk."""
    disk = shutil.disk_usage(folder)
    if disk.free < min(LEAST_FREE, LEAST_SHARE * disk.total):
        raise unwritable(folder, OSError(ENOSPC, f"The disk has {disk.free >> 20:,} MB left"))


def _repetitive(rows: pa.Table) -> list[str]:
    """The text columns whose values repeat often, judged by the first rows."""
    sample = rows.slice(0, _SAMPLED_ROWS)
    texts = [f.name for f in rows.schema if pa.types.is_string(f.type)]
    most = _MOST_DISTINCT * max(1, sample.num_rows)
    return [name for name in texts if pc.count_distinct(sample.column(name)).as_py() <= most]
