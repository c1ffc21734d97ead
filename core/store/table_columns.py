"""Changing the columns of a table: each call is one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from lamella.core.arrow.types import TypeName, stored_type, type_named, type_of
from lamella.core.errors import BadData, shown
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import Column
from lamella.core.store import columns as columns_change
from lamella.core.store import columns as metadata
from lamella.core.store.columns import Values
from lamella.core.store.commit import Change, Commit
from lamella.core.store.evolution import Cast
from lamella.core.store.table_indexes import follow
from lamella.core.store.table_rows import TableHandle
from lamella.core.store.table_version import State
from lamella.core.validation import names_of, text_of


class TableColumns(TableHandle):
    """Columns have permanent ids, so that renaming, dropping and reordering touch the catalog alone.

    Each method raises `UnknownColumn`, and `BadData` for a name that is empty, taken or the table's own;
    nothing changes then.
    """

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types, with the metadata of the table and of each column."""
        return metadata.with_metadata(self._reader.current())

    @property
    def metadata(self) -> dict[str, str]:
        """What is noted about the table. Bytes that are not UTF-8 are escaped as in file names."""
        return metadata.of_column(self._reader.current(), None)

    def column_metadata(self, column: str) -> dict[str, str]:
        """What is noted about a column; raises `UnknownColumn`."""
        return metadata.of_column(self._reader.current(), column)

    def set_metadata(self, values: Values, column: str | None = None, message: str = "") -> Commit:
        """Note these values about the table or a column, beside what is noted already; None forgets one.

        Keys and values are text (or bytes); raises `BadData` for others.
        """
        metadata.refuse_other_than_text(self.name, values)
        if column is not None:
            text_of(column, f"{self.name}: the column")
        said = message or f"metadata of {column or 'the table'}: {', '.join(map(_shown, values))}"
        return self._writer.commit(lambda state: metadata.changed(state, column, values, said), Job())

    def add_column(
        self,
        name: str,
        type: TypeName | None = None,
        default: Any = None,
        after: str | None = None,
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """A new column, last or behind the column `after`; `default` fills the rows that are there.

        The type may be Arrow's, its name, or a Python type, and is that of `default` when left out. Without a
        default it takes no time, however many rows there are.
        """
        text_of(name, f"{self.name}: the column name")
        if type is None and default is None:
            raise BadData(f"{self.name}: column '{name}' needs a type", fix="Give one, or a default")
        kind = stored_type(type_of(default) if type is None else type_named(type))
        work = job or Job()

        def build(state: State) -> Change:
            columns_change.refuse_names(self.name, [c.name for c in state.columns], [name])
            column = Column(name, kind, self._writer.take_column_ids(1))
            return columns_change.added(state, column, default, after, work, message or f"add {name}")

        return self._writer.commit(build, work)

    def drop_column(self, *names: str, message: str = "") -> Commit:
        """Take columns away, named one after the other or in a list; their values come back with undo.

        The last one may go: rows keep their `_id`.
        """
        listed = names[0] if len(names) == 1 else names
        gone = names_of(listed, f"{self.name}: drop_column")
        said = message or f"drop {', '.join(gone)}"
        return self._writer.commit(lambda state: columns_change.dropped(state, gone, said), Job())

    def rename_column(self, old: str, new: str, message: str = "") -> Commit:
        """Give a column another name; no data is written."""
        return self.rename_columns({text_of(old, f"{self.name}: the column"): new}, message)

    def rename_columns(self, names: Mapping[str, str], message: str = "") -> Commit:
        """Several at once, `{old: new}`: two columns can swap their names."""
        if not isinstance(names, Mapping):
            raise BadData(
                f"{self.name}: rename_columns takes a dict, not {shown(names)}",
                fix="Give {old: new}",
            )
        for name in names.values():
            text_of(name, f"{self.name}: the column name")
        said = message or "rename " + ", ".join(f"{old} to {new}" for old, new in names.items())
        return self._writer.commit(lambda state: columns_change.renamed(state, names, said), Job())

    def reorder_columns(self, names: Sequence[str], message: str = "") -> Commit:
        """These columns first, in this order, and the others behind them."""
        first = names_of(names, f"{self.name}: reorder_columns")
        said = message or f"order {', '.join(first)}"
        return self._writer.commit(lambda state: columns_change.reordered(state, first, said), Job())

    def cast_column(
        self,
        name: str,
        type: TypeName,
        lossy: bool = False,
        on_error: Literal["refuse", "null"] = "refuse",
        message: str = "",
        job: Job | None = None,
    ) -> Commit:
        """The column's values as another type; text is read as what it says.

        Refused with `BadData` naming the first value that would be lost. `lossy` cuts what is too fine for
        the type instead: 1.7 as int64 becomes 1, a time its day; 300 as int8 and NaN as int64 are refused all
        the same. `on_error="null"` makes null of what does not fit. A time without a zone is taken for the
        wall clock's in the zone of the type. Widening takes no time, however many rows there are.
        """
        if on_error not in ("refuse", "null"):
            raise BadData(f"on_error cannot be {shown(on_error)}", fix="Give 'refuse' or 'null'")
        text_of(name, f"{self.name}: the column name")
        how, work = Cast(type_named(type), lossy, on_error == "null"), job or Job()
        said = message or f"cast {name} to {how.to}"

        def build(state: State) -> Change:
            take_ids = self._writer.take_column_ids
            return columns_change.cast(state, name, how, take_ids, work, said)

        before = self._reader.current()
        done = self._writer.commit(build, work)
        if follow(self.store.catalog, before, self._reader.current()):
            self._writer.upkeep.index_new_files(work)
        return done


def _shown(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode(errors="replace")
