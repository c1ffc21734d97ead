"""Filters as MongoDB writes them: `{"price": {"$gt": 5}, "tags": {"$all": ["red", "round"]}}`."""

from __future__ import annotations

from lamella.core.filters.mongo.reading import from_mongo
from lamella.core.filters.mongo.writing import to_mongo

__all__ = ["from_mongo", "to_mongo"]
