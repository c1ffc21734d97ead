"""Full-text indexes on tantivy, which find rows by words and rank them.

A *part* is an immutable tantivy index of some rows: of a data file, or in memory of pending rows. A search
asks every part for its best rows, drops those that have changed since, and merges the answers.
"""
