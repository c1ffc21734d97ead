"""Workloads on tables of numbers: on whole tables of a hundred columns, on a few of their rows, and on five
columns of floats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamella.core.bench.workloads.model import Answer, Columns, Operation, Pick, PickChange, Workload

WIDE = tuple(f"col{number}" for number in range(100))
SIZES = tuple(10**power for power in range(5))
ALL_SIZES = tuple(10**power for power in range(7))


def query_mask(block: Columns) -> npt.NDArray[np.bool_]:
    return (block["col1"] > 100) & (block["col97"] < 1000)


CREATE = Operation(
    "create",
    "Create",
    "creates a table of {rows}",
    "From Python rows until the data is on disk. Conversions that a system needs (SQLite: dicts to tuples) "
    "are not timed, as in the published notebooks.",
    resizes=True,
)

CREATE_PREPARED = Operation(
    "create_with_preparation",
    "Create from dicts",
    "creates a table of {rows}, conversion included,",
    "The same run including the conversion from Python dicts, which a user has to wait for.",
)

READ = Operation(
    "read", "Read", "reads {rows}", "Read every row and column. SQLite's answer is Python tuples."
)

READ_AGAIN = Operation(
    "read_again",
    "Read again",
    "reads {rows} again",
    "Read every row and column once more while the database is still open.",
)

QUERY = Operation(
    "query",
    "Query",
    "queries {rows}",
    "The rows where col1 > 100 and col97 < 1000, all columns, with the database just opened.",
    Answer(where=query_mask),
)

QUERY_AGAIN = Operation(
    "query_again",
    "Query again",
    "queries {rows} again",
    "The same query once more while the database is still open, which lets a system use its caches.",
    Answer(where=query_mask),
)

INDEX = Operation(
    "index",
    "Index",
    "indexes the key of {rows}",
    "The index that SQLite's update needs; the published notebook does not time it.",
    resizes=True,
)

UPDATE = Operation(
    "update",
    "Update",
    "updates {rows} by key",
    "Set new values in every row, found by the key column. Converting the values is not timed.",
    Answer(version=1),
    resizes=True,
)

UPDATE_PREPARED = Operation(
    "update_with_preparation",
    "Update from dicts",
    "updates {rows} by key, conversion included,",
    "The same run including the conversion from Python dicts.",
    Answer(version=1),
)

UPDATE_BY_ROW_ID = Operation(
    "update_by_row_id",
    "By row id",
    "updates {rows} by row id",
    "Set new values in every row, found by the system's own row id (Lamella _id, SQLite rowid).",
    Answer(version=2),
    resizes=True,
)

VACUUM = Operation(
    "vacuum",
    "Vacuum",
    "vacuums {rows}",
    "Free the space of old versions and rows: SQLite's VACUUM; Lamella expires versions and compacts.",
    Answer(version=2),
    resizes=True,
)

SMALL = Workload(
    id="small",
    title="Small benchmark",
    about="100 integer columns from 0 to 1,000,000: create from Python rows, read all, query two columns.",
    steps=("create", "read", "query"),
    operations=(CREATE, CREATE_PREPARED, READ, READ_AGAIN, QUERY, QUERY_AGAIN),
    data_columns=WIDE,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=5,
    opens_inside=True,
    published_rows=ALL_SIZES,
)

UPDATE_ALL = Workload(
    id="update",
    title="Full update",
    about="Create, read all, then set new values in every row, by a key column and by row id. "
    "SQLite has 100 columns including the key, the others have the key and 100 more.",
    steps=("create", "index", "read", "update", "update_by_row_id", "vacuum"),
    operations=(CREATE, CREATE_PREPARED, INDEX, READ, UPDATE, UPDATE_PREPARED, UPDATE_BY_ROW_ID, VACUUM),
    data_columns=WIDE,
    key="id",
    checked_columns=("id", *WIDE[1:]),
    default_rows=SIZES,
    default_repeats=1,
    published_rows=ALL_SIZES,
)

SINGLES = 100
SCATTER = 10_000


def is_needle(block: Columns) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = block["col0"] == -1
    return mask


GET_PICK, UPDATE_PICK, CELL_PICK, DELETE_PICK = (
    Pick(name, SINGLES) for name in ("get", "update one", "update cell", "delete one")
)
SOME_PICK = Pick("update some")
SCATTERED_UPDATES, SCATTERED_DELETES = Pick("scattered updates", SCATTER), Pick("scattered deletes", SCATTER)
_ROW_UPDATE = (PickChange(UPDATE_PICK, 1),)
_CELL_UPDATE = (*_ROW_UPDATE, PickChange(CELL_PICK, 2, ("col1",)))
_SOME_UPDATE, _SECOND_SOME_UPDATE = (PickChange(SOME_PICK, 1),), (PickChange(SOME_PICK, 2),)
_SCATTERED_UPDATE = (PickChange(SCATTERED_UPDATES, 1),)

FILL = Operation(
    "fill",
    "Fill",
    "fills a table with {rows} of columns",
    "Filling the table for the other operations: from blocks of columns, in each system's fastest way.",
    resizes=True,
)

GET = Operation(
    "get",
    "Get",
    "gets one of {rows} by its id",
    "One row by the system's own id, not in memory yet; a sample for each of up to 100 rows.",
    Answer(only=GET_PICK),
)

GET_AGAIN = Operation(
    "get_again",
    "Get again",
    "gets one of {rows} by its id once more",
    "The same rows once more from the open table, which lets a system use its caches.",
    Answer(only=GET_PICK),
)

UPDATE_ONE = Operation(
    "update_one",
    "Update one row",
    "updates one of {rows}",
    "Set new values in every column of one row and commit; a sample for each of up to 100 rows.",
    Answer(changes=_ROW_UPDATE),
    resizes=True,
)

UPDATE_CELL = Operation(
    "update_cell",
    "Update one cell",
    "updates one cell of {rows}",
    "Set a new value in one column of one row and commit; a sample for each of up to 100 rows.",
    Answer(changes=_CELL_UPDATE),
    resizes=True,
)

DELETE_ONE = Operation(
    "delete_one",
    "Delete one row",
    "deletes one of {rows}",
    "Delete one row by its id and commit; a sample for each of up to 100 rows.",
    Answer(changes=_CELL_UPDATE, deletion=DELETE_PICK),
    resizes=True,
)

VACUUM_SINGLE = Operation(
    "vacuum",
    "Vacuum",
    "vacuums {rows}",
    "Free the space of old versions and rows: SQLite's VACUUM; Lamella expires versions and compacts.",
    Answer(changes=_CELL_UPDATE, deletion=DELETE_PICK),
    resizes=True,
)

UPDATE_SOME = Operation(
    "update_some",
    "Update some",
    "updates {rows} in a large table by key",
    "Set new values in every column of this many rows, scattered over the table, found by the key column.",
    Answer(changes=_SOME_UPDATE),
    resizes=True,
)

UPDATE_SOME_BY_ROW_ID = Operation(
    "update_some_by_row_id",
    "By row id",
    "updates {rows} in a large table by row id",
    "Set other values in the same rows, found by the system's own row id.",
    Answer(changes=_SECOND_SOME_UPDATE),
    resizes=True,
)

FIND = Operation(
    "find",
    "Find",
    "finds one among {rows}",
    "The one row with -1 in col0, only this column, without an index.",
    Answer(where=is_needle, columns=("col0",)),
)

FIND_INDEXED = Operation(
    "find_indexed",
    "Find by index",
    "finds one among {rows} by an index",
    "The same with an index on col0, if the system has indexes.",
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
    about="100 integer columns: get, update and delete single rows by id, each in a separate commit. Samples "
    "do not include work that a system defers until it is closed: Lamella's flush of 1,000 or more pending "
    "rows, SQLite's checkpoint of its write-ahead log.",
    steps=("fill", "get", "update_one", "update_cell", "delete_one", "vacuum"),
    operations=(FILL, GET, GET_AGAIN, UPDATE_ONE, UPDATE_CELL, DELETE_ONE, VACUUM_SINGLE),
    data_columns=WIDE,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=1,
    published_rows=SIZES,
)

PARTIAL = Workload(
    id="partial",
    title="Partial update",
    about="Set new values in rows of a table of 1,000,000 × 100 integers; the sizes count the changed rows.",
    steps=("fill", "index", "update_some", "update_some_by_row_id"),
    operations=(FILL, INDEX, UPDATE_SOME, UPDATE_SOME_BY_ROW_ID),
    data_columns=WIDE,
    key="id",
    checked_columns=("id", *WIDE[1:]),
    default_rows=SIZES,
    default_repeats=1,
    table_rows=1_000_000,
    small_rows=(100,),
    small_table_rows=1_000,
    published_rows=ALL_SIZES,
)

NEEDLE = Workload(
    id="needle",
    title="Needle in a haystack",
    about="One row with -1 among random rows of 100 columns: find it, with and without an index.",
    steps=("fill", "find", "index", "find_indexed"),
    operations=(FILL, FIND, INDEX, FIND_INDEXED),
    data_columns=WIDE,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=5,
    needle=True,
    published_rows=ALL_SIZES,
)

SCATTERED_CHANGES = Workload(
    id="scattered",
    title="Reading changed rows",
    about="Read everything after filling, after 10,000 scattered updates, and after 10,000 deletes.",
    steps=("fill", "read", "scatter_updates", "read_updated", "refill", "scatter_deletes", "read_deleted"),
    operations=(
        FILL,
        READ,
        READ_AGAIN,
        *_reading(
            "read_updated", "Read updated", "10,000 scattered updates", Answer(changes=_SCATTERED_UPDATE)
        ),
        *_reading(
            "read_deleted", "Read deleted", "10,000 scattered deletes", Answer(deletion=SCATTERED_DELETES)
        ),
    ),
    data_columns=WIDE,
    checked_columns=WIDE,
    default_rows=(100_000, 1_000_000),
    default_repeats=5,
    published_rows=(100_000, 1_000_000),
)

FIVE = tuple(f"col{number}" for number in range(5))

READ_FLOATS = Operation(
    "read",
    "Read",
    "reads {rows}",
    "Read every row, with the database just opened, in the form that the system returns: tuples, arrays, …",
)

READ_FLOATS_AGAIN = Operation(
    "read_again",
    "Read again",
    "reads {rows} again",
    "The same once more: the second run after a warm-up, as in the published figures.",
)

FLOATS = Workload(
    id="floats",
    title="Random floats",
    about="Five columns of random floats from 0 to 1: written from Python rows, read all, size on disk.",
    steps=("create", "read"),
    operations=(CREATE, CREATE_PREPARED, READ_FLOATS, READ_FLOATS_AGAIN),
    data_columns=FIVE,
    checked_columns=FIVE,
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=True,
    floats=True,
    small_rows=(10_000,),
    published_rows=(10_000, 100_000, 200_000, 500_000),
)
