"""Comparison of two datasets: rows are paired by key or order, and their cells compared."""

from lamella.core.query.comparison.cells import CellRule as CellRule
from lamella.core.query.comparison.comparison import Comparison as Comparison
from lamella.core.query.comparison.comparison import compare as compare
from lamella.core.query.comparison.difference_table import read_differences as read_differences
from lamella.core.query.comparison.pairing import suggest_key as suggest_key
from lamella.core.query.comparison.rows import ComparedRows as ComparedRows
from lamella.core.query.comparison.rows import RowChange as RowChange
