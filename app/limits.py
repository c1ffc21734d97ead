"""The memory that the engine may use, as the settings say."""

from __future__ import annotations

from lamella.app.settings import Settings

MEGABYTE = 1 << 20


def apply(settings: Settings) -> None:
    """A 0 leaves the engine's own choice, and its libraries unloaded."""
    if settings["page_cache_mb"]:
        from lamella.core.scan import caches

        caches.limit(settings["page_cache_mb"] * MEGABYTE)
    if settings["query_memory_mb"]:
        from lamella.core.query.engine import limit_memory

        limit_memory(settings["query_memory_mb"] * MEGABYTE)
