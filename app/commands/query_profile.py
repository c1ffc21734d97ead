"""A column's profile as rows of what and how much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lamella.core.query.profile import ColumnProfile


def as_rows(profile: ColumnProfile) -> pa.Table:
    """Both columns are text, as values are of the column's own type."""
    what, values = zip(*_told(profile), strict=True)
    return pa.table({"what": list(what), "value": ["" if v is None else str(v) for v in values]})


def _told(profile: ColumnProfile) -> Iterator[tuple[str, Any]]:
    about = "about " if profile.approximate else ""
    yield "column", profile.column
    yield "type", profile.type
    yield "rows", f"{profile.rows:,}"
    yield "nulls", f"{profile.nulls:,}"
    if profile.nans:
        yield "NaN", f"{profile.nans:,}"
    yield "distinct", f"{about}{profile.distinct:,}"
    for name in ("min", "max", "mean"):
        if getattr(profile, name) is not None:
            yield name, getattr(profile, name)
    for part, value in (profile.quantiles or {}).items():
        yield f"quantile {part:g}", f"{about}{value}"
    for value, count in profile.top_values:
        yield f"value {value}", f"{count:,} times"
