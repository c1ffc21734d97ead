"""A few rows of a wide table: found, changed and deleted, one by one or scattered over it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamella.core.bench.workloads.model import Answer, Changed, Columns, Operation, Pick, Workload
from lamella.core.bench.workloads.wide import ALL_SIZES, INDEX, READ, READ_AGAIN, SIZES, WIDE

SINGLES = 100
SCATTER = 10_000


def is_needle(block: Columns) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = block["col0"] == -1
    return found


GOT, ONE, CELL, GONE = (Pick(name, SINGLES) for name in ("get", "update one", "update cell", "delete one"))
SOME = Pick("update some")
SCATTERED_ROWS, SCATTERED_GONE = Pick("scattered updates", SCATTER), Pick("scattered deletes", SCATTER)

_ONE_CHANGED = (Changed(ONE, 1),)
_CELL_CHANGED = (*_ONE_CHANGED, Changed(CELL, 2, ("col1",)))
_SOME_CHANGED, _SOME_CHANGED_AGAIN = (Changed(SOME, 1),), (Changed(SOME, 2),)
_SCATTER_CHANGED = (Changed(SCATTERED_ROWS, 1),)

FILL = Operation(
    "fill",
    "Fill",
    "is filled with {rows} of columns",
    "The table as it is filled before anything is timed: from blocks of columns, as fast as each system can.",
    resizes=True,
)
GET = Operation(
    "get",
    "Get",
    "gets one of {rows} by its id",
    "One row by the system's own id, nothing of it in memory yet; a sample for each of up to 100 rows.",
    Answer(only=GOT),
)
GET_AGAIN = Operation(
    "get_again",
    "Get again",
    "gets one of {rows} by its id once more",
    "The same rows once more from the open table: what each system keeps in memory helps it.",
    Answer(only=GOT),
)
UPDATE_ONE = Operation(
    "update_one",
    "Update one row",
    "updates one of {rows}",
    "Give one row new values in every column and commit; a sample for each of up to 100 rows.",
    Answer(changed=_ONE_CHANGED),
    resizes=True,
)
UPDATE_CELL = Operation(
    "update_cell",
    "Update one cell",
    "updates one cell of {rows}",
    "Give one row a new value in one column and commit; a sample for each of up to 100 rows.",
    Answer(changed=_CELL_CHANGED),
    resizes=True,
)
DELETE_ONE = Operation(
    "delete_one",
    "Delete one row",
    "deletes one of {rows}",
    "Delete one row by its id and commit; a sample for each of up to 100 rows.",
    Answer(changed=_CELL_CHANGED, gone=GONE),
    resizes=True,
)
VACUUM_SINGLE = Operation(
    "vacuum",
    "Vacuum",
    "vacuums {rows}",
    "Give back what history and dead rows hold: SQLite's VACUUM; Lamella forgets old versions and compacts.",
    Answer(changed=_CELL_CHANGED, gone=GONE),
    resizes=True,
)
UPDATE_SOME = Operation(
    "update_some",
    "Update some",
    "updates {rows} in a large table by key",
    "Give so many rows, scattered over the table, new values in every column; found by the key column.",
    Answer(changed=_SOME_CHANGED),
    resizes=True,
)
UPDATE_SOME_BY_ROW_ID = Operation(
    "update_some_by_row_id",
    "By row id",
    "updates {rows} in a large table by row id",
    "Give the same rows other values, found by the system's own row number.",
    Answer(changed=_SOME_CHANGED_AGAIN),
    resizes=True,
)
FIND = Operation(
    "find",
    "Find",
    "finds one among {rows}",
    "The one row of -1 in col0, this column only, without an index.",
    Answer(where=is_needle, columns=("col0",)),
)
FIND_INDEXED = Operation(
    "find_indexed",
    "Find by index",
    "finds one among {rows} by an index",
    "The same with an index on col0, where the system has one.",
    Answer(where=is_needle, columns=("col0",)),
)


def _reading(name: str, title: str, pending: str, answer: Answer) -> tuple[Operation, Operation]:
    about = f"Every row and column, with {pending} since the table was filled."
    doing = "reads {rows} with " + pending
    return (
        Operation(name, title, doing, about, answer),
        Operation(
            f"{name}_again", f"{title}, again", doing + " again", about + " Once more, still open.", answer
        ),
    )


SINGLE = Workload(
    id="single",
    title="One row at a time",
    about="100 integer columns: get, update and delete single rows by id, each in a commit of its own. A "
    "sample leaves out what a system puts off until it is closed: Lamella's flush of 1,000 pending rows and "
    "more, SQLite's checkpoint of its write-ahead log.",
    steps=("fill", "get", "update_one", "update_cell", "delete_one", "vacuum"),
    operations=(FILL, GET, GET_AGAIN, UPDATE_ONE, UPDATE_CELL, DELETE_ONE, VACUUM_SINGLE),
    data_columns=WIDE,
    key=None,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=1,
    opens_inside=False,
    published_rows=SIZES,
)

PARTIAL = Workload(
    id="partial",
    title="Partial update",
    about="Give rows of a table of 1,000,000 × 100 integers new values; the sizes count the changed rows.",
    steps=("fill", "index", "update_some", "update_some_by_row_id"),
    operations=(FILL, INDEX, UPDATE_SOME, UPDATE_SOME_BY_ROW_ID),
    data_columns=WIDE,
    key="id",
    checked_columns=("id", *WIDE[1:]),
    default_rows=SIZES,
    default_repeats=1,
    opens_inside=False,
    table_rows=1_000_000,
    small_rows=(100,),
    small_table_rows=1_000,
    published_rows=ALL_SIZES,
)

NEEDLE = Workload(
    id="needle",
    title="Needle in a haystack",
    about="One row of -1 among random ones × 100 columns: find it, with and without an index.",
    steps=("fill", "find", "index", "find_indexed"),
    operations=(FILL, FIND, INDEX, FIND_INDEXED),
    data_columns=WIDE,
    key=None,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=5,
    opens_inside=False,
    needle=True,
    published_rows=ALL_SIZES,
)

SCATTERED = Workload(
    id="scattered",
    title="Reading changed rows",
    about="Read everything as it was filled, after 10,000 scattered updates, and after as many deletes.",
    steps=("fill", "read", "scatter_updates", "read_updated", "refill", "scatter_deletes", "read_deleted"),
    operations=(
        FILL,
        READ,
        READ_AGAIN,
        *_reading(
            "read_updated", "Read updated", "10,000 scattered updates", Answer(changed=_SCATTER_CHANGED)
        ),
        *_reading("read_deleted", "Read deleted", "10,000 scattered deletes", Answer(gone=SCATTERED_GONE)),
    ),
    data_columns=WIDE,
    key=None,
    checked_columns=WIDE,
    default_rows=(100_000, 1_000_000),
    default_repeats=5,
    opens_inside=False,
    published_rows=(100_000, 1_000_000),
)
