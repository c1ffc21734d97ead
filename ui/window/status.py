"""The status line in words."""

from __future__ import annotations

from lamella.ui.window.loader import Loaded

SECOND_MS = 1000


def status_text(shown: Loaded | None, counting: bool) -> str:
    """`26,581 of 336,776 rows · 12 ms · 2 of 4 row groups read`; "counting…" until it is known."""
    if shown is None:
        return "counting…" if counting else ""
    if counting:
        return f"counting… of {shown.total_rows:,} rows"
    parts = [_rows(shown)]
    explain = shown.view.explain
    if shown.where is not None or shown.sort:
        parts.append(duration(explain.seconds))
    if explain.row_groups_total:
        parts.append(f"{explain.row_groups_read:,} of {explain.row_groups_total:,} row groups read")
    return " · ".join(parts)


def _rows(shown: Loaded) -> str:
    so_far = "" if shown.complete else " so far"
    count = shown.view.num_rows
    if shown.where is not None:
        return f"{count:,} of {shown.total_rows:,} rows{so_far}"
    return f"{count:,} {'row' if count == 1 else 'rows'}{so_far}"


def duration(seconds: float) -> str:
    """Milliseconds below a second."""
    ms = seconds * SECOND_MS
    if ms >= SECOND_MS:
        return f"{seconds:.1f} s"
    return f"{ms:.0f} ms" if ms >= 1 else "under 1 ms"
