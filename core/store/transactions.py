"""Changes of several tables that happen together or not at all, and are undone together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lamella.core.errors import StoreProblem
from lamella.core.store.catalog import Catalog
from lamella.core.store.commit import Commit
from lamella.core.store.layout import Layout
from lamella.core.store.together import TakenBack, Together

if TYPE_CHECKING:
    from lamella.core.store.table_history import TableHistory


@contextmanager
def committed_together(
    catalog: Catalog, layout: Layout, message: str, taken_back: TakenBack
) -> Iterator[Together]:
    """What the calling thread commits in the block. Files are withdrawn unless the catalog names them."""
    with layout.stage_together() as staging:
        try:
            with catalog.together(message, taken_back) as together:
                yield together
        except BaseException:
            staging.withdraw(besides=catalog.known_paths())
            raise


def step_together(kind: str, tables: Sequence[TableHistory], asked: TableHistory, number: int) -> Commit:
    """Undo or redo a transaction on all of its tables, inside one; the commit of the table that was asked.

    Raises `StoreProblem` naming the table that does not let it happen, and nothing changes.
    """
    if asked not in tables:
        raise StoreProblem(
            f"{asked.name}: its change was made together with other tables, and is {_DONE[kind]} with them",
            "one of those tables was dropped, or its versions have expired",
            "Restore a version of this table instead",
        )
    for table in tables:
        _check(kind, table, number)
    return {table: table.step(kind) for table in tables}[asked]


def _check(kind: str, table: TableHistory, number: int) -> None:
    newest = table.newest_change() if kind == "undo" else table.redoable()
    if newest is None or newest.transaction_id != number:
        raise StoreProblem(
            f"{table.name}: it changed since the transaction that is to be {_DONE[kind]}",
            f"That transaction changed {table.name} too, and is {_DONE[kind]} on all of its tables or none",
            f"Undo the later changes of {table.name} first, or restore a version of each table",
        )
    if kind == "undo" and table.undoable() is None:
        raise StoreProblem(
            f"{table.name}: there is no version of it to go back to",
            "its earlier versions have expired",
            "Restore a version of each of the other tables instead",
        )


_DONE = {"undo": "undone", "redo": "redone"}
