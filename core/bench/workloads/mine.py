"""Somebody's own table: what it takes every system to hold and ask what the user has open."""

from __future__ import annotations

from dataclasses import replace

from lamella.core.bench.workloads.model import Operation, Workload

PREFIX = "mine"
TABLE = "the table"
"""Stands in the sentences for its name."""

SMALL_ROWS = 1_000

LOAD = Operation(
    "load",
    "Load",
    "loads {rows} of the table",
    "From a copy in Parquet into the system, until the rows are kept.",
    resizes=True,
)
READ = Operation("read", "Read", "reads {rows} of the table", "Every chosen column of every row.")
READ_AGAIN = Operation(
    "read_again", "Read again", "reads {rows} of the table once more", "The same once more."
)
FILTER = Operation(
    "filter", "Filter", "filters {rows} of the table", "Every chosen column of the rows that match."
)
FILTER_AGAIN = Operation(
    "filter_again", "Filter again", "filters {rows} of the table once more", "The same once more."
)
UPDATE = Operation(
    "update",
    "Update the matches",
    "updates what matches of {rows} of the table",
    "One column gets a new value in every row that matches, in one commit.",
    resizes=True,
)

MINE = Workload(
    id=PREFIX,
    title="My table",
    about="The table or file that is open, with its filter and columns of the moment.",
    steps=("load", "read", "filter", "update"),
    operations=(LOAD, READ, READ_AGAIN, FILTER, FILTER_AGAIN, UPDATE),
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(),
    default_repeats=3,
    opens_inside=False,
    family="mine",
)


def as_asked(workload: Workload) -> Workload:
    """With only those steps that its options leave something to do for."""
    options = workload.options
    idle = {"filter"} if not options["where"] else set[str]()
    idle |= {"update"} if not options["column"] else set()
    return replace(
        workload,
        title=options["title"],
        about=options["about"],
        default_rows=(options["rows"],),
        small_rows=(min(SMALL_ROWS, options["rows"]),),
        steps=tuple(step for step in workload.steps if step not in idle),
        operations=tuple(o for o in workload.operations if o.id.removesuffix("_again") not in idle),
    )


def mine_named(name: str) -> Workload | None:
    """What a race of "mine:flights-1a2b3c4d" was, as far as its name tells; None for another name."""
    prefix, colon, table = name.partition(":")
    if prefix != PREFIX or not colon:
        return None
    title = table.rpartition("-")[0] or table
    written = title.replace("{", "{{").replace("}", "}}")
    operations = tuple(_of_table(operation, written) for operation in MINE.operations)
    return replace(MINE, id=name, title=title, operations=operations)


def _of_table(operation: Operation, table: str) -> Operation:
    return replace(operation, sentence=operation.sentence.replace(TABLE, table))
