"""Lookups with a secondary index and without: the index tables of ParqueDB's page."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

ALIKE = 20
"""Rows of one owner, and rows whose codes begin alike."""

KEYS, ROWS = "keys", "rows"

SCANS = {
    "equality": "the 20 rows of one owner",
    "point": "one row by its number",
    "range": "20 rows by a range of numbers",
    "prefix": "20 rows by how their codes begin",
}
"""Lookups that are raced without an index too."""

LOOKUPS = {
    **SCANS,
    "in": "20 rows by a list of numbers",
    "wide_range": "2 % of the rows by a range of numbers",
}
INDEXED = {"number": "distinct numbers", "owner": "repeated numbers", "code": "distinct texts"}
"""Columns, and what they hold."""

SORTS = {"number": "number DESC", "code": "code"}

_WHAT = {KEYS: "Only which rows.", ROWS: "With all columns of the rows."}
_EACH = "For another value each time. "


def indexed(lookup: str, what: str) -> str:
    return f"{lookup}_{what}"


def scanned(lookup: str, what: str) -> str:
    return f"scan_{lookup}_{what}"


def build(column: str) -> str:
    return f"build_{column}"


def sort(column: str) -> str:
    return f"sort_{column}"


def _title(lookup: str) -> str:
    return lookup.replace("_", " ").capitalize()


def _scan(name: str, what: str) -> Operation:
    return Operation(
        scanned(name, what),
        f"{_title(name)}, no index, {what}",
        f"finds {SCANS[name]} among {{rows}} without an index ({what})",
        f"{_EACH}No index there is. {_WHAT[what]}",
    )


def _lookup(name: str, what: str) -> Operation:
    return Operation(
        indexed(name, what),
        f"{_title(name)}, {what}",
        f"finds {LOOKUPS[name]} among {{rows}} by an index ({what})",
        f"{_EACH}By an index on the column. {_WHAT[what]}",
    )


def _build(column: str) -> Operation:
    return Operation(
        build(column),
        f"Build, {INDEXED[column]}",
        f"indexes {{rows}} by {INDEXED[column]}",
        "Make an index that was dropped before, untimed. Lamella and SQLite wait for no disk: Lamella makes "
        "anew what a crash damaged.",
        resizes=True,
    )


def _sort(column: str) -> Operation:
    return Operation(
        sort(column),
        f"Sort by {column}, first {ALIKE}",
        f"sorts {{rows}} by {column} for the first {ALIKE}",
        f"The first {ALIKE} rows in the order of an indexed column, all columns.",
    )


NEXT = "next_rows"

_NEXT = Operation(
    NEXT,
    f"{ALIKE} rows from a number on",
    f"sorts {{rows}} behind a number for the next {ALIKE}",
    f"{_EACH}The next {ALIKE} rows behind a number, in its order, all columns.",
)

_OPERATIONS = (
    *(_scan(name, what) for what in (ROWS, KEYS) for name in SCANS),
    *map(_build, INDEXED),
    *(_lookup(name, what) for what in (KEYS, ROWS) for name in LOOKUPS),
    *map(_sort, SORTS),
    _NEXT,
)

ENTITY_INDEXES = Workload(
    id="entity-indexes",
    title="Indexes",
    about="Items looked up by numbers, owners and codes: first without an index, then each index built, then "
    "by them. Keys alone and whole rows are told apart.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(10_000, 100_000),
    default_repeats=5,
    opens_inside=False,
    family="entity-indexes",
    small_rows=(1_000,),
    published_rows=(10_000, 100_000),
)
