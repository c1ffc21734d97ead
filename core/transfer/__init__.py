"""Formats out, and made data: schema and batches, atomically written."""
