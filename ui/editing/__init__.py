"""Changing data: one cell in the grid, one column of many rows."""
