"""Texts of a page of a comparison, with what was in the cells that differ."""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.query.comparison import ComparedRows
from lamella.ui.formats.formats import FormattedTexts, formatted
from lamella.ui.grid.texts import Texts, screen_texts

PageTexts = dict[int, dict[int, Texts]]  # page -> column -> texts


class ChangedTexts(list[str | None]):
    """The `texts` of a page of a column; `before` has what was in a cell, by the place in the page."""

    def __init__(self, texts: Texts, before: dict[int, str | None]) -> None:
        super().__init__(texts)
        self.texts, self.before = texts, before


def put_changes(
    pages: PageTexts, rows: ComparedRows, columns: Sequence[int], names: Sequence[str], page_rows: int
) -> None:
    """Say in the texts of whole pages what was in the cells that differ. Blocks."""
    if not pages:
        return
    first = min(pages)
    start, count = first * page_rows, (max(pages) + 1 - first) * page_rows
    numbers = {names[column]: column for column in columns}
    for name, cells in rows.cells_before(start, count, list(numbers)).items():
        column = numbers[name]
        now = pages[first][column]
        form = now.form if isinstance(now, FormattedTexts) else None
        texts = screen_texts(cells.values) if form is None else formatted(cells.values, form)
        by_page: dict[int, dict[int, str | None]] = {}
        for place, text in zip(cells.places.tolist(), texts, strict=True):
            by_page.setdefault(first + place // page_rows, {})[place % page_rows] = text
        for page, before in by_page.items():
            pages[page][column] = ChangedTexts(pages[page][column], before)
