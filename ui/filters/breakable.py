"""Long words made to wrap, so that one value without spaces does not widen the window."""

from __future__ import annotations

import re

LONGEST_WORD = 24
ZERO_WIDTH_SPACE = "\u200b"


def breakable(text: str) -> str:
    return re.sub(rf"(\S{{{LONGEST_WORD}}})(?=\S)", rf"\1{ZERO_WIDTH_SPACE}", text)
