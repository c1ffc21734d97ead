"""What is not known, or not shaped as it has to be, refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lamella.core.errors import BadQuery, nearest, shown


def unknown(place: str, kind: str, key: Any, known: Iterable[str], ways: Mapping[str, str]) -> BadQuery:
    """`ways` are the ways out for what MongoDB has and queries here do not."""
    listed = list(known)
    told = f"{place}: there is no {kind} {key!r}"
    if key in ways:
        return BadQuery(told, "MongoDB has it, queries here do not", ways[key])
    guesses = " or ".join(f"'{guess}'" for guess in nearest(str(key), listed))
    return BadQuery(told, fix=f"Did you mean {guesses}?" if guesses else f"There are: {', '.join(listed)}")


def single(place: str, kind: str, given: Any, example: str) -> tuple[str, Any]:
    """The only key of a dict, and what it is given."""
    if not isinstance(given, Mapping) or len(given) != 1:
        raise BadQuery(f"{place}: {shown(given)} is no {kind}", fix=f"Write a dict of one name: {example}")
    ((key, asked),) = given.items()
    if not isinstance(key, str) or not key.startswith("$"):
        raise BadQuery(
            f"{place}: {shown(given)} is no {kind}", fix=f"Write its name behind a dollar: {example}"
        )
    return key, asked


def arguments(
    place: str, name: str, given: Any, needed: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """A dict of the arguments that `name` takes; raises `BadQuery` for one that is lacking or not known."""
    takes = [*needed, *optional]
    if not isinstance(given, Mapping):
        raise BadQuery(
            f"{place}: {name} takes a dict, not {shown(given)}", fix=f"Its keys are: {', '.join(takes)}"
        )
    for key in given:
        if key not in takes:
            raise unknown(place, f"argument of {name} that is called", key, takes, {})
    lacking = [key for key in needed if key not in given]
    if lacking:
        raise BadQuery(f"{place}: {name} lacks '{lacking[0]}'", fix=f"Its keys are: {', '.join(takes)}")
    return dict(given)


def whole(place: str, name: str, given: Any, least: int) -> int:
    """A number of rows; MongoDB's own are whole too, but may be written as floats."""
    fits = isinstance(given, int | float) and not isinstance(given, bool) and given == given // 1
    if not fits or given < least:
        raise BadQuery(f"{place}: {name} takes a whole number of {least} or more, not {shown(given)}")
    return int(given)
