"""The rows of a text file as Parquet parts, one for each block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lamella.core.checksums import RunningChecksum
from lamella.core.datasets.text.blocks import Block
from lamella.core.datasets.text.cache import part_names, part_of, unwritable
from lamella.core.datasets.text.in_order import in_order
from lamella.core.datasets.text.reading import TextFormat, join_schemas, read_block
from lamella.core.datasets.text.source import fingerprint_of
from lamella.core.scan.footers import BODY
from lamella.core.scan.snapshot import FileSegment

ROWS_A_GROUP = 100_000
_MOST_DISTINCT = 0.5
_SAMPLED_ROWS = 20_000


@dataclass(frozen=True)
class Written:
    """A block's part; None when the block did not fit. `done`: bytes of the text file read by then."""

    part: FileSegment | None
    schema: pa.Schema
    done: int


class PartWriter:
    """One pass over a text file with one schema."""

    def __init__(self, text: TextFormat, schema: pa.Schema, folder: Path) -> None:
        self._text, self._folder = text, folder
        self.schema = self.wide = schema

    def write(self, blocks: Iterable[Block], told: Callable[[Written], None]) -> None:
        """Writes parts until a block does not fit, then only finds out how wide the schema must be for
        the rest; `wide` tells. Raises `FileProblem`."""
        for written in in_order(self._write_block, blocks):
            self.wide = join_schemas(self.wide, written.schema)
            told(written)

    def _write_block(self, block: Block) -> Written:
        wide = self.wide
        reading = read_block(self._text, block, wide)
        if reading.rows is None or (wide is not self.schema and not wide.equals(self.schema)):
            return Written(None, reading.schema, block.done)
        path = self._folder / f"part-{block.number:06d}.parquet"
        checksum = _write_part(path, reading.rows)
        names = part_names(self.schema)
        part = part_of(path, reading.rows.num_rows, names, fingerprint_of(path), checksum)
        return Written(part, reading.schema, block.done)


def _write_part(path: Path, rows: pa.Table) -> str:
    """Answers the file's checksum."""
    stored = rows.rename_columns(list(part_names(rows.schema).values()))
    draft = path.with_suffix(".tmp")
    try:
        with pq.ParquetWriter(
            draft, stored.schema, compression="snappy", use_dictionary=_repetitive(stored),
            write_page_checksum=True,
        ) as file:  # fmt: skip
            file.write_table(stored, row_group_size=ROWS_A_GROUP)
            checksum = RunningChecksum(draft)
            file.add_key_value_metadata({BODY: checksum.extended()})
        with closing(checksum):
            checksum.extend()
        draft.replace(path)
        return checksum.text
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def _repetitive(rows: pa.Table) -> list[str]:
    """Text columns that say the same things over and over, by their first rows."""
    sample = rows.slice(0, _SAMPLED_ROWS)
    texts = [f.name for f in rows.schema if pa.types.is_string(f.type)]
    most = _MOST_DISTINCT * max(1, sample.num_rows)
    return [name for name in texts if pc.count_distinct(sample.column(name)).as_py() <= most]
