"""Checks of arguments, made before anything else happens."""

from __future__ import annotations

import operator
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from lamella.core.errors import BadData, FileProblem, short_text

_LOGIN, _PARAMETERS = re.compile(r"//[^/@\s]+@"), re.compile(r"(?<=[;?]).+", re.DOTALL)
"""The parts of an address that may be secret."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:)/")

_CONTROLS = {"\0": "a null character", "\t": "a tab", "\n": "a line break", "\r": "a line break"}

Missing = Literal["refuse", "ignore"]
"""How to treat ids and keys that no row has."""

MOST_ROWS = 2**62
"""No count is larger; two of them still add up to 64 bits."""


def text_of(value: Any, what: str) -> str:
    """Return `value`; raises `BadData` if it is not text, or holds half a character (a lone surrogate), which
    cannot be stored.

    `what` names the text in messages: "t: the message".
    """
    if not isinstance(value, str):
        raise BadData(f"{what} {short_text(value)} is not text", fix="Give text, in quotes")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadData(
            f"{what} {value!a} holds half a character at position {error.start}",
            "it is not valid Unicode",
            "Leave it out, or decode the bytes that it came from with the right encoding",
        ) from None
    return value


def control_character(text: str) -> str:
    """The first control character in a text, as messages name it: "a line break"; "" if there is none."""
    odd = next((character for character in text if unicodedata.category(character) == "Cc"), "")
    return _CONTROLS.get(odd, f"the control character U+{ord(odd):04X}") if odd else ""


def single_line_of(value: Any, what: str) -> str:
    """Return `value`; raises `BadData` if it is not text, or holds a control character such as a line break.

    `what` names the text in messages: "store s: the table name".
    """
    text = text_of(value, what)
    control = control_character(text)
    if control:
        raise BadData(f"{what} {short_text(text):.200} holds {control}", fix="Leave it out")
    return text


def ignores_missing(missing: Any, what: str) -> bool:
    """Return whether `missing` is "ignore"; raises `BadData` for anything but the two words."""
    if missing not in ("refuse", "ignore"):
        raise BadData(f"{what}: missing cannot be {short_text(missing)}", fix="Give 'refuse' or 'ignore'")
    return bool(missing == "ignore")


def path_of(value: Any, what: str) -> Path:
    """Return a file or folder of this machine as an absolute path, with `~` resolved. Raises `BadData` if the
    value is not a path, and `FileProblem` for an address like `s3://bucket/x`, which pathlib would turn into
    a folder called `s3:`.

    `what` names its purpose in messages: "the store".
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise BadData(f"{what} {short_text(value):.200} is not a path", fix="Give text, or a pathlib.Path")
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


def in_home(text: str) -> Path:
    """The path with `~` resolved; unchanged if it begins with the `~name` of a user who does not exist."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _refuse_address(value: Any, text: str, what: str) -> None:
    """Raise `FileProblem` for an address. A drive, `C:/data`, is not one. A `Path` keeps only one of two
    slashes, so it may be an existing folder."""
    scheme = _SCHEME.match(text)
    if scheme is None or (not isinstance(value, str) and Path(scheme[1]).is_dir()):
        return
    if isinstance(value, str) and not text.startswith(f"{scheme[1]}//"):
        return
    fix = f"Leave {scheme[1]}// out" if scheme[1].casefold() == "file:" else "Copy it here, or mount it"
    raise FileProblem(
        _PARAMETERS.sub("…", _LOGIN.sub("//…@", text))[:200],
        f"{what} cannot be at an address that begins with {scheme[1]}",
        "It must be on this machine, or on a disk or network folder mounted on it",
        fix,
    )


def count_of(value: Any, what: str, least: int = 0) -> int:
    """Return a number of rows; raises `BadData` if it is not a whole number, or less than `least`.

    `what` names the number in messages: "t: limit".
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise BadData(f"{what} {short_text(value)} is not a whole number", fix=f"Give {least} or more")
    if number < least:
        problem = f"less than {least}" if least else "negative"
        raise BadData(f"{what} {number} is {problem}", fix=f"Give {least} or more")
    return min(number, MOST_ROWS)


def names_of(value: Any, what: str) -> list[str]:
    """Return names of columns; a single one may be given without a list. Raises `BadData` for anything else.

    `what` names their purpose in messages: "t: sort".
    """
    names = [value] if isinstance(value, str) else items_of(value)
    odd = [value] if names is None else [name for name in names if not isinstance(name, str)]
    if names is None or odd:
        fix = "Give the name of a column, or a list of names: ['code', 'n']"
        if what.endswith("sort"):
            fix = "Give the name of a column, or a list of names, '-n' for descending: ['code', '-n']"
        raise BadData(f"{what} takes names of columns, not {short_text(odd[0])}", fix=fix)
    return [text_of(name, what) for name in names]


def items_of(value: Any) -> list[Any] | None:
    """Return the items of a list-like value; None for any other value."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)) else None
