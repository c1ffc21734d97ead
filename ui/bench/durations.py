"""Lengths of time and large numbers as people say them."""

from __future__ import annotations

from lamella.core.bench.results.figures import shown_rows


def about(seconds: float) -> str:
    """ "8 s", "2 min 30 s", "1 h 5 min": rounded to what matters."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(1, whole)} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def short_rows(rows: int) -> str:
    """ "10,000 rows", "1.1 billion rows"."""
    for name, size in (("billion", 10**9), ("million", 10**6)):
        if rows >= size:
            return f"{rows / size:,.4g} {name} rows"
    return shown_rows(rows)
