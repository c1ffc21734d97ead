"""SQLite's own SQL over Parquet files, beside a table of its own."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

_OPERATIONS = tuple(
    Operation(name, title, f"{sentence} {{rows}}", about)
    for name, title, sentence, about in (
        ("sum", "Sum of a column", "adds up a column of", "Every row, one column of six."),
        ("group", "Group by a text", "groups by a text", "Counts and means of 200 zones."),
        ("count", "Count", "counts", "How many rows there are."),
        ("filter_ordered", "Filter, in order", "filters by what is in order", "1,000 rows side by side."),
        ("filter_hour", "Filter, by hour", "filters by an hour of a month", "Moments of one hour; in order."),
        (
            "filter_scattered",
            "Filter, not in order",
            "filters by what is in no order",
            "One of nine numbers of passengers and the highest of the amounts.",
        ),
        ("like", "LIKE 'zone 01%'", "filters by how a text begins", "Ten of 200 zones."),
        ("rows", "20 rows, all columns", "finds 20 rows by number among", "In the middle, side by side."),
        ("join", "Join 200 zones, group", "joins zones to", "The highest amounts counted by borough."),
    )
)

BRIDGE = Workload(
    id="bridge",
    title="SQLite over Parquet",
    about="SQLite's statements over trips in two Parquet files of five row groups each, in order of number "
    "and time; beside a table of its own without an index, in the same version of SQLite.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(100_000, 1_000_000),
    default_repeats=5,
    opens_inside=False,
    family="bridge",
    asks_only=True,
    small_rows=(1_000,),
    published_rows=(1_000_000,),
)
