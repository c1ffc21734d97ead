"""Whole tables of a hundred integer columns: made, read, queried, updated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lamella.core.bench.workloads.model import Answer, Columns, Operation, Workload

WIDE = tuple(f"col{number}" for number in range(100))
SIZES = tuple(10**power for power in range(5))
ALL_SIZES = tuple(10**power for power in range(7))


def queried(block: Columns) -> npt.NDArray[np.bool_]:
    return (block["col1"] > 100) & (block["col97"] < 1000)


CREATE = Operation(
    "create",
    "Create",
    "creates a table of {rows}",
    "From Python rows until the data are on disk. What a system needs first "
    "(SQLite: dicts to tuples) is made beforehand, as the published notebooks do.",
    resizes=True,
)
CREATE_PREPARED = Operation(
    "create_with_preparation",
    "Create from dicts",
    "creates a table of {rows}, conversion included,",
    "The same run with the conversion from Python dicts counted, as a user has to pay it.",
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
    "The rows where col1 > 100 and col97 < 1000, all columns, the database opened anew.",
    Answer(where=queried),
)
QUERY_AGAIN = Operation(
    "query_again",
    "Query again",
    "queries {rows} again",
    "The same query once more while the database is still open: what each system keeps in memory helps it.",
    Answer(where=queried),
)
INDEX = Operation(
    "index",
    "Index",
    "indexes the key of {rows}",
    "The index that SQLite's update needs; the published notebook makes it outside every timer.",
    resizes=True,
)
UPDATE = Operation(
    "update",
    "Update",
    "updates {rows} by key",
    "Give every row new values, found by its key column. Values are put in the system's order beforehand.",
    Answer(version=1),
    resizes=True,
)
UPDATE_PREPARED = Operation(
    "update_with_preparation",
    "Update from dicts",
    "updates {rows} by key, conversion included,",
    "The same run with the conversion from Python dicts counted.",
    Answer(version=1),
)
UPDATE_BY_ROW_ID = Operation(
    "update_by_row_id",
    "By row id",
    "updates {rows} by row id",
    "Give every row new values, found by the system's own row number (Lamella _id, SQLite rowid).",
    Answer(version=2),
    resizes=True,
)
VACUUM = Operation(
    "vacuum",
    "Vacuum",
    "vacuums {rows}",
    "Give back what history and dead rows hold: SQLite's VACUUM; Lamella forgets old versions and compacts.",
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
    key=None,
    checked_columns=WIDE,
    default_rows=SIZES,
    default_repeats=5,
    opens_inside=True,
    published_rows=ALL_SIZES,
)

UPDATE_ALL = Workload(
    id="update",
    title="Full update",
    about="Create, read all, then give every row new values, by a key column and by row id. "
    "SQLite holds 100 columns with the key among them, the others the key and 100 more.",
    steps=("create", "index", "read", "update", "update_by_row_id", "vacuum"),
    operations=(CREATE, CREATE_PREPARED, INDEX, READ, UPDATE, UPDATE_PREPARED, UPDATE_BY_ROW_ID, VACUUM),
    data_columns=WIDE,
    key="id",
    checked_columns=("id", *WIDE[1:]),
    default_rows=SIZES,
    default_repeats=1,
    opens_inside=False,
    published_rows=ALL_SIZES,
)
