"""Changing the columns of a table: each call is one commit."""

from __future__ import annotations

from core.store.handle import TableHandle


class TableColumns(TableHandle):
    """Columns have permanent ids, so that renaming, dropping and reordering touch the catalog alone."""
