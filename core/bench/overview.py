"""How a race went on one page's first lines: of each workload and size what was won and what was lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from lamella.core.bench.backends import entry_named
from lamella.core.bench.calls import by_workload
from lamella.core.bench.ratios import shown_share
from lamella.core.bench.report_table import ReportTable, unbroken
from lamella.core.bench.results import Record
from lamella.core.bench.standings import AHEAD, BEHIND, LEVEL, Standing, standings
from lamella.core.bench.titles import workload_title


def overview_table(records: Sequence[Record]) -> ReportTable:
    """Empty where no system was measured beside another."""
    header = ("workload", "rows", "system", "ahead", "level", "behind", "furthest behind", "furthest ahead")
    lines = (
        _line(name, rows, list(found))
        for name, group in by_workload(records).items()
        for rows, found in groupby(sorted(standings(group), key=_rows), key=_rows)
    )
    return ReportTable("Against the best of the others", header, tuple(lines))


def _line(name: str, rows: int, found: Sequence[Standing]) -> tuple[str, ...]:
    counts = (f"{sum(one.verdict == verdict for one in found):,}" for verdict in (AHEAD, LEVEL, BEHIND))
    return (
        _link(workload_title(name)),
        f"{rows:,}",
        entry_named(found[0].subject).title,
        *counts,
        _furthest(found, BEHIND, min),
        _furthest(found, AHEAD, max),
    )


def _furthest(found: Iterable[Standing], verdict: str, most: Callable[..., Standing]) -> str:
    such = [one for one in found if one.verdict == verdict]
    if not such:
        return "–"
    one = most(such, key=lambda one: one.factor)
    against = unbroken(shown_share(1 / one.factor))
    return f"{one.title} {against} {entry_named(one.rival).title}"


def _rows(one: Standing) -> int:
    return one.rows


def _link(title: str) -> str:
    """To the heading of that name, as GitHub calls its anchors."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"
