"""Entities with a payload of text that compresses by half."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pyarrow as pa

from lamella.core.bench.data import SEED

SCHEMA = pa.schema({"number": pa.int64(), "grp": pa.int64(), "name": pa.string(), "payload": pa.string()})
AT_ONCE = 1_000


def payloads(rows: int, size: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(rows, size))


def _batches(rows: int, size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, rows))
        made = [
            {"number": n, "grp": n % 2, "name": f"entity {n}", "payload": payload(n, size)} for n in numbers
        ]
        yield pa.RecordBatch.from_pylist(made, SCHEMA)


def payload(number: int, size: int) -> str:
    return Random(SEED * 1_000_003 + number).randbytes(-(-size // 2)).hex()[:size]
