"""Building a filter: chips above the grid, the nested builder, live counts."""
