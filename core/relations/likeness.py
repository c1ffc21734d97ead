"""How much the name of a column says that it points at a column of another table."""

from __future__ import annotations

import difflib
import re

ALMOST = 0.85
"""Names at least so alike may be the same word, spelt otherwise."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_KEY_WORDS = {"id", "key", "code", "no", "nr", "num", "number", "uuid", "guid", "fk", "ref", "pk", "oid"}
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "indices": "index"}


def likeness(column: str, table: str, target: str, within: bool = False) -> tuple[float, str]:
    """From 0 to 1 for `column` pointing at the column `target` of `table`, and the reason in words.

    `customer_id` is like `customers.id`, `carrier` like `airlines.carrier`; that two columns are both called
    `id` says nothing. `within` the table itself, a column that names it tells its own rows apart.
    """
    own, theirs, named = _words(column), _words(target), _words(table)
    about, of_target = _without_key_words(own), _without_key_words(theirs)
    if own == theirs and about:
        return 1.0, f"both columns are called '{column}'"
    if about and about == named:
        if within:
            return 0.0, ""
        score = 1.0 if not of_target or of_target == named else 0.8
        return score, f"'{column}' names the table {table}"
    if not about or not named:
        return 0.0, ""
    if about[-len(named) :] == named and not of_target:
        return 0.8, f"'{column}' ends in the name of the table {table}"
    if about == of_target or about == named + of_target:
        return 0.9, f"'{column}' is called like {table}.{target}"
    ratio = difflib.SequenceMatcher(None, "".join(about), "".join(of_target or named)).ratio()
    return (
        (0.8 * ratio, f"'{column}' is almost called like {table}.{target}") if ratio >= ALMOST else (0.0, "")
    )


def _words(name: str) -> list[str]:
    return [_singular(word.casefold()) for word in _WORDS.findall(name)]


def _without_key_words(words: list[str]) -> list[str]:
    return [word for word in words if word not in _KEY_WORDS]


def _singular(word: str) -> str:
    """English, as names of tables mostly are."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")
