"""Writes rows to files of many formats, saves edits into files, and generates data; writes are atomic."""
