"""STORE:TABLE and FILE:TABLE, by which all commands name a table, and the answers to other spellings."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lamella.core.errors import LamellaError, StoreProblem, instead_of
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store

NOTATION = "Write STORE:TABLE"
MOST_GUESSES = 3


def split_reference(text: str) -> tuple[str, str | None]:
    """Split `STORE:TABLE` or `FILE:TABLE` at the first colon that follows an existing store or file. What
    exists as it is, and everything else, names no table. Tables can have colons and slashes in their names,
    and folders colons."""
    if not text or "://" in text or _exists(text):
        return text, None
    for place, table in _splits(text, ":"):
        if table and (_is_store(place) or os.path.isfile(os.path.expanduser(place))):  # noqa: PTH111, PTH113
            return place, table
    return text, None


def split_target(target: str) -> tuple[str, str | None]:
    r"""Split the `STORE:TABLE` of an import, whose store may not exist yet; the colon of a drive such as
    `C:\data` does not count."""
    if target.startswith(":") or not target.strip():
        raise LamellaError(f"'{target}' names no store", fix="Write STORE or STORE:TABLE; STORE is a folder")
    if target.endswith(":"):
        raise LamellaError(
            f"'{target}' names no table", fix="Write its name after the colon, or leave the colon out"
        )
    place, table = split_reference(target)
    if table is not None and _is_store(place):
        return place, table
    _refuse_inside_store(target)
    match = re.fullmatch(r"(.{2,}|[^A-Za-z]):([^:/\\]+)", target)
    if match is None:
        _refuse_new_folder_with_colon(target)
    return (match[1], match[2]) if match else (target, None)


def take_table(arguments: argparse.Namespace, place: str, *positionals: str) -> None:
    """Put the table of a reference in the argument `place` into the first of `positionals`, the optional
    arguments that follow; what was typed there belongs to the next one. Without any, a table is refused."""
    text = str(getattr(arguments, place))
    store, table = split_reference(text)
    if table is None:
        return
    if not positionals:
        refuse_table(text)
    typed = [getattr(arguments, name) for name in positionals]
    if typed[-1] is not None:
        raise LamellaError(
            f"The table is given twice, by '{getattr(arguments, place)}' and '{typed[0]}'",
            fix="Leave one of them out",
        )
    setattr(arguments, place, store)
    for name, value in zip(positionals, [table, *typed], strict=False):
        setattr(arguments, name, value)


def open_store(place: str | Path, read_only: bool = False) -> Store:
    """Open a store that exists; none is created."""
    text = str(place)
    if _is_store(text):
        return Store.open(text, read_only=read_only)
    refuse_table(text)
    raise StoreProblem(f"{text}: there is no store here", fix=_guess(text) or "Check the path")


def no_table(place: str, tables: Sequence[str]) -> LamellaError:
    """The error for a store where one of its tables is needed."""
    return LamellaError(
        f"'{place}' is a whole store, and the table is not given", fix=table_hint(place, tables)
    )


def table_hint(place: str, tables: Sequence[str]) -> str:
    """The references to the tables of a store, or the names of many."""
    if not tables:
        return "It has no tables yet"
    if len(tables) > MOST_GUESSES:
        return f"{NOTATION}. {instead_of('', tables)}"
    references = " or ".join(f"'{place}:{table}'" for table in tables)
    return f"Did you mean {references}?"


def refuse_table(text: str) -> None:
    """Raise `LamellaError` for a reference to a table, where all tables are taken."""
    place, table = split_reference(text)
    if table is not None:
        kind = "store" if _is_store(place) else "file"
        raise LamellaError(
            f"'{text}' names a table", f"This command takes a whole {kind}", f"Did you mean '{place}'?"
        )


def refuse_misspelt(text: str) -> None:
    """Raise `LamellaError` for text that names nothing, but would name a table with a colon in it."""
    guess = "" if "://" in text or _exists(text) else _guess(text)
    if guess:
        raise LamellaError(f"'{text}' is not there", fix=guess)


def refuse_stores(files: list[str | Path], target: str) -> None:
    """Raise `LamellaError` if a store, or a table of one, is among the files to import."""
    for file in map(str, files):
        store, table = split_reference(file)
        if not _is_store(store):
            continue
        is_target = table is None and file == str(files[-1]) and len(files) > 1
        raise LamellaError(
            f"'{file}' is a {'store' if table is None else 'table of a store'}",
            "Files are imported",
            f"Did you mean '{store}:{target}'?"
            if is_target
            else "Write its table to a file, and import that: lamella export",
        )


def _refuse_inside_store(target: str) -> None:
    for place, table in _splits(target, r"[/\\]"):
        if table and _is_store(place) and not _is_store(target):
            raise LamellaError(
                f"'{target}' is inside the store '{place}'",
                "A store's folder holds only its own files",
                f"Did you mean '{place}:{table}'?",
            )


def _refuse_new_folder_with_colon(target: str) -> None:
    match = re.fullmatch(r"(.{2,}?|[^A-Za-z]):(.+)", target)
    parent = re.split(r"[/\\][^/\\]*$", target)[0]
    if match and "://" not in target and not _exists(parent):
        raise LamellaError(
            f"'{target}' cannot be a new table",
            f"There is no store '{match[1]}' and no folder '{parent}'",
            "Give the table a name without slashes and colons, or create the folder first",
        )


def _guess(text: str) -> str:
    for place, table in _splits(text, r"[/\\.]"):
        if table and _is_store(place):
            return f"Did you mean '{place}:{table}'?"
    return ""


def _splits(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """The parts before and after each mark, from left to right."""
    for match in re.finditer(mark, text):
        if match.start():
            yield text[: match.start()], text[match.end() :]


def _is_store(place: str) -> bool:
    return is_store(Path(os.path.expanduser(place)))  # noqa: PTH111 -- Path.expanduser fails without a home


def _exists(place: str) -> bool:
    return os.path.exists(os.path.expanduser(place))  # noqa: PTH110, PTH111 -- False for an overlong name
