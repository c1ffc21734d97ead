"""A text looked for in the cells of rows: what it matches, where, and how many there are."""

from lamella.core.query.cell_search.hits import Hits
from lamella.core.query.cell_search.pattern import Displayed, TextPattern
from lamella.core.query.cell_search.search import CellSearch

__all__ = ["CellSearch", "Displayed", "Hits", "TextPattern"]
