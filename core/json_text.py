"""Nested values as JSON, which has neither bytes nor times, NaN nor infinity: they become text."""

from __future__ import annotations

import json
import math
from typing import Any


def json_text(value: Any) -> str:
    """Bytes are hexadecimal digits, times ISO text with a space, NaN and infinities their names."""
    return json.dumps(_finite(value), default=_plain, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return str(value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "year") else value)
