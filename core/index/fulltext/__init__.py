"""Full-text indexes on tantivy: rows found by words, the best first.

A *part* is a tantivy index of some rows that never changes: of a data file, or in memory of rows that are
pending. A search asks every part for its best rows, leaves out those that are something else by now, and puts
the answers together.
"""
