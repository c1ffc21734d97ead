"""What a person may say about a file instead of having it found out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Ragged = Literal["refuse", "pad"]
Checksums = Literal["verify", "ignore"]


@dataclass(frozen=True)
class OpenOptions:
    """None means: found out from the file.

    `ragged="pad"` fills up rows that are too short with nulls. Of rows that are too long it drops
    the surplus only where that is empty; a file with a value there is refused all the same.
    `text_columns` of delimited text stay as they are written: versions such as 1.10 and 1.100.

    `checksums="ignore"` reads Parquet pages that are not what their checksums say, as far as they go.
    """

    cache_dir: Path | None = None
    ragged: Ragged = "refuse"
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    text_columns: tuple[str, ...] = ()
    checksums: Checksums = "verify"

    @property
    def reading(self) -> tuple[object, ...]:
        """What decides how the bytes become rows; part of a cache's key."""
        return (self.ragged, self.encoding, self.delimiter, self.header, *self.text_columns)
