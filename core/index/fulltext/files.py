"""The full-text index of one data file: a folder of parts, sealed with the checksums of its files.

<data file>.fulltext-3-4-<options>/
    seal.json       its origin, its parts, and a checksum for each file; written last
    0/              a part: tantivy's files, and the part's vocabulary
    1/              further rows, if one part would have been too large
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import tantivy
from tantivy.tantivy import __version__

from lamella.core.errors import FileProblem
from lamella.core.index.definition import DRAFT, Index, IndexFolder
from lamella.core.index.fulltext.part import Part, Texts, TooLarge, Vocabulary, build, schema_of
from lamella.core.jobs import Job
from lamella.core.scan.chunks import run_chunks
from lamella.core.scan.parquet_file import unchanged_footer
from lamella.core.scan.snapshot import Column, FileSegment

FORMAT = 3
SEAL, VOCABULARY = "seal.json", "vocabulary.arrow"
LARGEST_PART = 128_000_000
"""The maximum size of a part in bytes of text."""
CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class FileParts:
    """The parts of a data file, with the first row of each."""

    parts: tuple[Part, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Source:
    """The input of a data file's index: columns by key. `usual` are the average lengths of the texts in the
    rest of the table."""

    segment: FileSegment
    keys: Sequence[int]
    language: str | None
    usual: Mapping[int, float]


def path_of(place: IndexFolder, segment: FileSegment, index: Index) -> Path:
    options = zlib.crc32(json.dumps(dict(index.options), sort_keys=True).encode())
    return place.folder / f"{segment.path.stem}.{index.stem}-{options:08x}"


def write(path: Path, source: Source, job: Job) -> None:
    """Write the folder atomically. It is not synced: after a crash it may be damaged, and is then
    rebuilt."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}{DRAFT}")
    draft.mkdir(parents=True)
    try:
        descriptions = list(_write_parts(draft, source, job))
        job.check()
        files = {name: _checksum(draft / name) for name in sorted(_names(draft))}
        seal = {**_origin(source.segment), "parts": descriptions, "files": files}
        (draft / SEAL).write_text(json.dumps({"told": seal, "checksum": _code(seal)}))
        _put_in_place(draft, path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read(path: Path, segment: FileSegment, keys: Sequence[int], writable: bool) -> FileParts:
    """Read an index. Raises `FileProblem` if it is damaged or belongs to another data file. In a read-only
    store, where tantivy cannot even write its locks, the files are opened from a copy elsewhere."""
    description = check_seal(path, segment)
    parts = [
        _open_part(path / str(number), part, keys, writable)
        for number, part in enumerate(description["parts"])
    ]
    return FileParts(tuple(parts), tuple(int(part["first"]) for part in description["parts"]))


def in_memory(source: Source, job: Job) -> FileParts:
    """Build the parts in memory, for a data file whose index can be neither read nor written."""
    parts = list(_parts(source, None, job))
    return FileParts(tuple(part for _, part in parts), tuple(first for first, _ in parts))


def check_seal(path: Path, segment: FileSegment, quick: bool = False) -> dict[str, Any]:
    """Return the seal's description if it is valid; `quick` skips the checksums. Raises `FileProblem`. Reads
    only files in the folder."""
    if any(place.is_symlink() for place in (path, *path.rglob("*"))):
        raise FileProblem(path, "cannot be read as an index", "It is a symbolic link, or contains one")
    try:
        description = _seal(path)
        names, files = set(_names(path)), description["files"].items()
        broken = [n for n, checksum in files if n not in names or not _whole(path / n, checksum, quick)]
        same = {key: description[key] for key in _origin(segment)} == _origin(segment)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileProblem(path, "cannot be read as an index", str(error)) from error
    if broken or not same:
        what = f"checksum of {broken[0]}" if broken else "origin"
        raise FileProblem(path, f"is not the index that was written: its {what} differs")
    return description


def part_lengths(path: Path) -> list[tuple[int, dict[int, float]]]:
    """The number of rows of each part, and the average lengths of their texts; empty if there is no seal."""
    try:
        description = _seal(path)
        return [(int(part["rows"]), _lengths(part)) for part in description["parts"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def remove(path: Path) -> None:
    """Remove the index, the seal first, so that remains are never taken for an index."""
    if path.is_symlink():
        path.unlink()
        return
    (path / SEAL).unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _write_parts(draft: Path, source: Source, job: Job) -> Iterator[dict[str, Any]]:
    for number, (first, part) in enumerate(_parts(source, draft, job)):
        folder = draft / str(number)
        part.vocabulary.write(folder / VOCABULARY)
        for lock in folder.glob("*.lock"):
            lock.unlink()
        lengths = {str(key): length for key, length in part.lengths.items()}
        yield {"first": first, "rows": part.rows, "segments": part.starts, "lengths": lengths}


def _parts(source: Source, folder: Path | None, job: Job) -> Iterator[tuple[int, Part]]:
    """Build parts, each with its first row, in memory or in a subfolder each."""
    waiting, number = _cuts(source)[::-1], 0
    while waiting:
        first, stop = waiting.pop()
        own = folder / str(number) if folder else None
        if own:
            own.mkdir()
        try:
            texts = _texts(source, first, stop)
            part = build(texts, stop - first, source.language, source.usual, own, job)
        except TooLarge:
            if own:
                shutil.rmtree(own)
            middle = (first + stop) // 2
            waiting += [(middle, stop), (first, middle)]
            continue
        yield first, part
        number += 1


def _cuts(source: Source) -> list[tuple[int, int]]:
    """Ranges of rows whose texts are not too large together, as far as the file's metadata shows."""
    footer, names_by_key = unchanged_footer(source.segment), source.segment.names
    names = {names_by_key[key] for key in source.keys if key in names_by_key}
    cuts, size = [0], 0
    for group, start in enumerate(footer.row_group_starts[:-1].tolist()):
        group_metadata = footer.metadata.row_group(group)
        leaves = (group_metadata.column(i) for i in range(group_metadata.num_columns))
        own = sum(x.total_uncompressed_size for x in leaves if x.path_in_schema.split(".")[0] in names)
        if size and size + own > LARGEST_PART:
            cuts.append(start)
            size = 0
        size += own
    return list(zip(cuts, [*cuts[1:], source.segment.num_rows], strict=True))


def _texts(source: Source, first: int, stop: int) -> Texts:
    footer, names = unchanged_footer(source.segment), source.segment.names
    columns = [Column(names[k], footer.schema.field(names[k]).type, k) for k in source.keys if k in names]
    starts = footer.row_group_starts
    groups = [g for g in range(len(starts) - 1) if starts[g] < stop and starts[g + 1] > first]
    chunks = run_chunks(source.segment, groups, columns, None)[0] if groups and columns else []
    begin = first - int(starts[groups[0]]) if groups else 0
    texts = {c.key: chunk.slice(begin, stop - first) for c, chunk in zip(columns, chunks, strict=True)}
    return {**dict.fromkeys(source.keys, pa.nulls(stop - first, pa.string())), **texts}


def _open_part(folder: Path, description: Mapping[str, Any], keys: Sequence[int], writable: bool) -> Part:
    opened = folder if writable else _copy(folder)
    try:
        searcher = tantivy.Index.open(str(opened)).searcher()
        vocabulary = Vocabulary.read(folder / VOCABULARY)
        rows, starts = int(description["rows"]), description["segments"]
        part = Part(rows, starts, searcher, schema_of(tuple(keys)), vocabulary, _lengths(description))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FileProblem(folder, "cannot be read as an index", str(error)) from error
    if opened is not folder:
        weakref.finalize(part, shutil.rmtree, opened, ignore_errors=True)
    return part


def _copy(folder: Path) -> Path:
    """Link the files into a folder where tantivy can write its locks."""
    copy = Path(tempfile.mkdtemp(prefix="lamella-fulltext-"))
    for file in folder.iterdir():
        try:
            (copy / file.name).symlink_to(file)
        except OSError:
            shutil.copyfile(file, copy / file.name)
    return copy


def _lengths(description: Mapping[str, Any]) -> dict[int, float]:
    return {int(key): float(length) for key, length in description["lengths"].items()}


def _put_in_place(draft: Path, path: Path) -> None:
    """Move the draft into place. Another process may have been faster: its index is as good, unless it has no
    seal."""
    if path.exists() and not (path / SEAL).exists():
        remove(path)
    try:
        draft.rename(path)
    except OSError:
        if not (path / SEAL).exists():
            raise


def _origin(segment: FileSegment) -> dict[str, Any]:
    """The origin of an index. `tantivy` is the version of its format."""
    made_by = __version__.rpartition(" ")[2]
    return {"format": FORMAT, "tantivy": made_by, "file": segment.path.name, "rows": segment.num_rows}


def _seal(path: Path) -> dict[str, Any]:
    """Read the seal. Raises `ValueError` if it was altered, and any error of reading."""
    sealed = json.loads((path / SEAL).read_bytes())
    description: dict[str, Any] = sealed["told"]
    if sealed["checksum"] != _code(description):
        raise ValueError("the checksum of its seal differs")
    return description


def _code(description: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(description, sort_keys=True).encode())


def _names(draft: Path) -> Iterator[str]:
    for file in draft.rglob("*"):
        if file.is_file():
            yield file.relative_to(draft).as_posix()


def _whole(path: Path, checksum: Sequence[int], quick: bool) -> bool:
    size, code = checksum
    return path.stat().st_size == size and (quick or _checksum(path)[1] == code)


def _checksum(path: Path) -> tuple[int, int]:
    """Size and CRC-32. Reuses a buffer, since allocating new memory costs more than reading into it."""
    size = code = 0
    block = memoryview(bytearray(CHUNK))
    with path.open("rb", buffering=0) as file:
        while size_read := file.readinto(block):
            size, code = size + size_read, zlib.crc32(block[:size_read], code)
    return size, code
