"""Five columns of random floats: what storage costs where the data cannot be compressed."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload
from lamella.core.bench.workloads.wide import CREATE, CREATE_PREPARED

FIVE = tuple(f"col{number}" for number in range(5))

READ = Operation(
    "read",
    "Read",
    "reads {rows}",
    "Read every row, the database opened anew. An answer is what a system gives its user: tuples, arrays, …",
)
READ_AGAIN = Operation(
    "read_again",
    "Read again",
    "reads {rows} again",
    "The same once more: the second run after a warm-up, which is what was published.",
)

FLOATS = Workload(
    id="floats",
    title="Random floats",
    about="Five columns of random floats from 0 to 1: written from Python rows, read all, size on disk.",
    steps=("create", "read"),
    operations=(CREATE, CREATE_PREPARED, READ, READ_AGAIN),
    data_columns=FIVE,
    key=None,
    checked_columns=FIVE,
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=True,
    floats=True,
    small_rows=(10_000,),
    published_rows=(10_000, 100_000, 200_000, 500_000),
)
