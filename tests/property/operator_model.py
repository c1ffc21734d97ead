"""The result of each update operator for one cell, and operands to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Apply = Callable[[Any, Any], Any]
"""Functions of a cell and an operand that return the new cell."""

SMALL = st.integers(-5, 5)


def _pop(cell: list[int] | None, end: int) -> list[int] | None:
    if not cell:
        return cell
    return cell[:-1] if end == 1 else cell[1:]


NUMBERS: dict[str, tuple[st.SearchStrategy[Any], Apply]] = {
    "$set": (st.none() | SMALL, lambda cell, value: value),
    "$inc": (SMALL, lambda cell, value: (cell or 0) + value),
    "$mul": (st.sampled_from([1, 2]), lambda cell, value: (cell or 0) * value),
    "$min": (SMALL, lambda cell, value: value if cell is None else min(cell, value)),
    "$max": (SMALL, lambda cell, value: value if cell is None else max(cell, value)),
    "$unset": (st.just(""), lambda cell, value: None),
}
LISTS: dict[str, tuple[st.SearchStrategy[Any], Apply]] = {
    "$set": (st.none() | st.lists(SMALL, max_size=3), lambda cell, value: value),
    "$push": (SMALL, lambda cell, value: [*(cell or []), value]),
    "$addToSet": (SMALL, lambda cell, value: cell if value in (cell or []) else [*(cell or []), value]),
    "$pull": (SMALL, lambda cell, value: cell if cell is None else [v for v in cell if v != value]),
    "$pop": (st.sampled_from([1, -1]), _pop),
    "$unset": (st.just(""), lambda cell, value: None),
}
