"""Errors that show the place in a text they are about."""

from __future__ import annotations

from typing import TypeVar

from lamella.core.errors import BadFilter, LamellaError

E = TypeVar("E", bound=LamellaError)

WIDEST = 72
BEFORE = 30
"""Of a long line so many characters are shown before the place."""


def pointing(error: E, text: str, start: int, stop: int) -> E:
    """The error with the line that holds the place under its message, and carets under that."""
    error.span = (start, stop)
    error.args = (f"{error}\n{marked(text, start, stop)}",)
    return error


def unreadable(text: str, start: int, stop: int, why: str, fix: str = "") -> BadFilter:
    what = f"The condition cannot be read at character {start + 1}"
    return pointing(BadFilter(what, why, fix), text, start, stop)


def marked(text: str, start: int, stop: int) -> str:
    """Two lines, indented; of a long line only what stands around the place."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line, at = text[begin : len(text) if end < 0 else end], start - begin
    cut = max(0, at - BEFORE) if len(line) > WIDEST else 0
    shown = ("…" if cut else "") + line[cut : cut + WIDEST] + ("…" if len(line) > cut + WIDEST else "")
    at += bool(cut) - cut
    carets = "^" * max(1, min(stop - start, len(shown) - at))
    return f"  {shown.replace(chr(9), ' ')}\n  {' ' * at}{carets}"
