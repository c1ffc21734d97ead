"""Entities with fields of several types, one at a time: data, right answers and how they are raced."""
