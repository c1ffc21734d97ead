"""$replace on whole columns of text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import from_values
from lamella.core.errors import short_text
from lamella.core.filters.kinds import Kind, kind_of, value_type
from lamella.core.filters.predicate_values import regex_problem
from lamella.core.phrases import quantity
from lamella.core.store.operators.values import Refusal

_FLAGS = {"regex": False, "whole": False, "case": True}
_KEYS = ("find", "with", *_FLAGS)
_EXAMPLE = "Write {'find': 'Mr.', 'with': 'Mr', 'case': False}"


def is_text(kind: pa.DataType) -> bool:
    return kind_of(kind) is Kind.TEXT


@dataclass(frozen=True)
class Replacement:
    """What to replace. `pattern` and `template` are plain text if `plain`, else RE2, with groups as \\1."""

    pattern: str
    template: str
    plain: bool

    def apply(self, values: pa.Array) -> pa.Array:
        """Replace in texts of any type; the type stays the same."""
        kind = value_type(values.type)
        texts = values if values.type in (pa.string(), pa.large_string()) else values.cast(pa.large_string())
        replace = pc.replace_substring if self.plain else pc.replace_substring_regex
        replaced = replace(texts, pattern=self.pattern, replacement=self.template)
        return replaced if replaced.type == kind else replaced.cast(kind)


def read_replacement(operand: Any) -> Replacement:
    """Parse an operand; raise `Refusal` for an invalid one, or for a pattern or groups that RE2 does not
    accept."""
    if not isinstance(operand, Mapping) or not {"find", "with"} <= operand.keys() <= set(_KEYS):
        raise Refusal(f"it takes a dict with 'find' and 'with', not {short_text(operand)}", _EXAMPLE)
    find, template = operand["find"], operand["with"]
    if not isinstance(find, str) or not isinstance(template, str):
        raise Refusal("'find' and 'with' must be texts", _EXAMPLE)
    flags = {name: operand.get(name, usual) for name, usual in _FLAGS.items()}
    wrong = [name for name, value in flags.items() if not isinstance(value, bool)]
    if wrong:
        raise Refusal(f"'{wrong[0]}' must be True or False", _EXAMPLE)
    if not find:
        raise Refusal("'find' is empty", "Use $set to give all rows a text")
    replacement = _replacement(find, template, flags["regex"], flags["whole"], flags["case"])
    _refuse_pattern(replacement)
    return replacement


def replace_texts(values: pa.Array, replacement: Replacement) -> pa.Array:
    """Apply a replacement; null stays null."""
    return values if pa.types.is_null(values.type) else replacement.apply(values)


def _replacement(find: str, template: str, regex: bool, whole: bool, case: bool) -> Replacement:
    if not regex and not whole and case:
        return Replacement(find, template, plain=True)
    quoted = re.escape if case else _pattern_of_any_case
    pattern = find if regex else quoted(find)
    pattern = rf"\A(?:{pattern})\z" if whole else pattern
    return Replacement(
        f"(?i){pattern}" if regex and not case else pattern,
        template if regex else template.replace("\\", "\\\\"),
        plain=False,
    )


def _pattern_of_any_case(find: str) -> str:
    """A pattern that matches as filters that ignore case do: texts that are equal in lower case. RE2's own
    (?i) pairs letters differently: it treats σ and ς as one, but i and İ as two."""
    folded: str = pc.utf8_lower(pa.scalar(find, pa.string())).as_py()
    letters = _letters_by_lower_case()
    return "".join(f"[{re.escape(sign + letters.get(sign, ''))}]" for sign in folded)


@lru_cache(1)
def _letters_by_lower_case() -> dict[str, str]:
    """For each lower-case letter, all letters that become it. Characters beyond the first two planes have no
    case."""
    signs = pa.array([chr(code) for code in range(1 << 17) if not 0xD800 <= code < 0xE000])
    lower = pc.utf8_lower(signs)
    differ = pc.not_equal(signs, lower)
    letters: dict[str, str] = {}
    for sign, letter in zip(signs.filter(differ).to_pylist(), lower.filter(differ).to_pylist(), strict=True):
        letters[letter] = letters.get(letter, "") + sign
    return letters


def _refuse_pattern(replacement: Replacement) -> None:
    try:
        replacement.apply(from_values([""], pa.string()))
    except pa.ArrowInvalid as error:
        groups, message = _MISSING_GROUP.search(str(error)), str(error)
        if groups is not None:
            has = quantity(int(groups[2]), "group")
            raise Refusal(
                f"the replacement names group \\{groups[1]}, but the pattern has {has}",
                r"Put ( ) around a part of the pattern; \0 is the whole match",
            ) from error
        if "Rewrite schema" in message:
            raise Refusal(
                "a backslash in the replacement stands alone", r"Write \\ for a backslash"
            ) from error
        raise Refusal(
            f"the pattern is invalid: {regex_problem(message)}",
            "Put a backslash before a special character to match it literally",
        ) from error


_MISSING_GROUP = re.compile(r"requests (\d+) matches, but the regexp only has (\d+)")
