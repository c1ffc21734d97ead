"""Arguments as people give them, refused before they get anywhere."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from lamella.core.errors import BadData, FileProblem, shown

_LOGIN, _PARAMETERS = re.compile(r"//[^/@\s]+@"), re.compile(r"(?<=[;?]).+", re.DOTALL)
"""What of an address may be secret."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)/")

Missing = Literal["refuse", "ignore"]
"""What becomes of ids and keys that no row has."""

MOST_ROWS = 2**62
"""No count is larger; two of them still add up to 64 bits."""


def text_of(value: Any, what: str) -> str:
    """`value` as it is; raises `BadData` for what is not text, and for half a character, which nothing can
    write down.

    `what` says what the text is: "t: the message".
    """
    if not isinstance(value, str):
        raise BadData(f"{what} {shown(value)} is not text", fix="Give text, in quotes")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadData(
            f"{what} {value!a} holds half a character at position {error.start}",
            "it is not Unicode that can be kept",
            "Leave it out, or decode the bytes that it came from with the right encoding",
        ) from None
    return value


def ignores_missing(missing: Any, what: str) -> bool:
    """Raises `BadData` for anything but the two words."""
    if missing not in ("refuse", "ignore"):
        raise BadData(f"{what}: missing cannot be {shown(missing)}", fix="Give 'refuse' or 'ignore'")
    return bool(missing == "ignore")


def path_of(value: Any, what: str) -> Path:
    """A file or folder of this machine as an absolute path, `~` resolved. Raises `BadData` for what can be
    none, and `FileProblem` for an address, `s3://bucket/x`, of which pathlib makes a folder called `s3:`.

    `what` says what it is for: "the store".
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise BadData(f"{what} {shown(value):.200} is not a path", fix="Give text, or a pathlib.Path")
    if not text or "\0" in text:
        why = "It holds a null character" if text else "It is empty"
        raise BadData(f"{what} {text!r:.200} is not a path", why, "Give the path of a file or folder")
    _refuse_address(value, text, what)
    try:
        path = Path(text).expanduser().absolute()
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return path
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadData(
            f"{what} {text!r:.200} is not a path", why, "Give the path of a file or folder"
        ) from error
    return path


def _refuse_address(value: Any, text: str, what: str) -> None:
    """A drive, `C:/data`, is none. A `Path` has one slash left of two, so it may be a folder that exists."""
    scheme = _SCHEME.match(text)
    if scheme is None or (not isinstance(value, str) and Path(scheme[1]).is_dir()):
        return
    if isinstance(value, str) and not text.startswith(f"{scheme[1]}//"):
        return
    fix = f"Leave {scheme[1]}// out" if scheme[1].casefold() == "file:" else "Copy it here, or mount it"
    raise FileProblem(
        _PARAMETERS.sub("…", _LOGIN.sub("//…@", text))[:200],
        f"{what} cannot be at an address that begins with {scheme[1]}",
        "That works on this machine alone, also on disks and networks that it has mounted",
        fix,
    )


def count_of(value: Any, what: str, least: int = 0) -> int:
    """A number of rows; raises `BadData` for what is not a whole number, and for fewer than `least`.

    `what` says what is counted: "t: limit".
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise BadData(f"{what} {shown(value)} is not a whole number", fix=f"Give {least} or more")
    if number < least:
        raise BadData(f"{what} {number} is less than {least or 'none'}", fix=f"Give {least} or more")
    return min(number, MOST_ROWS)


def names_of(value: Any, what: str) -> list[str]:
    """Names of columns, of which a single one may be given as it is; raises `BadData` for anything else.

    `what` says what they are for: "t: sort".
    """
    names = [value] if isinstance(value, str) else items_of(value)
    odd = [value] if names is None else [name for name in names if not isinstance(name, str)]
    if names is None or odd:
        fix = "Give the name of a column, or a list of names: ['code', 'n']"
        if what.endswith("sort"):
            fix = "Give the name of a column, or a list of names, '-n' for descending: ['code', '-n']"
        raise BadData(f"{what} takes names of columns, not {shown(odd[0])}", fix=fix)
    return [text_of(name, what) for name in names]


def items_of(value: Any) -> list[Any] | None:
    """None for what is not a list of any kind."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)) else None
