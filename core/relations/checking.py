"""Checks whether the rows that a relation points at exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take, to_numpy
from lamella.core.arrow.nested_values import python_values
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.jobs import Job
from lamella.core.relations.following import Keys, key_rows, valid_rows
from lamella.core.relations.relation import Relation
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column, Snapshot
from lamella.core.scan.take import KeyCodes

EXAMPLES = 5


@dataclass(frozen=True)
class Dangling:
    """A row that points at nothing: its `_id` and its key."""

    row_id: int
    key: tuple[Any, ...]


@dataclass(frozen=True)
class RelationCheck:
    """The result of checking a relation.

    `rows` counts the rows of the pointing table: `unset` of them have a null in their key, and `dangling`
    have a key that no row of the other table has; `examples` are rows with different dangling keys.
    `repeated` rows of the other table have the key of an earlier row, so that one row points at several;
    `shared` rows point at a row that an earlier row points at. All counts are 0 if the relation has a
    problem."""

    relation: Relation
    rows: int = 0
    unset: int = 0
    dangling: int = 0
    repeated: int = 0
    shared: int = 0
    examples: tuple[Dangling, ...] = ()

    @property
    def cardinality(self) -> tuple[str, str]:
        """How many rows of each end belong together, "1" or "n": ("n", "1") where many rows point at one."""
        return ("n" if self.shared else "1"), ("n" if self.repeated else "1")

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems as sentences; empty if there are none. Null and repeated keys are not problems."""
        relation = self.relation
        if relation.problem:
            return (f"{relation.name}: {relation.problem}",)
        if not self.dangling:
            return ()
        examples_text = ", ".join(f"{_key_text(each.key)} (_id {each.row_id})" for each in self.examples)
        return (
            f"{relation.name}: {self.dangling:,} of {self.rows:,} rows of {relation.from_table} point at"
            f" nothing in {relation.to_table}, such as {examples_text}",
        )

    def __str__(self) -> str:
        if self.problems:
            return self.problems[0]
        notes = [f"rows without a key: {self.unset:,}"] if self.unset else []
        notes += [f"repeated keys in {self.relation.to_table}: {self.repeated:,}"] if self.repeated else []
        text = f"{self.relation.name}: {self.rows:,} rows of {self.relation.from_table}, all is well"
        return "; ".join([text, *notes])


def check(relation: Relation, source: Snapshot, target: Snapshot, job: Job) -> RelationCheck:
    """Read every row of both tables. The keys of the table that is pointed at are kept in memory."""
    if relation.problem:
        return RelationCheck(relation)
    columns, target_columns = source.select(relation.from_columns), target.select(relation.to_columns)
    keys = Keys(_all_values(target, target_columns, job), columns)
    set_keys = keys.first[keys.first >= 0]
    repeated = len(set_keys) - len(distinct(set_keys))
    check = RelationCheck(relation, repeated=repeated)
    pointed_at = np.zeros(len(keys.first), bool)
    for _, rows in key_rows(source, [*columns, ID_COLUMN], job):
        check = _with(check, keys, rows, pointed_at)
        job.report(check.rows, source.num_rows, f"{relation.name}: {check.rows:,} rows checked")
    return check


def _with(so_far: RelationCheck, keys: Keys, rows: pa.Table, pointed_at: np.ndarray) -> RelationCheck:
    """Return the counts with `rows` added. `pointed_at` marks the keys met so far and is updated."""
    *values, ids = rows.columns
    valid = valid_rows(values)
    matching, numbers = keys.match(values)
    valid[matching] = False
    different = distinct(numbers)
    new = int((~pointed_at[different]).sum())
    pointed_at[different] = True
    dangling = np.flatnonzero(valid)
    unset = rows.num_rows - int(valid_rows(values).sum())
    return replace(
        so_far,
        rows=so_far.rows + rows.num_rows,
        unset=so_far.unset + unset,
        dangling=so_far.dangling + len(dangling),
        shared=so_far.shared + len(matching) - new,
        examples=_examples(values, to_numpy(ids), dangling, so_far.examples),
    )


def _examples(
    values: Sequence[pa.ChunkedArray],
    ids: np.ndarray,
    dangling_rows: np.ndarray,
    first_examples: tuple[Dangling, ...],
) -> tuple[Dangling, ...]:
    """Return the known examples and rows with further keys, at most `EXAMPLES` in all."""
    if len(first_examples) == EXAMPLES or not len(dangling_rows):
        return first_examples
    first = KeyCodes([take(column, dangling_rows) for column in values]).first
    rows = dangling_rows[np.flatnonzero(first == np.arange(len(first)))[: EXAMPLES + len(first_examples)]]
    keys = zip(*(python_values(take(column, rows)) for column in values), strict=True)
    known_keys = {each.key for each in first_examples}
    examples = [
        Dangling(int(i), key) for i, key in zip(ids[rows], keys, strict=True) if key not in known_keys
    ]
    return (*first_examples, *examples)[:EXAMPLES]


def _all_values(snapshot: Snapshot, columns: Sequence[Column], job: Job) -> list[pa.ChunkedArray]:
    parts = [rows for _, rows in key_rows(snapshot, columns, job)]
    empty = pa.Table.from_batches([], pa.schema([pa.field(c.name, c.type) for c in columns]))
    return list(pa.concat_tables([empty, *parts]).columns)


def _key_text(key: tuple[Any, ...]) -> str:
    return repr(key[0]) if len(key) == 1 else repr(key)
