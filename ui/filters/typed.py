"""Values as they are typed: lists with commas, values written so that they read back, quick operators."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lamella.core.filters import Filter, Reference
from lamella.core.filters.kinds import COUNTED, NUMBERS, kind_of
from lamella.core.filters.sentence import sentence

_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)')
_SIGNS = {">=": "gte", "<=": "lte", "<>": "ne", "!=": "ne", ">": "gt", "<": "lt", "=": "eq"}


def split_list(text: str) -> list[str]:
    """The values of `AA, UA, "Paris, France"`; only in quotes can a value be empty or end in spaces."""
    values, place = [], 0
    while place < len(text):
        item = _ITEM.match(text, place)
        quoted, bare = item.group(1), item.group(2)
        if quoted is not None:
            values.append(quoted.replace('""', '"'))
        elif bare.strip():
            values.append(bare.strip())
        place = max(item.end(), place + 1)
    return values


def join_list(values: Sequence[str]) -> str:
    return ", ".join(_quoted(value) for value in values)


def written(value: Any) -> str:
    """The text that reads back as `value`."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Reference):
        return value.name
    if isinstance(value, Filter):
        return sentence(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return str(value.date()) if value.timetz() == dt.time() else value.isoformat(sep=" ")
    return str(value)


def quick(text: str, type_: pa.DataType) -> tuple[str, list[str]] | None:
    """The operator and values that `>5`, `1~9`, `<>x` or `=NULL` stand for, if `text` is one of these."""
    text = text.strip()
    if null := re.fullmatch(r"(=|<>|!=)\s*null", text, re.IGNORECASE):
        return ("is_null" if null.group(1) == "=" else "not_null"), []
    if kind_of(type_) not in NUMBERS | COUNTED:
        return None
    if sign := re.fullmatch(r"(>=|<=|<>|!=|>|<|=)\s*(.+)", text):
        return _SIGNS[sign.group(1)], [sign.group(2)]
    low, tilde, high = text.partition("~")
    return ("between", [low.strip(), high.strip()]) if tilde and low.strip() and high.strip() else None


def _quoted(value: str) -> str:
    if value and value == value.strip() and not set(value) & set(',"\n'):
        return value
    return '"' + value.replace('"', '""') + '"'
