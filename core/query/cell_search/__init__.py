"""Search for a text in the cells of rows: what matches, where the hits are, and how many there are."""

from lamella.core.query.cell_search.hits import Hits
from lamella.core.query.cell_search.pattern import TextConversion, TextPattern
from lamella.core.query.cell_search.search import CellSearch

__all__ = ["CellSearch", "Hits", "TextConversion", "TextPattern"]
