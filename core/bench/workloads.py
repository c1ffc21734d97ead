"""What is asked of every system, as data: the steps of a workload and the operations they time."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import UnknownName

ALL_SIZES = tuple(10**power for power in range(7))


class UnknownWorkload(UnknownName):
    kind = "workload"


@dataclass(frozen=True)
class Operation:
    """One timed thing. `sentence` completes "Lamella … 3 × faster"; `{rows}` is "1,000 rows".

    The right answer is every row of the data's `version`, or with `filtered` the rows queried for.
    """

    id: str
    title: str
    sentence: str
    about: str
    version: int = 0
    filtered: bool = False


@dataclass(frozen=True)
class Workload:
    """`steps` run in order on one database; each step times one operation or several.

    `opens_inside` says whether opening the database is part of each operation's time.
    `key` is the integer column, beside `data_columns`, that tells the rows apart.
    """

    id: str
    title: str
    about: str
    steps: tuple[str, ...]
    operations: tuple[Operation, ...]
    data_columns: tuple[str, ...]
    key: str | None
    checked_columns: tuple[str, ...]
    default_rows: tuple[int, ...]
    default_repeats: int
    opens_inside: bool

    def operation(self, operation_id: str) -> Operation:
        """Raises KeyError for an operation that this workload does not have."""
        return {operation.id: operation for operation in self.operations}[operation_id]


WIDE = tuple(f"col{number}" for number in range(100))

CREATE = Operation(
    "create",
    "Create",
    "creates a table of {rows}",
    "Make the table and commit the rows. Rows are Python dicts; a conversion that a system needs first "
    "(SQLite: dicts to tuples) is made beforehand, as the published notebooks do.",
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
QUERY = Operation(
    "query",
    "Query",
    "queries {rows}",
    "The rows where col1 > 100 and col97 < 1000, all columns, the database opened anew.",
    filtered=True,
)
QUERY_AGAIN = Operation(
    "query_again",
    "Query again",
    "queries {rows} again",
    "The same query once more while the database is still open: what each system keeps in memory helps it.",
    filtered=True,
)
INDEX = Operation(
    "index",
    "Index",
    "indexes the key of {rows}",
    "The index that SQLite's update needs; the published notebook makes it outside every timer.",
)
UPDATE = Operation(
    "update",
    "Update",
    "updates {rows} by key",
    "Give every row new values, found by its key column. Values are put in the system's order beforehand.",
    version=1,
)
UPDATE_PREPARED = Operation(
    "update_with_preparation",
    "Update from dicts",
    "updates {rows} by key, conversion included,",
    "The same run with the conversion from Python dicts counted.",
    version=1,
)
UPDATE_BY_ROW_ID = Operation(
    "update_by_row_id",
    "By row id",
    "updates {rows} by row id",
    "Give every row new values, found by the system's own row number (Lamella _id, SQLite rowid).",
    version=2,
)

SMALL = Workload(
    id="small",
    title="Small benchmark",
    about="100 integer columns from 0 to 1,000,000: create from Python rows, read all, query two columns.",
    steps=("create", "read", "query"),
    operations=(CREATE, CREATE_PREPARED, READ, QUERY, QUERY_AGAIN),
    data_columns=WIDE,
    key=None,
    checked_columns=WIDE,
    default_rows=ALL_SIZES[:5],
    default_repeats=5,
    opens_inside=True,
)

UPDATE_ALL = Workload(
    id="update",
    title="Full update",
    about="Create, read all, then give every row new values, by a key column and by row id. "
    "SQLite holds 100 columns with the key among them, the others the key and 100 more.",
    steps=("create", "index", "read", "update", "update_by_row_id"),
    operations=(CREATE, CREATE_PREPARED, INDEX, READ, UPDATE, UPDATE_PREPARED, UPDATE_BY_ROW_ID),
    data_columns=WIDE,
    key="id",
    checked_columns=("id", *WIDE[1:]),
    default_rows=ALL_SIZES[:5],
    default_repeats=1,
    opens_inside=False,
)

WORKLOADS = {workload.id: workload for workload in (SMALL, UPDATE_ALL)}


def workload_named(name: str) -> Workload:
    """Raises UnknownWorkload, with the nearest name, for one that does not exist."""
    if name not in WORKLOADS:
        raise UnknownWorkload(name, "The benchmark", WORKLOADS)
    return WORKLOADS[name]
