"""Suggests relations between tables, by the names and the values of their columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
import pyarrow as pa

from lamella.core.arrow.arrays import take
from lamella.core.arrow.sorted_ids import distinct
from lamella.core.arrow.types import ID
from lamella.core.filters.kinds import Kind, kind_of
from lamella.core.jobs import Job
from lamella.core.relations.following import Keys, key_rows
from lamella.core.relations.relation import Relation, meeting_type
from lamella.core.scan.read import live_positions, take_rows
from lamella.core.scan.snapshot import Column, Snapshot

ALMOST = 0.85
"""Names at least this similar may be two spellings of the same word."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_KEY_WORDS = {"id", "key", "code", "no", "nr", "num", "number", "uuid", "guid", "fk", "ref", "pk", "oid"}
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "indices": "index"}


def likeness(column: str, table: str, target: str, within: bool = False) -> tuple[float, str]:
    """Return how likely the names make it that `column` points at the column `target` of `table`, from 0 to
    1, and the reason in words.

    `customer_id` is like `customers.id`, `carrier` like `airlines.carrier`; two columns called `id` mean
    nothing. `within` says that `column` is in `table` too, where a column named after it is its own key.
    """
    words, theirs, table_words = _words(column), _words(target), _words(table)
    about, of_target = _without_key_words(words), _without_key_words(theirs)
    if words == theirs and about:
        return 1.0, f"both columns are called '{column}'"
    if about and about == table_words:
        if within:
            return 0.0, ""
        score = 1.0 if not of_target or of_target == table_words else 0.8
        return score, f"'{column}' names the table {table}"
    if not about or not table_words:
        return 0.0, ""
    if about[-len(table_words) :] == table_words and not of_target:
        return 0.8, f"'{column}' ends in the name of the table {table}"
    if about == of_target or about == table_words + of_target:
        return 0.9, f"'{column}' is called like {table}.{target}"
    ratio = difflib.SequenceMatcher(None, "".join(about), "".join(of_target or table_words)).ratio()
    return (
        (0.8 * ratio, f"'{column}' is almost called like {table}.{target}") if ratio >= ALMOST else (0.0, "")
    )


def _words(name: str) -> list[str]:
    return [_singular(word.casefold()) for word in _WORDS.findall(name)]


def _without_key_words(words: list[str]) -> list[str]:
    return [word for word in words if word not in _KEY_WORDS]


def _singular(word: str) -> str:
    """Return the singular of an English word: most table names are English."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")


SAMPLE_ROWS = 10_000
LARGEST_ROWS = 2_000_000
"""Keys of several columns are looked for in tables of up to this many rows."""
LEAST_SHARE, LEAST_SCORE = 0.5, 0.5
ALMOST_UNIQUE = 0.99
FEWEST_VALUES = 3
"""When at least this many different texts all occur in another column, it is not by chance; with numbers and
dates it may be."""

_POINTING = {Kind.INTEGER, Kind.FLOAT, Kind.TEXT, Kind.BINARY, Kind.DATE, Kind.TIMESTAMP, Kind.OTHER}
_TARGET_KINDS = _POINTING - {Kind.FLOAT}
_SPEAKING = {Kind.TEXT, Kind.BINARY, Kind.OTHER}


@dataclass(frozen=True)
class Suggestion:
    """A relation that is not declared yet. `score` is from 0 to 1, and `reasons` say what it is based on.

    `share` is the proportion of the different keys in a sample that the other table has, from 0 to 1.
    `store.relations.declare(*suggestion.endpoints)` declares it.
    """

    from_table: str
    from_columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    score: float
    share: float
    reasons: tuple[str, ...]

    @property
    def endpoints(self) -> tuple[list[str], list[str]]:
        return (
            [f"{self.from_table}.{name}" for name in self.from_columns],
            [f"{self.to_table}.{name}" for name in self.to_columns],
        )

    def __str__(self) -> str:
        source, target = (", ".join(end) for end in self.endpoints)
        return f"{source} → {target} ({self.score:.0%}: {'; '.join(self.reasons)})"


def suggestions(
    snapshots: Sequence[Snapshot], declared: Collection[Relation], job: Job
) -> tuple[Suggestion, ...]:  # fmt: skip
    """Return suggestions, most likely first, without relations already declared in either direction."""
    looked = [ScannedTable(snapshot, job) for snapshot in snapshots]
    declared_keys = {_both_ways(r.from_table, r.from_columns, r.to_table, r.to_columns) for r in declared}
    candidates: list[Suggestion] = []
    for number, (source, target) in enumerate(_pairs(looked)):
        job.report(number, len(looked) ** 2, f"{source.name} and {target.name}")
        single = _best_by_column(_of_one_column(source, target))
        candidates += single or _best_by_column(_of_several(source, target))
    best: dict[frozenset[tuple[str, tuple[str, ...]]], Suggestion] = {}
    for each in sorted(candidates, key=lambda s: (-s.score, s.endpoints)):
        sides = _both_ways(each.from_table, each.from_columns, each.to_table, each.to_columns)
        if sides not in declared_keys:
            best.setdefault(sides, each)
    return tuple(best.values())


class ScannedTable:
    """A table and the findings about its columns."""

    def __init__(self, snapshot: Snapshot, job: Job) -> None:
        self.snapshot, self.name, self._job = snapshot, snapshot.name, job

    @cached_property
    def pointing(self) -> list[Column]:
        return [c for c in self.snapshot.columns if c.name != ID and kind_of(c.type) in _POINTING]

    @cached_property
    def unique(self) -> list[Column]:
        """The columns in which no value occurs twice, ignoring nulls."""
        able = [
            c
            for c in self.snapshot.columns
            if kind_of(c.type) in _TARGET_KINDS and not pa.types.is_nested(c.type)
        ]
        return [column for column in able if column.name == ID or self._all_differ(column)]

    @cached_property
    def sample(self) -> pa.Table:
        """A sample of rows from the whole table."""
        rows = self.snapshot.num_rows
        live = distinct(np.linspace(0, rows - 1, min(rows, SAMPLE_ROWS)).astype(np.int64))
        columns = [c for c in self.pointing if not pa.types.is_nested(c.type)]
        return take_rows(self.snapshot, live_positions(self.snapshot, live), columns)

    def sample_columns(self, columns: Sequence[Column]) -> list[pa.ChunkedArray]:
        return [self.sample[column.name] for column in columns]

    def rows(self, columns: Sequence[Column]) -> Iterator[pa.Table]:
        return (rows for _, rows in key_rows(self.snapshot, columns, self._job))

    def how_unique(self, columns: Sequence[Column]) -> float:
        """Return the number of different keys divided by the number of rows that have one."""
        table = pa.concat_tables(self.rows(columns))
        first = Keys(table.columns, columns).first
        present = first[first >= 0]
        return len(distinct(present)) / len(present) if len(present) else 0.0

    def _all_differ(self, column: Column) -> bool:
        sampled = self.sample_columns([column])
        first = Keys(sampled, [column]).first
        if (first >= 0).sum() == 0 or len(distinct(first[first >= 0])) < (first >= 0).sum():
            return False
        return self.how_unique([column]) == 1.0


def _pairs(looked: Sequence[ScannedTable]) -> Iterator[tuple[ScannedTable, ScannedTable]]:
    """Yield all pairs of tables that have rows, including each table with itself."""
    filled = [table for table in looked if table.snapshot.num_rows]
    yield from ((table, table) for table in filled)
    yield from permutations(filled, 2)


def _best_by_column(suggestions: Iterable[Suggestion]) -> list[Suggestion]:
    """Keep the best suggestion of each column for each table, preferring the user's own key to `_id`."""
    best: dict[tuple[str, ...], Suggestion] = {}
    for each in sorted(suggestions, key=lambda s: (-s.score, s.to_columns == (ID,))):
        if each.score >= LEAST_SCORE:
            best.setdefault(each.from_columns, each)
    return list(best.values())


def _of_one_column(source: ScannedTable, far: ScannedTable) -> Iterator[Suggestion]:
    for column in source.pointing:
        for target in far.unique:
            if pa.types.is_nested(column.type) or (source is far and column.name == target.name):
                continue
            if meeting_type(column.type, target.type) is None:
                continue
            name_score, reason = likeness(column.name, far.name, target.name, within=source is far)
            speaking = kind_of(target.type) in _SPEAKING
            if name_score < LEAST_SCORE and not speaking:
                continue
            share, count = _overlap(source, [column], far, [target])
            if share < LEAST_SHARE or (name_score < LEAST_SCORE and count < FEWEST_VALUES):
                continue
            score = share * (0.7 + 0.3 * name_score if speaking else name_score)
            yield _suggestion(
                source, [column], far, [target], score, share, count, [reason] if name_score else []
            )


def _of_several(source: ScannedTable, target: ScannedTable) -> Iterator[Suggestion]:
    """Yield a suggestion for columns that both tables have and that only together identify rows of
    `target`."""
    theirs = {c.name: c for c in target.pointing if kind_of(c.type) in _TARGET_KINDS}
    shared = [
        (c, theirs[c.name])
        for c in source.pointing
        if c.name in theirs
        and not pa.types.is_nested(c.type)
        and meeting_type(c.type, theirs[c.name].type) is not None
    ]
    if source is target or len(shared) < 2 or target.snapshot.num_rows > LARGEST_ROWS:
        return
    key = _identifying_columns(target, [identifying for _, identifying in shared])
    columns = [column for column, identifying in shared if identifying in key]
    if len(key) > 1:
        share, count = _overlap(source, columns, target, key)
        if share >= LEAST_SHARE:
            reason = f"the columns {', '.join(c.name for c in key)} are in both tables"
            yield _suggestion(source, columns, target, key, 0.9 * share, share, count, [reason])


def _identifying_columns(table: ScannedTable, columns: list[Column]) -> list[Column]:
    """Return as few of the columns as identify nearly all rows; none if even all together do not."""
    if table.how_unique(columns) < ALMOST_UNIQUE:
        return []
    sampled = {c: len(distinct(Keys(table.sample_columns([c]), [c]).first)) for c in columns}
    for column in sorted(columns, key=lambda c: sampled[c]):
        fewer = [c for c in columns if c is not column]
        if fewer and table.how_unique(fewer) >= ALMOST_UNIQUE:
            columns = fewer
    return columns


def _overlap(
    source: ScannedTable, columns: Sequence[Column], target: ScannedTable, targets: Sequence[Column]
) -> tuple[float, int]:  # fmt: skip
    """Return the share of the different keys in the sample of `source` that `target` has, and how many."""
    sampled = source.sample_columns(columns)
    first = Keys(sampled, targets).first
    different = distinct(first[first >= 0])
    if not len(different):
        return 0.0, 0
    keys = Keys([take(values, different) for values in sampled], targets)
    found_ids = np.zeros(len(different), bool)
    for rows in target.rows(targets):
        found_ids[keys.match(rows.columns)[1]] = True
    return float(found_ids.mean()), len(different)


def _suggestion(
    source: ScannedTable, columns: Sequence[Column], target: ScannedTable, targets: Sequence[Column],
    score: float, share: float, count: int, reasons: Sequence[str],
) -> Suggestion:  # fmt: skip
    """Build a suggestion. Its text never rounds a share up to "all"."""
    share_text = "all" if share == 1.0 else f"{min(share, 0.999):.1%}"
    overlap = f"{share_text} of {count:,} different values are there"
    from_columns, to_columns = (tuple(c.name for c in cs) for cs in (columns, targets))
    return Suggestion(source.name, from_columns, target.name, to_columns, score, share, (*reasons, overlap))


def _both_ways(
    table: str, columns: tuple[str, ...], target: str, target_columns: tuple[str, ...]
) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset([(table, columns), (target, target_columns)])
