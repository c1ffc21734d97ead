"""MongoDB's aggregation pipelines as steps of a query: `[{"$match": …}, {"$group": …}]`."""

from __future__ import annotations

from lamella.core.query.mongo.stages import apply_stages

__all__ = ["apply_stages"]
