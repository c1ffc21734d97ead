"""A result of a console: a grid like any other, with its own line of steps."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from PySide6.QtCore import Signal

from lamella.core.datasets.sql_result import SqlResult
from lamella.core.phrases import duration_text
from lamella.core.query.sql.rows_read import row_groups_text
from lamella.ui.tasks import Tasks
from lamella.ui.window.commits import Commits
from lamella.ui.window.dataset_tab import DatasetTab

_numbers = count(1)
MOST_TABLES = 3


class ResultTab(DatasetTab):
    """`table_requested` is emitted to save its rows as a table of a store. `statement` is the one it results
    from."""

    table_requested = Signal()

    def __init__(
        self,
        result: SqlResult,
        statement: str,
        tasks: Tasks,
        commits: Commits,
        saved_views: Path,
    ) -> None:
        self.statement = statement
        self.seconds: float | None = None
        """How long the statement took; None until it has ended, and if it was stopped."""
        self.result = result
        key = (f"sql {next(_numbers)}", result.name)
        super().__init__(result, key, tasks, commits, saved_views)
        bar = self.steps.bar
        bar.show_icon("sql")
        bar.save_look = ("Make a table", "table")
        bar.save.setToolTip("Save the rows and columns that are shown as a table of a store")
        bar.save.setText("Make a table")
        bar.save_requested.disconnect(self.line_actions.ask_name)
        bar.save_requested.connect(self.table_requested)

    @property
    def status(self) -> str:
        """The status, with the time that the statement took and what it read."""
        status = super().status
        running = self.seconds is None or not self.result.snapshot().complete
        if running or self.line.active or self.charting.is_shown:
            return status
        rows = status.partition(" · ")[0]
        return " · ".join([rows, duration_text(self.seconds or 0.0), *reads_text(self.result)])

    def stop(self) -> None:
        super().stop()
        self.result.close()


def reads_text(result: SqlResult) -> list[str]:
    """A text such as `reads 4 of 19 columns of flights, 2 of 2 of airlines`, and how many of their rows."""
    if not result.reads:
        return []
    first, *more_reads = result.reads
    parts = [f"{first.columns:,} of {first.num_columns:,} columns of {first.name}"]
    parts += [
        f"{table_read.columns:,} of {table_read.num_columns:,} of {table_read.name}"
        for table_read in more_reads[: MOST_TABLES - 1]
    ]
    more = len(result.reads) - MOST_TABLES
    parts += [f"and {more} more"] if more > 0 else []
    return [f"reads {', '.join(parts)}{rows_text(result)}"]


def rows_text(result: SqlResult) -> str:
    """A text such as ` (≈100,000 of 1,000,000 rows, 1 of 10 row groups)`; empty for a statement that was
    stopped."""
    rows_read, total = result.rows_read, sum(table_read.num_rows for table_read in result.reads)
    if rows_read is None:
        return ""
    of_all = "" if rows_read.rows > total else f" of {total:,}"  # a table that is read twice gives more
    return f" ({rows_read}{of_all} rows{row_groups_text(rows_read)})"
