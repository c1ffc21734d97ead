"""Random statements about table `t`, which may also join `other`, whose columns hold values of any class."""

from __future__ import annotations

import random
from typing import Any

from tests.core.bridge.random_rows import DAYS, DECLARED, TEXTS

COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT", "=="]
NUMBERS: list[Any] = [0, 1, 5, -1, 10, 100, 5.0, 5.5, 0.1, -0.0, 1e300, 9e999, -9e999]
LARGE: list[Any] = [2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2.0**63]
MOMENTS = [
    *map(str, DAYS[:5]),
    *("2024", "2024-01", "2024-01-03 05:00:00", "2024-01-03 05:00:00.5", "2024-01-04T00:00:00", "soon"),
    *("12:30:00", "12:30", "12:30:00.250000", "23"),
]
PATTERNS = [
    "a%",
    "A%",
    "ab%",
    "%b",
    "",
    "%",
    "a",
    "_b",
    "5%",
    "É%",
    "é%",
    "k%",
    "2024-0%",
    "a\\%",
    "x%",
    "x\0y",
]
ROW_IDS = [0, 1, 17, 40.5, "30", "x", 100]
GLOBS = ["a*", "A*", "[ab]*", "?", "*", "5", "2024-0*", "x*"]
OTHER = {"i": "INTEGER", "s": "TEXT", "r": "REAL", "v": "", "b": "BLOB"}
OTHERS: list[Any] = [
    *(None, 5, 5.5, 10, 2**53 + 1, b"a", b"5"),
    *("5", "a", "abc", "5.0", " 5", "9", "2024-03-01", "0x", "!"),
]


class Queries:
    """Statements with the values of their parameters."""

    def __init__(self, randomly: random.Random) -> None:
        self._random = randomly
        self._values: list[Any] = []

    def next(self) -> tuple[str, list[Any]]:
        self._values = []
        columns = ", ".join(f"t.{self._column()}" for _ in range(self._random.randint(1, 3)))
        shape = self._random.random()
        if shape < 0.6:
            return f"SELECT rowid, {columns} FROM t WHERE {self._tree(2)}", self._values
        if shape < 0.75:
            join = self._random.choice(["JOIN", "LEFT JOIN", "CROSS JOIN"])
            on = self._joined()
            return (
                f"SELECT {columns}, other.v FROM other {join} t ON {on} WHERE {self._tree(1)}",
                self._values,
            )
        if shape < 0.85:
            group = self._column()
            return (
                f"SELECT {group}, count(*), min(n), max(code), sum(small) FROM t WHERE {self._tree(1)}"
                f" GROUP BY {group}",
                self._values,
            )
        if shape < 0.95:
            selection = f"typeof({self._column()}), {columns}"
            return f"SELECT {selection} FROM t WHERE {self._tree(1)} ORDER BY rowid", self._values
        listed = f"SELECT {self._pick(OTHER)} FROM other"
        return f"SELECT count(*) FROM t WHERE {self._column()} IN ({listed})", self._values

    def _tree(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.4:
            return self._predicate()
        sign = self._random.choice(["AND", "AND", "OR"])
        tree = f"({self._tree(depth - 1)} {sign} {self._tree(depth - 1)})"
        return f"NOT {tree}" if self._random.random() < 0.1 else tree

    def _predicate(self) -> str:
        column, kind = f"t.{self._column()}", self._random.random()
        if kind < 0.45:
            collation = self._random.choice([""] * 8 + [" COLLATE NOCASE", " COLLATE RTRIM"])
            return f"{column} {self._pick(COMPARISONS)} {self._value()}{collation}"
        if kind < 0.55:
            return f"{column} BETWEEN {self._value()} AND {self._value()}"
        if kind < 0.67:
            listed = ", ".join(self._value() for _ in range(self._random.randint(0, 7)))
            return f"{column} {self._random.choice(['IN', 'IN', 'NOT IN'])} ({listed})"
        if kind < 0.75:
            return f"{column} {self._random.choice(['IS NULL', 'IS NOT NULL'])}"
        if kind < 0.88:
            like = self._random.choice(["LIKE", "LIKE", "NOT LIKE"])
            return f"{column} {like} {self._given(self._pick(PATTERNS))}"
        if kind < 0.93:
            return f"{column} GLOB {self._given(self._pick(GLOBS))}"
        if kind < 0.97:
            return f"t.rowid {self._pick(COMPARISONS)} {self._given(self._pick(ROW_IDS))}"
        return f"{column} {self._pick(COMPARISONS)} t.{self._column()}"

    def _joined(self) -> str:
        sign = self._random.choice(["=", "=", "=", "<", ">", "IS", "LIKE"])
        return f"t.{self._column()} {sign} other.{self._pick(OTHER)}"

    def _value(self) -> str:
        value = self._random.choice(
            [self._pick(NUMBERS), self._pick(TEXTS), self._pick(MOMENTS), self._blob(), None]
        )
        return self._given(value)

    def _given(self, value: Any) -> str:
        """The value as a parameter, a literal, or a literal with an affinity of its own."""
        way = self._random.random()
        if way < 0.4 or (isinstance(value, str) and "\0" in value) or value in (float("inf"), float("-inf")):
            self._values.append(value)
            return "?"
        literal = _literal(value)
        if way < 0.85:
            return literal
        return f"CAST({literal} AS {self._random.choice(['INTEGER', 'REAL', 'NUMERIC', 'TEXT', 'BLOB'])})"

    def _column(self) -> str:
        return self._random.choice(list(DECLARED))

    def _blob(self) -> bytes:
        return self._random.choice(TEXTS).encode()

    def _pick(self, of: Any) -> Any:
        return self._random.choice(list(of))


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
