"""The data files that a dropped or typed path stands for: one file, those of a folder, or those of a glob."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

from lamella.core.errors import CHANGED_ON_DISK, BadData, FileProblem, nearest
from lamella.core.jobs import Job
from lamella.core.remote.addresses import Address, is_file_address
from lamella.core.remote.files import files
from lamella.core.remote.listing import matches, pages
from lamella.core.remote.paths import RemotePath, path_or_address
from lamella.core.remote.problems import AccessDenied, MissingFile, RemoteProblem
from lamella.core.remote.requests import answers
from lamella.core.remote.server import Entry
from lamella.core.validation import path_of

DELTA_LOG = "_delta_log"
"""A folder with this subfolder is a Delta table."""
_GLOB_SIGNS = frozenset("*?[")
MOST_GUESSES = 2


@dataclass(frozen=True)
class Location:
    """What was opened: `root` is the path that the user gave, `files` are the data files there in the order
    of their names. If `is_delta`, it is a Delta table: `files` is empty, since only its log knows them."""

    root: Path
    name: str
    files: tuple[Path, ...]
    is_delta: bool = False


def locate(path: str | Path, job: Job | None = None) -> Location:
    """Return the data files that a path or an address stands for. Raises `FileProblem` if there are none.
    `job` can cancel the listing of folders elsewhere."""
    if isinstance(path, RemotePath) or is_file_address(path):
        return _elsewhere(RemotePath(path), job or Job())
    root = path_of(path, "the file")
    try:
        if root.is_dir():
            return _folder(root)
        if root.exists():
            return _file(root)
    except OSError as error:
        raise cannot_read(root, error) from error
    if root.is_symlink():
        raise FileProblem(
            root,
            "is a broken link",
            "It points to itself or to a file that no longer exists",
            "Open the target",
        )
    if _GLOB_SIGNS & set(str(path)):
        return _pattern(root)
    raise missing(root)


def _elsewhere(root: RemotePath, job: Job) -> Location:
    address = root.address
    if address.is_pattern and not _is_file(address):
        plain = _before_sign(address.key.split("/"))
        _refuse_part_of_table(root, RemotePath(str(address.at("/".join(plain)))))
        paths = _data_files(address, matches(address, job))
        if not paths:
            raise FileProblem(
                root, "matches no file", fix="Check the pattern: * stands for any name, ** for any folders"
            )
        return Location(root, plain[-1] if plain else address.place, paths)
    folder = not address.key or address.key.endswith("/")
    try:
        if not folder or address.kind.name == "http":
            files.remote_status(address, fresh=True)
            return Location(root, root.stem, (root,))
    except MissingFile as problem:
        if address.kind.name != "http" and (delta := _delta_table(root)):
            return delta
        try:
            paths = _data_files(address, pages(address, True, job)) if address.kind.name != "http" else ()
        except MissingFile as listed:  # of a file system, where an object store has nothing to list
            paths, problem = (), listed if listed.why else problem
        if not paths:
            raise (_no_data_files(root) if root.is_dir() else problem) from None
        return Location(root, root.name.removesuffix(".parquet"), paths)
    if delta := _delta_table(root):
        return delta
    paths = _data_files(address, pages(address, True, job))
    if not paths:
        raise _no_data_files(root)
    return Location(root, root.name, paths)


def _delta_table(root: RemotePath) -> Location | None:
    """The Delta table with this folder, if it is one. Raises `FileProblem` for a folder inside a table."""
    table = RemotePath(str(root.address.at(root.address.key.rstrip("/"))))
    if is_delta_table(table):
        return Location(table, table_name(table), (), is_delta=True)
    _refuse_part_of_table(root, table.parent)
    return None


def _refuse_part_of_table(root: RemotePath, folder: RemotePath) -> None:
    """Raise `FileProblem` if the folder, or one above it, is a Delta table."""
    if not folder.address.key:
        return
    around = [folder, *(parent for parent in folder.parents if parent.address.key)]
    are_tables = answers([partial(_is_known_table, path) for path in around])
    if table := next((path for path, is_one in zip(around, are_tables, strict=True) if is_one), None):
        raise _part_of_table(root, table)


def _is_known_table(folder: RemotePath) -> bool:
    """Whether the folder is a Delta table; False if it may not be listed, since its files may be readable."""
    try:
        return is_delta_table(folder)
    except AccessDenied:
        return False


def _is_file(address: Address) -> bool:
    """Whether there is a file of this name, which looks like a pattern."""
    try:
        files.remote_status(address, fresh=True)
    except RemoteProblem:
        return False
    return True


def _data_files(root: Address, listing: Iterable[Sequence[Entry]]) -> tuple[Path, ...]:
    """The non-empty, non-hidden files of a listing, in the order of their names. Their sizes and times are
    remembered, so that they need not be requested again."""
    plain = "/".join(_before_sign(root.key.split("/"))) if root.is_pattern else root.key
    prefix = plain.strip("/")
    paths = []
    for page in listing:
        for address, status in page:
            inside = address.key[len(prefix) :]
            if DELTA_LOG in inside.split("/"):
                table = root.at(address.key.partition(f"/{DELTA_LOG}")[0])
                raise _holds_tables(RemotePath(str(root)), [RemotePath(str(table))])
            if status and status.size and not any(_is_hidden(part) for part in inside.split("/") if part):
                files.note(address, status)
                paths.append(RemotePath(str(address)))
    return tuple(sorted(paths))


def locate_several(paths: Sequence[str | Path], job: Job | None = None) -> Location:
    """Return the files of several paths, folders and globs as one location, in the order of `paths`. Raises
    `FileProblem`, and `BadData` if there are no paths."""
    if not isinstance(paths, Sequence) or not paths:
        raise BadData("no file is named", fix="Give a path, or a list of paths")
    locations = [locate(path, job) for path in paths]
    if len(locations) == 1:
        return locations[0]
    for location in locations:
        if location.is_delta:
            raise FileProblem(
                location.root,
                "is a Delta table",
                "It cannot be opened together with other files",
                "Open it by itself",
            )
    files = tuple(dict.fromkeys(file for location in locations for file in location.files))
    root = _common_folder(files)
    return Location(root, _common_name(files) or root.name or locations[0].name, files)


def _common_folder(files: Sequence[Path]) -> Path:
    elsewhere = [file for file in files if isinstance(file, RemotePath)]
    if not elsewhere:
        return Path(os.path.commonpath([file.parent for file in files]))
    parts = zip(*(file.parent.parts for file in elsewhere), strict=False)
    shared = [same[0] for same in takewhile(lambda each: len(set(each)) == 1, parts)]
    if len(elsewhere) < len(files) or not shared:
        raise FileProblem(
            elsewhere[0],
            "cannot be opened together with the others",
            "They are on different servers, or partly on this machine",
            "Open them one by one, or import them into one table",
        )
    return RemotePath("/".join(shared))


def _common_name(files: Sequence[Path]) -> str:
    """`sales` for sales_01.csv and sales_02.csv; empty if the names have fewer than two letters in common."""
    signs = zip(*(file.name.split(".")[0] for file in files), strict=False)
    same = takewhile(lambda place: len(set(place)) == 1, signs)
    name = "".join(place[0] for place in same).rstrip(" _-0123456789")
    return name if len(name) > 1 else ""


def cannot_read(path: Path, error: OSError) -> FileProblem:
    """Return a `FileProblem` that says why the operating system could not read the file, and what to do."""
    if isinstance(error, FileNotFoundError):
        return missing(path)
    if isinstance(error, PermissionError):
        return FileProblem(
            path, "may not be read", "You have no permission", "Ask its owner, or change its permissions"
        )
    return FileProblem(
        path,
        "could not be read",
        error.strerror or str(error),
        "Check the path and that the disk is connected",
    )


Stamp = tuple[str, int, int]
"""A path, the size of its file in bytes, and its time of last change in ns; -1 and 0 if there is no file."""


def fingerprint_of(path: Path) -> tuple[int, int]:
    """Return the size in bytes and the time of last change in ns. Raises `FileProblem`."""
    try:
        status = path.stat()
    except OSError as error:
        raise cannot_read(path, error) from error
    return status.st_size, status.st_mtime_ns


def stamp_of(path: Path) -> Stamp:
    try:
        status = path.stat()
    except (OSError, MissingFile):
        return str(path), -1, 0
    return str(path), status.st_size, status.st_mtime_ns


def refuse_changed_files(stamps: Iterable[Stamp]) -> None:
    """Raise `FileProblem` for the first file that has changed since its stamp was taken."""
    for stamp in stamps:
        path = path_or_address(stamp[0])
        if stamp_of(path) != stamp:
            raise FileProblem(path, CHANGED_ON_DISK, fix="Reload it to see its new content")


def is_changed_on_disk(error: Exception) -> bool:
    """Whether the error says that a file has changed since it was opened."""
    return isinstance(error, FileProblem) and error.problem == CHANGED_ON_DISK


def missing(path: Path) -> FileProblem:
    folder = path.parent
    if not folder.is_dir():
        return FileProblem(path, "is not there", f"There is no folder {folder} either", "Check the path")
    siblings = [p.name for p in folder.iterdir() if not _is_hidden(p.name)]
    near = _nearest_files(path.name, siblings)
    fix = (
        "Did you mean " + " or ".join(f"'{folder / name}'" for name in near) + "?"
        if near
        else "Check the path"
    )
    return FileProblem(path, "is not there", fix=fix)


def _nearest_files(name: str, names: Sequence[str]) -> list[str]:
    """Names with a similar stem: that two of them end in `.parquet` does not make them alike."""
    by_stem: dict[str, list[str]] = {}
    for candidate in sorted(names):
        by_stem.setdefault(_stem(candidate), []).append(candidate)
    near = nearest(_stem(name), list(by_stem), least=0.7)
    return [candidate for stem in near for candidate in by_stem[stem]][:MOST_GUESSES]


def _stem(name: str) -> str:
    return Path(name.removesuffix(".gz")).stem


def _file(root: Path) -> Location:
    if not root.is_file():
        raise FileProblem(
            root, "is not a file", "It is a device or a pipe", "Save its content to a file first"
        )
    return Location(root, root.stem, (root,))


def _folder(root: Path) -> Location:
    if is_delta_table(root):
        return Location(root, table_name(root), (), is_delta=True)
    paths = list(root.rglob("*"))
    _refuse_parts_of_tables(root, [path.parent for path in paths if path.name == DELTA_LOG])
    files = _visible(root, paths)
    if not files:
        raise _no_data_files(root)
    return Location(root, table_name(root), files)


def _no_data_files(root: Path) -> FileProblem:
    return FileProblem(
        root, "holds no data files", "Every file in it is hidden, empty or missing", "Choose another"
    )


def _pattern(root: Path) -> Location:
    anchor = Path(*_before_sign(root.parts))
    matches = (Path(match) for match in glob.glob(str(root), recursive=True))  # noqa: PTH207 -- absolute patterns
    files = _visible(anchor, matches)
    folders = {folder for file in files for folder in file.parents if anchor in (folder, *folder.parents)}
    _refuse_parts_of_tables(anchor, [folder for folder in sorted(folders) if is_delta_table(folder)])
    if not files:
        raise FileProblem(
            root, "matches no file", fix="Check the pattern: * stands for any name, ** for any folders"
        )
    return Location(root, anchor.name or root.name, files)


def is_delta_table(folder: Path) -> bool:
    return (folder / DELTA_LOG).is_dir()


def table_name(folder: Path) -> str:
    """Return the name of the dataset that a folder holds."""
    return folder.name.removesuffix(".parquet").removesuffix(".delta")


def _refuse_parts_of_tables(root: Path, tables: Sequence[Path]) -> None:
    """Raise `FileProblem` if files belong to Delta tables: without the logs, removed rows would be shown."""
    if around := next((folder for folder in root.parents if is_delta_table(folder)), None):
        raise _part_of_table(root, around)
    if tables:
        raise _holds_tables(root, tables)


def _part_of_table(root: Path, table: Path) -> FileProblem:
    return FileProblem(
        root,
        f"is a part of the Delta table {table.name}",
        "Only the table's log knows which of its files hold removed rows",
        f"Open {table}",
    )


def _holds_tables(root: Path, tables: Sequence[Path]) -> FileProblem:
    names = ", ".join(f"'{table}'" for table in tables[:MOST_GUESSES])
    more = f" and {len(tables) - MOST_GUESSES:,} more" if len(tables) > MOST_GUESSES else ""
    return FileProblem(
        root,
        "holds a Delta table" if len(tables) == 1 else f"holds {len(tables):,} Delta tables",
        "Only their logs know which of their files hold removed rows",
        f"Open them separately: {names}{more}",
    )


def _before_sign(parts: Iterable[str]) -> list[str]:
    plain: list[str] = []
    for part in parts:
        if _GLOB_SIGNS & set(part):
            break
        plain.append(part)
    return plain


def _visible(root: Path, paths: Iterable[Path]) -> tuple[Path, ...]:
    """The non-empty files among `paths`, without bookkeeping files such as `_SUCCESS`, `.crc`,
    `_metadata`."""
    visible = [p for p in paths if not any(_is_hidden(part) for part in p.relative_to(root).parts)]
    return tuple(sorted(p for p in visible if p.is_file() and p.stat().st_size))


def _is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden. `_key=value` is not: it holds the rows of one value of `_key`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
