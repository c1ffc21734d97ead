"""Rows of every type that the bridge maps, made to meet the edges of SQLite's comparisons."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("small", pa.int8()),
        ("n", pa.int64()),
        ("u", pa.uint64()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("flag", pa.bool_()),
        ("price", pa.decimal128(9, 2)),
        ("code", pa.string()),
        ("word", pa.dictionary(pa.int32(), pa.string())),
        ("raw", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("second", pa.timestamp("s", "UTC")),
        ("clock", pa.time64("us")),
        ("took", pa.duration("ms")),
        ("tags", pa.list_(pa.int32())),
    ]
)
OTHER_LAYOUTS = {
    "small": pa.int16(), "f": pa.float16(), "price": pa.decimal256(40, 2), "code": pa.large_string(),
    "raw": pa.large_binary(), "day": pa.date64(), "second": pa.timestamp("ms", "Europe/Oslo"),
}  # fmt: skip
INTEGERS, REALS, BLOBS = ("small", "n", "u", "flag", "took"), ("x", "f", "price"), ("raw",)
DECLARED = {
    name: "INTEGER" if name in INTEGERS else "REAL" if name in REALS else "BLOB" if name in BLOBS else "TEXT"
    for name in SCHEMA.names
}
TEXTS = [
    *("", "a", "A", "ab", "AB", "Abc", "abd", "b", "a%", "a_b", "x\0y", "z", "~", "é", "É", "k", "\u212a"),
    *("5", "5.0", " 5", "05", "5e0", "-1", "10", "9", "2024-03-01"),
]
FLOATS = [-0.0, 0.1, 5.5, 2.0**53, 2.0**63, 1e300, float("inf"), float("-inf"), float("nan")]
DAYS = [dt.date(2024, 2, 28) + dt.timedelta(days=i) for i in range(12)]


def rows(randomly: random.Random, count: int) -> list[dict[str, Any]]:
    """Some columns rise with the row, so that row groups hold different parts of their values."""
    return [_row(randomly, i, count) for i in range(count)]


def _row(randomly: random.Random, i: int, count: int) -> dict[str, Any]:
    share = i / count
    at = dt.datetime(2024, 1, 1) + dt.timedelta(hours=i, microseconds=randomly.choice([0, 0, 1, 500_000]))
    values = {
        "small": randomly.randint(-3, 9),
        "n": randomly.choice([i, i * 10, -i, 2**53 + i, 2**62 + i, -(2**63), 2**63 - 1]),
        "u": randomly.choice([i, 2**53 + i, 2**63 + i, 2**64 - 1 - i]),
        "x": randomly.choice([share * 10, float(i), *FLOATS]),
        "f": randomly.choice([i / 4, 0.5, -1.0]),
        "flag": randomly.random() < share,
        "price": Decimal(randomly.randint(-500, 1500)) / 100,
        "code": TEXTS[int(share * len(TEXTS))] if randomly.random() < 0.8 else randomly.choice(TEXTS),
        "word": randomly.choice(TEXTS),
        "raw": randomly.choice(TEXTS).encode() + randomly.choice([b"", b"\xff", b"\0"]),
        "day": randomly.choice(DAYS),
        "at": at,
        "second": at.replace(microsecond=0, tzinfo=dt.UTC),
        "clock": dt.time(randomly.randint(0, 23), 30, 0, randomly.choice([0, 250_000])),
        "took": dt.timedelta(milliseconds=randomly.randint(-5, 50)),
        "tags": randomly.choice([[], [1], [1, None, 2]]),
    }
    nulls = 0.9 if 0.5 < share < 0.6 else 0.1
    return {name: None if randomly.random() < nulls else value for name, value in values.items()}


def as_sqlite(value: Any) -> Any:
    """A Python value as the documented table of types stores it in SQLite."""
    match value:
        case bool() | Decimal():
            return float(value) if isinstance(value, Decimal) else int(value)
        case int():
            return value if value < 2**63 else float(value)
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return value // dt.timedelta(milliseconds=1)
        case list():
            return "[" + ", ".join("null" if item is None else str(item) for item in value) + "]"
        case _:
            return value
