"""Text files as rows: found out from their first block, typed without changing a value, cached in columns."""
