"""Writes the generated parts of a page in the docs, which are between markers."""

from __future__ import annotations

from pathlib import Path

from lamella.core.bench.results.records import write_text
from lamella.core.errors import BadData


def put_into(page: Path, part: str, text: str) -> None:
    """Replace the text between `<!-- part: begin -->` and its end; create the page if it is missing."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    old = page.read_text(encoding="utf-8") if page.exists() else f"{begin}\n{end}\n"
    if begin not in old or end not in old:
        raise BadData(f"{page} has no place for this", f"It lacks {begin} and {end}", "Add both lines to it")
    before, after = old[: old.index(begin) + len(begin)], old[old.index(end) :]
    write_text(page, f"{before}\n\n{text}\n\n{after}")
