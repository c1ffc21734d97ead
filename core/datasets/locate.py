"""From what was dropped or typed to the files it means: one file, a folder's data files, or a glob."""

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
"""The folder that makes another one a Delta table."""
_GLOB_SIGNS = frozenset("*?[")
MOST_GUESSES = 2


@dataclass(frozen=True)
class Location:
    """`files` in the order of their names; `root` is what the person pointed at. `is_delta`: a Delta table,
    whose log alone knows the files."""

    root: Path
    name: str
    files: tuple[Path, ...]
    is_delta: bool = False


def locate(path: str | Path, job: Job | None = None) -> Location:
    """The data files that `path` means, elsewhere those at an address; raises `FileProblem` where there are
    none. Elsewhere folders are listed, which `job` may cancel."""
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
            root, "leads nowhere", "It is a link to itself or to what is gone", "Open the target"
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
            files.known(address, fresh=True)
            return Location(root, root.stem, (root,))
    except MissingFile as problem:
        if address.kind.name != "http" and (delta := _delta_table(root)):
            return delta
        try:
            paths = _data_files(address, pages(address, True, job)) if address.kind.name != "http" else ()
        except MissingFile as listed:  # of a file system, where an object store has nothing to list
            paths, problem = (), listed if listed.why else problem
        if not paths:
            raise problem from None
        return Location(root, root.name.removesuffix(".parquet"), paths)
    if delta := _delta_table(root):
        return delta
    paths = _data_files(address, pages(address, True, job))
    if not paths:
        raise FileProblem(
            root, "holds no data files", "Every file in it is hidden, empty or missing", "Choose another"
        )
    return Location(root, root.name, paths)


def _delta_table(root: RemotePath) -> Location | None:
    """The table whose folder it is; raises `FileProblem` for a folder inside one."""
    table = RemotePath(str(root.address.at(root.address.key.rstrip("/"))))
    if is_delta_table(table):
        return Location(table, table_name(table), (), is_delta=True)
    _refuse_part_of_table(root, table.parent)
    return None


def _refuse_part_of_table(root: RemotePath, folder: RemotePath) -> None:
    """Raise `FileProblem` where a folder, or one above it, is a Delta table."""
    if not folder.address.key:
        return
    around = [folder, *(one for one in folder.parents if one.address.key)]
    are_tables = answers([partial(_is_known_table, one) for one in around])
    if table := next((one for one, is_one in zip(around, are_tables, strict=True) if is_one), None):
        raise _part_of_table(root, table)


def _is_known_table(folder: RemotePath) -> bool:
    """Not of a folder that may not be listed: what lies in it may be open to more people than it is."""
    try:
        return is_delta_table(folder)
    except AccessDenied:
        return False


def _is_file(address: Address) -> bool:
    """Whether a file has a name that looks like a pattern."""
    try:
        files.known(address, fresh=True)
    except RemoteProblem:
        return False
    return True


def _data_files(root: Address, listing: Iterable[Sequence[Entry]]) -> tuple[Path, ...]:
    """Those of a listing that have content and that no program keeps for itself, in the order of their names.
    What the listing says of them need not be asked again."""
    prefix = root.key.strip("/")
    paths = []
    for page in listing:
        for address, status in page:
            inside = address.key if root.is_pattern else address.key[len(prefix) :]
            if DELTA_LOG in inside.split("/"):
                table = root.at(address.key.partition(f"/{DELTA_LOG}")[0])
                raise _holds_tables(RemotePath(str(root)), [RemotePath(str(table))])
            if status and status.size and not any(_hidden(part) for part in inside.split("/") if part):
                files.note(address, status)
                paths.append(RemotePath(str(address)))
    return tuple(sorted(paths))


def locate_several(paths: Sequence[str | Path], job: Job | None = None) -> Location:
    """Several files in the order in which they are named, and folders' and globs' among them. Raises
    `FileProblem`, and `BadData` where none is named."""
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
                "It cannot be shown as one with other files",
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
            "cannot be shown as one with the others",
            "They lie on different servers, or on this machine",
            "Open them one by one, or import them into one table",
        )
    return RemotePath("/".join(shared))


def _common_name(files: Sequence[Path]) -> str:
    """`sales` of sales_01.csv and sales_02.csv; empty where they have hardly a letter in common."""
    signs = zip(*(file.name.split(".")[0] for file in files), strict=False)
    same = takewhile(lambda place: len(set(place)) == 1, signs)
    name = "".join(place[0] for place in same).rstrip(" _-0123456789")
    return name if len(name) > 1 else ""


def cannot_read(path: Path, error: OSError) -> FileProblem:
    """Why the system would not give the file, and what helps."""
    if isinstance(error, FileNotFoundError):
        return missing(path)
    if isinstance(error, PermissionError):
        return FileProblem(
            path, "may not be read", "You have no permission", "Ask its owner, or change its rights"
        )
    return FileProblem(
        path,
        "could not be read",
        error.strerror or str(error),
        "Check the path and that the disk is connected",
    )


Stamp = tuple[str, int, int]
"""A path, the size of the file there and when it was last changed, in ns; -1 and 0 where there is none."""


def fingerprint_of(path: Path) -> tuple[int, int]:
    """Size and time of last change in ns; raises `FileProblem`."""
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


def refuse_changed(stamps: Iterable[Stamp]) -> None:
    """Raise `FileProblem` for the first file that is not what it was when it was opened."""
    for stamp in stamps:
        path = path_or_address(stamp[0])
        if stamp_of(path) != stamp:
            raise FileProblem(path, CHANGED_ON_DISK, fix="Reload it to see its new content")


def is_changed_on_disk(error: Exception) -> bool:
    """Whether a file is not what it was when it was opened."""
    return isinstance(error, FileProblem) and error.problem == CHANGED_ON_DISK


def missing(path: Path) -> FileProblem:
    folder = path.parent
    if not folder.is_dir():
        return FileProblem(path, "is not there", f"There is no folder {folder} either", "Check the path")
    siblings = [p.name for p in folder.iterdir() if not _hidden(p.name)]
    near = _nearest_files(path.name, siblings)
    fix = (
        "Did you mean " + " or ".join(f"'{folder / name}'" for name in near) + "?"
        if near
        else "Check the path"
    )
    return FileProblem(path, "is not there", fix=fix)


def _nearest_files(name: str, known: Sequence[str]) -> list[str]:
    """By what stands before the suffix: that two names end in `.parquet` does not make them alike."""
    by_stem: dict[str, list[str]] = {}
    for other in sorted(known):
        by_stem.setdefault(_stem(other), []).append(other)
    near = nearest(_stem(name), list(by_stem), least=0.7)
    return [other for stem in near for other in by_stem[stem]][:MOST_GUESSES]


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
        raise FileProblem(
            root, "holds no data files", "Every file in it is hidden, empty or missing", "Choose another"
        )
    return Location(root, table_name(root), files)


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
    """What the rows of a folder are called."""
    return folder.name.removesuffix(".parquet").removesuffix(".delta")


def _refuse_parts_of_tables(root: Path, tables: Sequence[Path]) -> None:
    """Raise `FileProblem` for files of Delta tables taken together: some may hold removed rows alone."""
    if around := next((folder for folder in root.parents if is_delta_table(folder)), None):
        raise _part_of_table(root, around)
    if tables:
        raise _holds_tables(root, tables)


def _part_of_table(root: Path, table: Path) -> FileProblem:
    return FileProblem(
        root,
        f"is a part of the Delta table {table.name}",
        "Which of its files hold rows that were removed is known to the table's log alone",
        f"Open {table}",
    )


def _holds_tables(root: Path, tables: Sequence[Path]) -> FileProblem:
    names = ", ".join(f"'{table}'" for table in tables[:MOST_GUESSES])
    more = f" and {len(tables) - MOST_GUESSES:,} more" if len(tables) > MOST_GUESSES else ""
    return FileProblem(
        root,
        "holds a Delta table" if len(tables) == 1 else f"holds {len(tables):,} Delta tables",
        "Which of their files hold rows that were removed is known to their logs alone",
        f"Open them by themselves: {names}{more}",
    )


def _before_sign(parts: Iterable[str]) -> list[str]:
    plain: list[str] = []
    for part in parts:
        if _GLOB_SIGNS & set(part):
            break
        plain.append(part)
    return plain


def _visible(root: Path, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Files with content that no program keeps for itself: no `_SUCCESS`, no `.crc`, no `_metadata`."""
    visible = [p for p in paths if not any(_hidden(part) for part in p.relative_to(root).parts)]
    return tuple(sorted(p for p in visible if p.is_file() and p.stat().st_size))


def _hidden(name: str) -> bool:
    """A folder `_key=value` holds the rows of one value of a column `_key`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
