"""Filters as text that users type: `delay > 60 and carrier in ('AA', 'UA') and not origin like 'J%'`."""

from __future__ import annotations

from lamella.core.filters.text.parser import parse
from lamella.core.filters.text.printer import to_text

__all__ = ["parse", "to_text"]
