"""Pairs the columns of two datasets, and describes how their schemas differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, UnknownColumn
from lamella.core.query.comparison.cells import comparison_phrase
from lamella.core.scan.snapshot import Column, Snapshot


@dataclass(frozen=True)
class ColumnPair:
    """A column of one side and its counterpart on the other; one of them may be missing."""

    before: Column | None
    after: Column | None

    @property
    def name(self) -> str:
        """The name on the later side, if the column is there."""
        column = self.after or self.before
        assert column is not None
        return column.name

    @property
    def type(self) -> pa.DataType:
        column = self.after or self.before
        assert column is not None
        return column.type

    @property
    def is_common(self) -> bool:
        return self.before is not None and self.after is not None


@dataclass(frozen=True)
class SchemaDifferences:
    """The differences of two schemas, by name. `renamed` has (before, after), `retyped` (name, type before,
    type after)."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[tuple[str, pa.DataType, pa.DataType], ...] = ()
    reordered: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.renamed or self.retyped or self.reordered)

    def sentences(self) -> list[str]:
        """The differences as sentences without full stops, each with only as many names as fit a line."""
        texts = []
        if self.added:
            texts.append(f"{_columns(self.added)} added")
        if self.removed:
            texts.append(f"{_columns(self.removed)} removed")
        texts += [f"column {before} is now {after}" for before, after in self.renamed[:MOST_NAMES]]
        for name, before, after in self.retyped[:MOST_NAMES]:
            how = comparison_phrase(before, after)
            texts.append(f"column {name} was {before} and is {after}{f', compared {how}' if how else ''}")
        more = max(0, len(self.renamed) - MOST_NAMES) + max(0, len(self.retyped) - MOST_NAMES)
        if more:
            texts.append(f"{more:,} more columns have another name or type")
        if self.reordered:
            texts.append("the order of columns differs")
        return texts


MOST_NAMES = 6


def _columns(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"column{'s' if len(names) > 1 else ''} {', '.join(names[:MOST_NAMES])}{more}"


def pair_columns(
    before: Snapshot, after: Snapshot, names: Sequence[str] | None = None
) -> tuple[ColumnPair, ...]:
    """Pair columns by name: those of the later side first, in its order. A table's `_id` is left out, since
    it is not a value of a row. If `names` is given, only these columns are paired.

    Raises `UnknownColumn` for a chosen name that one side lacks, and `BadData` if there is no common column.
    """
    ours = {c.name: c for c in before.columns if not _is_row_id(before, c)}
    theirs = {c.name: c for c in after.columns if not _is_row_id(after, c)}
    for name in names or ():
        for side, columns in ((before, ours), (after, theirs)):
            if name not in columns:
                raise UnknownColumn(name, side.name, list(columns))
    pairs = [ColumnPair(ours.get(name), column) for name, column in theirs.items()]
    pairs += [ColumnPair(column, None) for name, column in ours.items() if name not in theirs]
    if names is not None:
        pairs = [pair for pair in pairs if pair.name in names]
    if not any(pair.is_common for pair in pairs):
        raise no_common_column(before, after)
    return tuple(pairs)


def no_common_column(before: Snapshot, after: Snapshot) -> BadData:
    return BadData(
        f"{before.name} and {after.name} cannot be compared",
        "They have no column name in common",
        "Rename columns of one of them, or choose other datasets",
    )


def schema_differences(pairs: Sequence[ColumnPair], before: Snapshot) -> SchemaDifferences:
    common = [(p.before, p.after) for p in pairs if p.before is not None and p.after is not None]
    order = {column.key: place for place, column in enumerate(before.columns)}
    places = [order[column.key] for column, _ in common]
    return SchemaDifferences(
        added=tuple(p.name for p in pairs if p.before is None),
        removed=tuple(p.name for p in pairs if p.after is None),
        renamed=tuple((b.name, a.name) for b, a in common if b.name != a.name),
        retyped=tuple((a.name, b.type, a.type) for b, a in common if not b.type.equals(a.type)),
        reordered=places != sorted(places),
    )


def _is_row_id(snapshot: Snapshot, column: Column) -> bool:
    return snapshot.ids is not None and column.name == ID and column.key == snapshot.ids.key
