"""What stands beside the groups of a query: the aggregates of all rows, and the groups by the first keys,
under which the others are arranged as a tree.

Each level is a query of its own. GROUPING SETS compute all levels in one pass, but the groups by all keys are
there before anybody wants the others, and these took half of the time or less as queries of their own: of 10
million rows 0.05 s against 0.10 s for counts and means, 0.6 s against 2.1 s for distinct counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

import numpy as np
import pyarrow as pa

from lamella.core.errors import BadQuery
from lamella.core.jobs import Job
from lamella.core.query.expressions import columns_in
from lamella.core.query.scan_query import ScanQuery, as_scan
from lamella.core.query.steps import Aggregate, Compute, Group, Pipeline, Select, Step
from lamella.core.query.view import View
from lamella.core.scan.snapshot import Snapshot, SortKey, snapshot_of_rows

Read = Callable[[tuple[Step, ...]], pa.Table]
"""Reads the answer of other steps applied to the same rows."""


def shown_group(steps: Sequence[Step]) -> tuple[int, Group] | None:
    """The grouping whose rows the answer has, and its place: further columns may be computed of these, and
    rows then filtered, sorted, limited or shown in part."""
    for place in range(len(steps) - 1, -1, -1):
        group = steps[place]
        if isinstance(group, Group):
            computed = _computed_behind(steps, place)
            names = {name for step in computed for name, _value in step.values}
            later_steps = steps[place + 1 + len(computed) :]
            return (
                (place, group) if names.isdisjoint(group.keys) and as_scan(later_steps) is not None else None
            )
    return None


def _computed_behind(steps: Sequence[Step], place: int) -> list[Compute]:
    """The computed columns that directly follow a step."""
    return list(takewhile(lambda step: isinstance(step, Compute), steps[place + 1 :]))  # type: ignore[arg-type]


def totals_steps(steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """The steps that compute the totals of the grouping in `steps`; None if there is no grouping, or if it
    has no totals."""
    return _level_steps(steps, 0)


def shows_totals(steps: Sequence[Step]) -> bool:
    """Whether to show totals of the groups that the steps give."""
    group = shown_group(steps)
    return group is not None and group[1].totals and totals_steps(steps) is not None


def _level_steps(steps: Sequence[Step], keys: int) -> tuple[Step, ...] | None:
    """The steps that give the groups by the first `keys` keys."""
    place_and_group = shown_group(steps)
    if place_and_group is None or not place_and_group[1].keys or not (keys or place_and_group[1].aggregates):
        return None
    place, group = place_and_group
    above = Group(group.keys[:keys], group.aggregates)
    computed = _computed_above(group, above, _computed_behind(steps, place))
    return None if computed is None else (*steps[:place], above, *computed)


def _computed_above(group: Group, above: Group, computed: Sequence[Compute]) -> list[Step] | None:
    """What can be computed of the groups by the first keys, without the columns that need the other keys;
    None where no column is left."""
    missing = set(group.keys) - set(above.keys)
    names = [*above.keys, *(name for name, _ in above.aggregates)]
    steps: list[Step] = []
    for step in computed:
        above_steps = []
        for name, value in step.values:
            if missing.isdisjoint(columns_in(value)):
                above_steps.append((name, value))
                missing.discard(name)
                names += [name] if name not in names else []
            else:
                missing.add(name)
        steps += [Compute(tuple(above_steps))] if above_steps else []
    present = tuple(name for name in names if name not in missing)
    if len(present) == len(names):
        return steps
    return [*steps, Select(present)] if present else None


def read_totals(pipeline: Pipeline, read_rows: Read) -> pa.Table:
    steps = totals_steps(pipeline.steps)
    if steps is None:
        raise BadQuery(
            f"{pipeline.source}: there are no totals",
            "Totals need groups with aggregates",
            "Call totals() before other steps: group_by('a').agg(n=agg.count()).totals()",
        )
    return read_rows(steps)


def read_subtotals(pipeline: Pipeline, read_rows: Read) -> list[pa.Table]:
    group = shown_group(pipeline.steps)
    if group is None:
        raise BadQuery(
            f"{pipeline.source}: there are no subtotals",
            "Subtotals need groups",
            "Group the rows by several columns: group_by('a', 'b').agg(n=agg.count()).subtotals()",
        )
    return list(_upper_levels(pipeline.steps, len(group[1].keys), read_rows))


def _upper_levels(steps: tuple[Step, ...], keys: int, read_rows: Read) -> Iterator[pa.Table]:
    for count in range(1, keys):
        level = _level_steps(steps, count)
        assert level is not None
        yield read_rows(level)


Places = np.ndarray
"""Indexes of groups in the table of their level, or in the arrangement."""


@dataclass(frozen=True)
class GroupLevels:
    """The groups of a query by its first key, by its first two and so on. Each level is sorted by its keys;
    the last level is the answer. `parents` gives, for each level but the first, the index of each group's
    parent in the level above."""

    keys: tuple[str, ...]
    levels: tuple[Snapshot, ...]
    parents: tuple[Places, ...]

    @classmethod
    def read(cls, steps: tuple[Step, ...], read_rows: Read, answer: Snapshot, job: Job) -> GroupLevels:
        """The steps end in groups, and in what is computed of them, of which `answer` has
        the rows. Blocks."""
        place_and_group, name = shown_group(steps), answer.name
        assert place_and_group is not None
        place, group = place_and_group
        upper = [snapshot_of_rows(level, name) for level in _upper_levels(steps, len(group.keys), read_rows)]
        lowest = answer
        if group.having is not None and upper:
            lowest = snapshot_of_rows(read_rows((*steps[:place], Group(group.keys, group.aggregates))), name)
        parents = [_parents(*pair, group.keys[:count], job)
                   for count, pair in enumerate(pairwise([*upper, lowest]), start=1)]  # fmt: skip
        if group.having is not None and upper:
            met = View(lowest, ScanQuery(where=group.having), job)
            parents[-1] = parents[-1][met.positions(0, met.num_rows)]
        if parents:
            _refuse_unlike(answer.num_rows, len(parents[-1]), answer.name)
        return cls(group.keys, (*upper, answer), tuple(parents))

    def arrange(self, view: View, job: Job) -> Arrangement:
        """The groups that `view` has of the answer, in its order within each group of the level above; these
        are sorted by what they have of its keys."""
        groups = view.positions(0, view.num_rows)
        lines = [groups]
        for parents in reversed(self.parents):
            lines.insert(0, parents[lines[0]])
        ranks = [
            _ranks(level, view.query.sort, job)[line]
            for level, line in zip(self.levels[:-1], lines[:-1], strict=True)
        ]
        order = np.lexsort(ranks[::-1]) if ranks else np.arange(len(groups))
        job.check()
        placed = [line[order] for line in lines]
        firsts = [np.flatnonzero(np.diff(line, prepend=-1)) for line in placed]
        children = tuple(
            np.append(np.searchsorted(below, starts), len(below)) for starts, below in pairwise(firsts)
        )
        arranged = tuple(line[first] for line, first in zip(placed, firsts, strict=True))
        return Arrangement(arranged, children)


@dataclass(frozen=True)
class Arrangement:
    """Groups as a tree: `groups` are those of each level in the order in which they are shown, and those from
    `children[level][n]` to below `children[level][n + 1]` of the next level are in the nth of a level."""

    groups: tuple[Places, ...]
    children: tuple[Places, ...]

    def rows(self, expanded: Sequence[np.ndarray]) -> tuple[np.ndarray, Places]:
        """The level and the group of each row that is shown. `expanded` says of each level but the last, by
        the number of a group in it, which are open."""
        sizes = [np.ones(len(self.groups[-1]), np.int64)]
        before: list[np.ndarray] = []
        opens = [flags[groups] for flags, groups in zip(expanded, self.groups[:-1], strict=True)]
        for is_open, children in zip(reversed(opens), reversed(self.children), strict=True):
            before.insert(0, np.append(0, np.cumsum(sizes[0])))
            inside = before[0][children[1:]] - before[0][children[:-1]]
            sizes.insert(0, 1 + np.where(is_open, inside, 0))
        starts = np.cumsum(sizes[0]) - sizes[0]
        is_shown = np.ones(len(starts), bool)
        total = int(sizes[0].sum())
        levels, groups = np.zeros(total, np.int8), np.empty(total, np.int64)
        groups[starts] = self.groups[0]
        for level, children in enumerate(self.children):
            counts = np.diff(children)
            first = np.repeat(starts + 1 - before[level][children[:-1]], counts)
            starts = first + before[level][:-1]
            is_shown = np.repeat(is_shown & opens[level], counts)
            levels[starts[is_shown]] = level + 1
            groups[starts[is_shown]] = self.groups[level + 1][is_shown]
        return levels, groups


def _parents(above: Snapshot, below: Snapshot, keys: tuple[str, ...], job: Job) -> Places:
    """The index of each lower group's parent. Both levels are sorted by their keys, so the groups of one
    parent are adjacent."""
    from lamella.core.query import execute as answers
    from lamella.core.query.compile import compile_pipeline

    name = "n"
    while name in keys:
        name += "_"
    counted = Group(keys, ((name, Aggregate("count")),))
    node = compile_pipeline(Pipeline(below.name, (counted,)), lambda _name: below, job)
    counts = answers.read(node, job).column(name).to_numpy()
    _refuse_unlike(above.num_rows, len(counts), above.name)
    return np.repeat(np.arange(len(counts)), counts)


def _refuse_unlike(expected: int, actual: int, name: str) -> None:
    if expected != actual:
        raise BadQuery(
            f"{name}: the groups cannot be shown under subtotals",
            f"Their keys were told apart differently in two queries: {expected:,} and {actual:,} groups",
            "Switch the subtotals off",
        )


def _ranks(level: Snapshot, sort: tuple[SortKey, ...], job: Job) -> np.ndarray:
    """The rank of each group when its level is sorted by those of the sort keys that it has."""
    keys = tuple(key for key in sort if key.column in level.types)
    ranks = np.empty(level.num_rows, np.int64)
    ranks[View(level, ScanQuery(sort=keys), job).positions(0, level.num_rows)] = np.arange(level.num_rows)
    return ranks


def without_totals(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, without totals and subtotals."""
    return tuple(
        replace(step, totals=False, subtotals=False) if isinstance(step, Group) else step for step in steps
    )
