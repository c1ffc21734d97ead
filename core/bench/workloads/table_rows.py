"""The rows of tables of numbers, generated from a seed so that every system gets the same ones, and the right
answers of the operations on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from lamella.core.arrow.sorted_ids import distinct
from lamella.core.bench.workloads.model import Answer, Columns, Operation, Pick, PickChange, Values, Workload

SEED = 97
LARGEST_VALUE = 1_000_000
BLOCK_ROWS = 10_000
Numbers = npt.NDArray[np.int64]
Row = dict[str, int | float]


def blocks(workload: Workload, rows: int, version: int = 0) -> Iterator[Columns]:
    """Yield the data as columns, at most 10,000 rows at a time.

    A larger table begins with the rows of a smaller one. Another `version` has the same keys and other
    values: integers up to 1,000,000, or floats in [0, 1).
    """
    for start in range(0, rows, BLOCK_ROWS):
        yield block_at(workload, start, rows, version)


def block_at(workload: Workload, start: int, rows: int, version: int) -> Columns:
    """Return the block that begins with row `start` of a table of `rows` rows."""
    count = min(BLOCK_ROWS, rows - start)
    values = _values(workload, start // BLOCK_ROWS, version, count)
    keys = {workload.key: np.arange(start, start + count, dtype=np.int64)} if workload.key else {}
    block = keys | {name: values[:, number] for number, name in enumerate(workload.data_columns)}
    if workload.needle and start <= needle_row(rows) < start + count:
        block[workload.data_columns[0]][needle_row(rows) - start] = -1
    return block


def python_rows(workload: Workload, rows: int, version: int = 0) -> list[Row]:
    """Return the data as dicts of Python numbers: about 7 KB per row with 100 columns."""
    return [row for block in blocks(workload, rows, version) for row in dicts(block)]


def pick_rows(pick: Pick, workload: Workload, rows: int) -> Numbers:
    """Return the numbers of the picked rows in random order; for a table of one row, that row."""
    size = workload.size(rows)
    count = rows if pick.count is None else min(pick.count, max(1, size // 2))
    generator = np.random.default_rng([SEED, crc32(pick.name.encode())])
    return generator.permutation(size)[:count].astype(np.int64)


def rows_at(workload: Workload, rows: int, version: int, numbers: Numbers) -> list[Row]:
    """Return the rows with these numbers, in the given order, of a table of `rows` rows."""
    by_number: dict[int, Row] = {}
    for start in distinct(numbers - numbers % BLOCK_ROWS).tolist():
        block_numbers = np.sort(numbers[(numbers >= start) & (numbers < start + BLOCK_ROWS)])
        block = block_at(workload, start, rows, version)
        columns = {name: values[block_numbers - start] for name, values in block.items()}
        by_number.update(zip(block_numbers.tolist(), dicts(columns), strict=True))
    return [by_number[number] for number in numbers.tolist()]


def dicts(block: Columns) -> list[Row]:
    names = list(block)
    return [dict(zip(names, row, strict=True)) for row in tuples(block)]


def tuples(block: Columns) -> list[tuple[Any, ...]]:
    """Convert a block to tuples. The values of a row are close together in memory, as for a user's rows."""
    rows: list[tuple[Any, ...]] = np.rec.fromarrays(list(block.values())).tolist()
    return rows


def needle_row(rows: int) -> int:
    """Return the number of the row with -1."""
    return int(np.random.default_rng([SEED, rows]).integers(rows))


def _values(workload: Workload, block: int, version: int, rows: int) -> Values:
    """Generate values; a shorter block equals the start of a longer one."""
    generator = np.random.default_rng([SEED, version, block])
    size = (rows, len(workload.data_columns))
    if workload.floats:
        return generator.random(size)
    return generator.integers(0, LARGEST_VALUE + 1, size=size, dtype=np.int64)


def right_answer(workload: Workload, operation: Operation, rows: int) -> str:
    """Return the checksum of an operation's right answer."""
    answer = operation.answer
    names = answer.columns or workload.checked_columns
    return checksum(_checked_columns(block, names) for block in _right(workload, answer, rows))


def _right(workload: Workload, answer: Answer, rows: int) -> Iterator[Columns]:
    size = workload.size(rows)
    changes = [(change, np.sort(pick_rows(change.pick, workload, rows))) for change in answer.changes]
    removed = pick_rows(answer.deletion, workload, rows) if answer.deletion else None
    only = pick_rows(answer.only, workload, rows) if answer.only else None
    for start in range(0, size, BLOCK_ROWS):
        block = block_at(workload, start, size, answer.version)
        for change, numbers in changes:
            _apply(change, numbers, block, workload, start, size)
        yield _matching(block, start, removed, only, answer)


def _apply(
    change: PickChange, numbers: Numbers, block: Columns, workload: Workload, start: int, size: int
) -> None:
    places = numbers[(numbers >= start) & (numbers < start + BLOCK_ROWS)] - start
    if len(places):
        later_block = block_at(workload, start, size, change.version)
        for name in change.columns or workload.data_columns:
            block[name][places] = later_block[name][places]


def _matching(
    block: Columns, start: int, removed: Numbers | None, only: Numbers | None, answer: Answer
) -> Columns:
    count = len(next(iter(block.values())))
    numbers = np.arange(start, start + count)
    keep = np.ones(count, bool) if answer.where is None else answer.where(block)
    if removed is not None:
        keep &= ~np.isin(numbers, removed)
    if only is not None:
        keep &= np.isin(numbers, only)
    return {name: values[keep] for name, values in block.items()}


def _checked_columns(block: Columns, names: tuple[str, ...]) -> list[Values]:
    return [block[name] for name in names]


# ----------------------------------------------------------------------- checksums

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def checksum(answer: Iterable[Sequence[Values]]) -> str:
    """Return "rows:digest" of blocks of rows, each given as columns; the order of rows does not matter."""
    rows, total = 0, 0
    for columns in answer:
        rows += len(columns[0])
        total += int(_row_digests(columns).sum(dtype=np.uint64))
    return f"{rows}:{total % 2**64:016x}"


def _row_digests(columns: Sequence[Values]) -> npt.NDArray[np.uint64]:
    digests = np.zeros(len(columns[0]), dtype=np.uint64)
    for number, values in enumerate(columns, start=1):
        with np.errstate(over="ignore"):
            place = np.uint64(number) * _STEP
            digests += _mix(_bits(values) + place)
    return _mix(digests)


def _bits(values: Values) -> npt.NDArray[np.uint64]:
    if values.dtype.kind != "f":
        return values.astype(np.int64, copy=False).view(np.uint64)
    floats = values.astype(np.float64, copy=False) + 0.0  # converts -0.0 to 0.0
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.uint64)


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014), wrapping at 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
