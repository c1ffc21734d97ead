"""Generates data: the same rows for the same seed on any machine, and fewer rows are a prefix of more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.arrow.arrays import from_numpy, from_values
from lamella.core.datasets.contents import look_into
from lamella.core.datasets.parquet import is_parquet
from lamella.core.errors import FileProblem, UnknownName
from lamella.core.jobs import Job
from lamella.core.transfer.exporting import draft_of, refuse_special
from lamella.core.validation import path_of

SEED = 20
GROUP_ROWS = 100_000
_REPEATING = {"encoding": "dictionary"}
_DAY_2015, _DAYS = 16_436, 3_653
_MICROSECONDS = 1_000_000
_STARTS = """
    Ash Beech Clear Deer East Fair Glen Green High Iron King Long Mill New North Oak Old Red South Stone
"""
_ENDS = """
    bank beck bridge brook burn bury by cliffe combe dale den field ford gate ham haven hurst leigh ley mere
    minster port stead ton worth
"""
_WORDS = """
    blue box cotton cup desk glass green hand iron lamp large linen oak paper red set small soft steel table
"""
_ROADS = "Alley Avenue Close Court Drive Gardens Hill Lane Parade Place Road Row Square Street Terrace Walk"
_CHANNELS = ["web", "store", "phone", "app", "partner"]
_STATUSES = ["new", "paid", "packed", "sent", "delivered", "returned", "cancelled"]

MIXED_SCHEMA = pa.schema(
    [
        pa.field("order_id", pa.int64()),
        pa.field("customer_id", pa.int64()),
        pa.field("city", pa.string(), metadata=_REPEATING),
        pa.field("channel", pa.string(), metadata=_REPEATING),
        pa.field("status", pa.string(), metadata=_REPEATING),
        pa.field("product", pa.string(), metadata=_REPEATING),
        pa.field("street", pa.string(), metadata=_REPEATING),
        pa.field("quantity", pa.int32(), metadata=_REPEATING),
        pa.field("unit_price", pa.float64(), metadata=_REPEATING),
        pa.field("discount", pa.float64(), metadata=_REPEATING),
        pa.field("total", pa.float64()),
        pa.field("weight_kg", pa.float32()),
        pa.field("is_gift", pa.bool_()),
        pa.field("is_business", pa.bool_()),
        pa.field("order_day", pa.date32(), metadata=_REPEATING),
        pa.field("ordered_at", pa.timestamp("us")),
        pa.field("delivered_at", pa.timestamp("us")),
        pa.field("rating", pa.int64(), metadata=_REPEATING),
        pa.field("latitude", pa.float64()),
        pa.field("visits", pa.int64()),
    ]
)


def group_of(start: int, rows: int) -> pa.Table:
    """Rows `start` … `start + rows` of the generated data; `start` is a multiple of a row group's rows."""
    make = np.random.default_rng([SEED, start // GROUP_ROWS])
    columns = [column.slice(0, rows) for column in _columns(make, start)]
    return pa.Table.from_arrays(columns, schema=MIXED_SCHEMA)


def _columns(make: np.random.Generator, start: int) -> list[pa.Array]:
    n = GROUP_ROWS
    city = make.integers(0, 500, n, dtype=np.int32)
    quantity = make.integers(1, 13, n, dtype=np.int32)
    price = np.round(make.integers(1, 2_000, n) * 0.25 - 0.01, 2)
    discount = make.choice(np.array([0.0, 0.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25]), n)
    day = _DAY_2015 + make.integers(0, _DAYS, n, dtype=np.int32)
    moment = (day.astype(np.int64) * 86_400 + make.integers(0, 86_400, n)) * _MICROSECONDS
    delivered = moment + make.integers(3_600, 14 * 86_400, n) * _MICROSECONDS
    return [
        from_numpy(np.arange(start, start + n, dtype=np.int64) + 1),
        from_numpy(make.integers(1, 2_000_000, n)),
        _take_names(_cities(), city),
        _take_names(
            _list(_CHANNELS), make.integers(0, len(_CHANNELS), n, dtype=np.int32), _random_mask(make, 0.01)
        ),
        _take_names(_list(_STATUSES), make.integers(0, len(_STATUSES), n, dtype=np.int32)),
        _take_names(_products(), make.integers(0, 4_000, n, dtype=np.int32)),
        _take_names(_streets(), make.integers(0, 320, n, dtype=np.int32), _random_mask(make, 0.03)),
        from_numpy(quantity, pa.int32()),
        from_numpy(price),
        from_numpy(discount, None, _random_mask(make, 0.05)),
        from_numpy(np.round(quantity * price * (1 - discount), 2)),
        from_numpy(make.gamma(2.0, 1.5, n).astype(np.float32), pa.float32(), _random_mask(make, 0.1)),
        from_numpy(make.random(n) < 0.08),
        from_numpy(make.random(n) < 0.3, None, _random_mask(make, 0.02)),
        from_numpy(day, pa.date32()),
        from_numpy(moment, pa.timestamp("us")),
        from_numpy(delivered, pa.timestamp("us"), _random_mask(make, 0.15)),
        from_numpy(make.integers(1, 6, n), None, _random_mask(make, 0.4)),
        from_numpy(np.round(35 + city * 0.05 + make.normal(0, 0.02, n), 5)),
        from_numpy(make.geometric(0.02, n).astype(np.int64)),
    ]


def _random_mask(make: np.random.Generator, gaps: float) -> npt.NDArray[np.bool_]:
    """Which rows have a value, if a fraction `gaps` has none."""
    return make.random(GROUP_ROWS) >= gaps


def _take_names(
    names: pa.Array, places: npt.NDArray[np.int32], valid: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    return pc.take(names, from_numpy(places, pa.int32(), valid))


@cache
def _cities() -> pa.Array:
    return _list([start + end for start in _STARTS.split() for end in _ENDS.split()])


@cache
def _streets() -> pa.Array:
    return _list([f"{start} {road}" for start in _STARTS.split() for road in _ROADS.split()])


@cache
def _products() -> pa.Array:
    """4,000 names of three words and a number."""
    words = _WORDS.split()
    count = len(words)
    pick = [(i % count, i // count % count, (i * 7) % count, i) for i in range(4_000)]
    return _list([f"{words[a]} {words[b]} {words[c]} {number:04d}" for a, b, c, number in pick])


def _list(values: Sequence[str]) -> pa.Array:
    return from_values(values, pa.string())


SUFFIXES = (".parquet", ".parq", ".pq")
KINDS = {"mixed": (MIXED_SCHEMA, group_of)}


def make(kind: str, rows: int, path: str | Path, job: Job | None = None) -> Path:
    """Write a Parquet file of `rows` generated rows, one row group at a time, in constant memory.

    The file appears when it is complete. Raises `FileProblem` if it cannot be written, `Cancelled`.
    """
    if kind not in KINDS:
        raise UnknownName(kind, "Made data", KINDS)
    schema, group = KINDS[kind]
    target, job = path_of(path, "the file"), job or Job()
    _refuse_target(target)
    with draft_of(target) as draft, pq.ParquetWriter(draft, schema, **_options(schema)) as writer:
        for start in range(0, rows, GROUP_ROWS):
            job.report(start, rows, f"{start:,} of {rows:,} rows generated")
            writer.write_table(group(start, min(GROUP_ROWS, rows - start)))
        job.report(rows, rows, f"{rows:,} rows generated")
    return target


def _refuse_target(target: Path) -> None:
    """Raise `FileProblem` unless the target is new, or a Parquet file to replace."""
    refuse_special(target)
    if target.suffix.casefold() not in SUFFIXES:
        raise FileProblem(target, "is not named like a Parquet file", fix=f"End the name with {SUFFIXES[0]}")
    if target.is_dir() or (target.exists() and not is_parquet(look_into(target))):
        raise FileProblem(target, "already exists, and is not a Parquet file", fix="Choose another name")


def _options(schema: pa.Schema) -> dict[str, object]:
    return {"compression": "snappy", "use_dictionary": [f.name for f in schema if f.metadata]}
