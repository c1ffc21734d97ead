"""Row after row of a scan, as SQLite asks for them: the loop that its speed depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

from lamella.core.bridge.kept_rows import Block
from lamella.core.bridge.plan import Plan, plan_of

Begin = Callable[[Plan, Sequence[Any]], Iterator[Block]]


class Cursor:
    """SQLite calls `Filter` to begin, and for each row `Eof`, `Next`, and `Column` for what it reads of it.

    What is called for each row are functions that `Filter` makes: with a method between it would cost double.
    """

    Next: Callable[[], None]
    Eof: Callable[[], bool]
    Column: Callable[[int], Any]
    Rowid: Callable[[], int]

    def __init__(self, begin: Begin) -> None:
        self._begin = begin

    def Filter(self, _number: int, plan: str, values: Sequence[Any]) -> None:  # noqa: N802 -- SQLite's name
        asked = plan_of(plan)
        self._read(self._begin(asked, values), asked.columns)

    def Close(self) -> None:  # noqa: N802
        """The functions hold rows, and the cursor holds them."""
        self.__dict__.clear()

    def _read(self, blocks: Iterator[Block], columns: Sequence[int]) -> None:
        places = {column: place for place, column in enumerate(columns)}
        block: Block
        row: tuple[Any, ...]

        def rows() -> Iterator[None]:
            nonlocal block, row
            for block in blocks:
                for row in zip(  # noqa: B007 -- it is what `value` reads
                    *block.columns, range(block.size), strict=True
                ):
                    yield
            self.Eof = repeat(True).__next__
            yield

        def value(column: int) -> Any:
            return row[places[column]]

        def row_id() -> int:
            number: int = block.row_ids[row[-1]]
            return number

        self.Eof = repeat(False).__next__
        self.Column, self.Rowid, self.Next = value, row_id, rows().__next__
        self.Next()
