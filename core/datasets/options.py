"""What a person may say about a file instead of having it found out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Ragged = Literal["refuse", "pad"]


@dataclass(frozen=True)
class OpenOptions:
    """None means: found out from the file.

    `ragged="pad"` fills rows that are too short with nulls and drops fields beyond the last column
    when they are empty; a value beyond the last column is refused all the same.
    """

    cache_dir: Path | None = None
    ragged: Ragged = "refuse"
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None

    @property
    def reading(self) -> tuple[object, ...]:
        """What decides how the bytes become rows; part of a cache's key."""
        return (self.ragged, self.encoding, self.delimiter, self.header)
