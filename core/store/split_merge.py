"""Splits one column of text into several, and merges several columns into one of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.arrow.arrays import combine_chunks, from_values, take, to_numpy
from lamella.core.arrow.types import ID
from lamella.core.errors import BadData, TypeConflict, short_text
from lamella.core.filters.kinds import NESTED_KINDS, Kind, kind_of
from lamella.core.filters.predicate_values import regex_problem
from lamella.core.jobs import Job
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Column
from lamella.core.store.cells import CellChanges
from lamella.core.store.column_changes import TakeIds, columns_named, refuse_names
from lamella.core.store.commit import Change
from lamella.core.store.table_version import TableVersion
from lamella.core.validation import names_of, text_of

ROWS_AT_ONCE = 250_000
MOST_PARTS = 100
Make = Callable[[Mapping[str, pa.Array]], list[pa.Array]]


@dataclass(frozen=True)
class Split:
    """Splits `column` at each `by` into the columns `into`; the last of them gets the rest. With `regex`,
    `by` is a regular expression of RE2. Parts that a text lacks are null."""

    column: str
    into: Sequence[str]
    by: str = " "
    regex: bool = False
    keep: bool = True

    @property
    def sources(self) -> list[str]:
        return [self.column]

    @property
    def message(self) -> str:
        return f"split {self.column} into {', '.join(self.into)}"

    def refuse(self, table: str, types: Mapping[str, pa.DataType]) -> None:
        kind = types[self.column]
        if kind_of(kind) is not Kind.TEXT:
            raise TypeConflict(
                f"{table}: column '{self.column}' is {kind}",
                "Only text can be split",
                "Cast it to string first",
            )
        names = names_of(self.into, f"{table}: into")
        if not 2 <= len(names) <= MOST_PARTS:
            raise BadData(
                f"{table}: {len(names)} names were given for the parts of '{self.column}'",
                fix=f"Give 2 to {MOST_PARTS}: one for each part",
            )
        if not text_of(self.by, f"{table}: by"):
            raise BadData(f"{table}: '{self.column}' needs a separator to split at", fix="Give by=', '")
        try:
            everywhere = pc.match_substring_regex(from_values([""], pa.string()), pattern=self.pattern)[
                0
            ].as_py()
        except pa.ArrowInvalid as error:
            raise BadData(
                f"{table}: the pattern {short_text(self.by)} is invalid",
                regex_problem(str(error), self.by),
                "Put a backslash before a special character to match it literally",
            ) from error
        if everywhere:
            raise BadData(
                f"{table}: the pattern {short_text(self.by)} matches empty text",
                fix="Make it match at least one character",
            )

    @property
    def pattern(self) -> str:
        return self.by if self.regex else re.escape(self.by)

    def make(self, columns: Mapping[str, pa.Array]) -> list[pa.Array]:
        texts = columns[self.column].cast(pa.string())
        parts = pc.split_pattern_regex(texts, pattern=self.pattern, max_splits=len(self.into) - 1)
        return [_items(parts, place) for place in range(len(self.into))]


@dataclass(frozen=True)
class Merge:
    """Merges the values of `columns` into one text `into`, with `between` between them. Nulls are left out;
    only nulls give null."""

    columns: Sequence[str]
    into: str
    between: str = " "
    keep: bool = True

    @property
    def sources(self) -> list[str]:
        return list(self.columns)

    @property
    def message(self) -> str:
        return f"merge {', '.join(self.columns)} into {self.into}"

    def refuse(self, table: str, types: Mapping[str, pa.DataType]) -> None:
        if len(self.columns) < 2:
            raise BadData(f"{table}: merging takes two columns or more", fix="Name them in order")
        text_of(self.between, f"{table}: between")
        text_of(self.into, f"{table}: into")
        for name in self.columns:
            kind = types[name]
            if kind_of(kind) in (*NESTED_KINDS, Kind.BINARY, Kind.OTHER):
                raise TypeConflict(
                    f"{table}: column '{name}' is {kind}",
                    "Its values cannot be written as text",
                    "Leave it out, or name a field of it with $compute first",
                )

    def make(self, columns: Mapping[str, pa.Array]) -> list[pa.Array]:
        texts = [_text(columns[name]) for name in self.columns]
        between = from_values([self.between], pa.string())[0]
        some = reduce(pc.or_, [text.is_valid() for text in texts])
        # pyarrow 26 leaves out rows that have only nulls
        texts[0] = pc.if_else(some, texts[0], from_values([""], pa.string())[0])
        joined = pc.binary_join_element_wise(*texts, between, null_handling="skip")
        return [pc.if_else(some, joined, pa.nulls(1, joined.type)[0])]


def _items(lists: pa.Array, place: int) -> pa.Array:
    """The item of each list at an index; null if there is none."""
    items = pc.list_slice(lists, place, place + 1, return_fixed_size_list=False)
    lengths = pc.list_value_length(items)
    has = to_numpy(lengths.is_valid()) & (to_numpy(lengths) > 0)
    flat = pc.list_flatten(items)
    places = np.where(has, np.cumsum(has) - 1, len(flat))
    return take(pa.concat_arrays([flat, pa.nulls(1, flat.type)]), places)


def _text(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    if pa.types.is_timestamp(values.type):  # 2024-01-02 03:04:00.000000
        texts = pc.replace_substring_regex(texts, pattern=r"\.0+(Z?)$", replacement=r"\1")
    return texts


def column_change(
    state: TableVersion, act: Split | Merge, ids: np.ndarray, take_ids: TakeIds, job: Job, message: str
) -> Change:
    """Add the new columns behind the last of their sources, filled in the rows of `ids` (ascending); without
    `keep` drop the sources."""
    sources, names = check_act(state, act)
    refuse_loss(state, act, len(ids))
    parts = list(compute_columns(state, act, ids, job))
    first = take_ids(len(names))
    new_columns = [Column(name, pa.string(), first + n) for n, name in enumerate(names)]
    place = max(state.columns.index(column) for column in sources) + 1
    columns = [*state.columns[:place], *new_columns, *state.columns[place:]]
    metadata = None
    if not act.keep:
        gone = {column.key for column in sources}
        columns = [column for column in columns if column.key not in gone]
        metadata = {key: value for key, value in state.metadata.items() if key[0] not in gone}
    change = Change(message or act.message, tuple(columns), metadata)
    if not len(ids):
        return change
    values = {c.key: pa.concat_arrays([part[n] for part in parts]) for n, c in enumerate(new_columns)}
    return replace(change, cells=CellChanges(ids, values))


def refuse_loss(state: TableVersion, act: Split | Merge, rows: int) -> None:
    """Raise `BadData` if the sources would be dropped although only some rows were selected."""
    if not act.keep and rows < state.snapshot.num_rows:
        raise BadData(
            f"{state.snapshot.name}: {act.message} would lose the values of the other rows",
            "The columns would be dropped, but only some rows are selected",
            "Keep the columns, or select all rows",
        )


def check_act(state: TableVersion, act: Split | Merge) -> tuple[list[Column], list[str]]:
    """The columns that an act reads, and the names of those that it adds. Raises `UnknownColumn`,
    `TypeConflict` and `BadData`."""
    table = state.snapshot.name
    sources = columns_named(state, act.sources)
    act.refuse(table, {c.name: c.type for c in state.columns})
    names = list(act.into) if isinstance(act, Split) else [act.into]
    stay = [c.name for c in state.columns if act.keep or c not in sources]
    refuse_names(table, stay, names)
    return sources, names


def compute_columns(
    state: TableVersion, act: Split | Merge, ids: np.ndarray, job: Job
) -> Iterator[list[pa.Array]]:
    """Compute the new columns for the rows of `ids` (ascending), in batches of `ROWS_AT_ONCE` rows."""
    columns = [c for c in state.columns if c.name in act.sources and c.name != ID]
    for start in range(0, len(ids), ROWS_AT_ONCE):
        job.report(start, len(ids), "rows")
        some = ids[start : start + ROWS_AT_ONCE]
        rows = take_rows(state.snapshot, state.locate(some), columns)
        yield act.make({name: combine_chunks(rows.column(name)) for name in rows.column_names})
