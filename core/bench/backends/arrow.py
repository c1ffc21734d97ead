"""Blocks of columns to Arrow and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from lamella.core.arrays import from_numpy
from lamella.core.bench.data import BLOCK_ROWS
from lamella.core.bench.workloads import Columns, Values


def batches(made: Iterable[Columns]) -> pa.RecordBatchReader:
    """At least one block, streamed."""
    every = (_batch(block) for block in made)
    first = next(every)
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], every))


def columns_of(answer: pa.Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
    for batch in answer.select(list(names)).to_batches(max_chunksize=BLOCK_ROWS):
        yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]


def _batch(block: Columns) -> pa.RecordBatch:
    arrays = [from_numpy(np.ascontiguousarray(values)) for values in block.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(block))
