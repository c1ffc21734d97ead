"""Answers as one short text each, equal for equal rows whatever system gave them.

Rows count in any order. Numbers are compared to nine significant digits, so that sums may be added up in any
order; a whole number and a float of the same value are the same, a text never is a number. Times are compared
as ISO texts, and -0.0 is 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

DIGITS = 9


def digest(answer: Any) -> str:
    """As "rows:digest", of a list of rows, an Arrow table or an array of numbers; one value as one row."""
    told = sorted(map(repr, map(_row, _rows(answer))))
    return f"{len(told)}:{hashlib.sha256(chr(10).join(told).encode()).hexdigest()[:16]}"


def together(told: Sequence[str]) -> str:
    """One text for several answers, in their order."""
    return digest([[number, text] for number, text in enumerate(told)])


def _rows(answer: Any) -> Iterable[Iterable[Any]]:
    if isinstance(answer, list):
        return answer
    if isinstance(answer, np.ndarray):
        return ([value] for value in answer.tolist())
    if isinstance(answer, pa.Table):
        return zip(*(column.to_pylist() for column in answer.columns), strict=True)
    return [[answer]]


def _row(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(_value, values))


def _value(value: Any) -> Any:
    if isinstance(value, (int, float, Decimal, np.number, np.bool_)):
        return ("number", f"{float(value) + 0.0:.{DIGITS}g}")
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return tuple(sorted((name, _value(inner)) for name, inner in value.items()))
    return _row(value) if isinstance(value, (list, tuple)) else value
