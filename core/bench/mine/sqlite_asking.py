"""Conditions in SQLite's SQL. Dates and times are held as their counts, texts are compared byte by byte."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lamella.core.bench.mine.asking import CannotAsk, Logic, Subject, SystemOperand
from lamella.core.filters.kinds import Kind
from lamella.core.filters.like import ESCAPE

SIGNS = {"eq": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class SqliteOperand(SystemOperand[str]):
    logic = Logic[str](
        lambda one, other: f"({one} and {other})",
        lambda one, other: f"({one} or {other})",
        lambda met: f"not coalesce({met}, 0)",
        lambda answer: str(int(answer)),
    )

    def __init__(self, subject: Subject, column: str) -> None:
        super().__init__(subject)
        self.column, self.raw = f"lower({column})" if subject.ignore_case else column, column

    def held(self, exact: Any) -> str:
        if isinstance(exact, str) and self.subject.ignore_case and not exact.isascii():
            raise CannotAsk("SQLite folds the case of ASCII letters alone")
        return literal(exact.lower() if self.subject.ignore_case else exact)

    def test(self, how: str, value: Any) -> str:
        return f"{self.column} {SIGNS[how]} {value}"

    def test_pair(self, how: str, other: Any) -> str:
        return self.test(how, other.column)

    def among(self, values: Sequence[Any]) -> str:
        return f"{self.column} in ({', '.join(values)})"

    def is_nan(self) -> str:
        return "0"  # a column with one is not raced here

    def is_null(self) -> str:
        return f"{self.raw} is null"

    def contains(self, text: str) -> str:
        return f"instr({self.column}, {self.held(text)}) > 0"

    def starts_with(self, text: str) -> str:
        return f"substr({self.column}, 1, {len(text)}) = {self.held(text)}"

    def ends_with(self, text: str) -> str:
        if not text:
            return self.always(True)
        return f"substr({self.column}, -{len(text)}) = {self.held(text)}"

    def like(self, pattern: str) -> str:
        return f"{self.column} like {self.held(pattern)} escape '{ESCAPE}'"

    def regex(self, pattern: str) -> str:
        raise CannotAsk("SQLite has no regular expressions without an extension")

    def divided(self, divisor: int, remainder: int) -> str:
        if self.kind is Kind.FLOAT:
            raise CannotAsk("SQLite's remainder is of whole numbers")
        return f"{self.raw} % {divisor} = {remainder}"


def literal(value: Any) -> str:
    if isinstance(value, str):
        return (
            f"cast(x'{value.encode().hex()}' as text)"
            if "\0" in value
            else "'" + value.replace("'", "''") + "'"
        )
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, float) and math.isinf(value):
        return "9e999" if value > 0 else "-9e999"
    return repr(int(value) if isinstance(value, bool) else value)
