"""The trips in ParquetDB, whose reads PyArrow groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from lamella.core.bench.backends.parquetdb import ParquetDBFolder
from lamella.core.bench.taxi.backend import TaxiBackend
from lamella.core.bench.taxi.columns import SCHEMA
from lamella.core.bench.taxi.pyarrow import CONVERTED, answer


class ParquetDBTaxi(ParquetDBFolder, TaxiBackend):
    """It groups nothing and takes one file at a time, which PyArrow reads here: its own types stay out."""

    @property
    def columns(self) -> int:
        return super().columns + 1

    def fill(self, rows: int) -> None:
        self.open(writing=True)
        for file in self.files(rows):
            self._db.create(pyarrow.csv.read_csv(file, convert_options=CONVERTED))
        self.close()

    def ask(self, query: str) -> pa.Table:
        def read(names: list[str]) -> Any:
            return self._db.read(columns=names)

        return answer(query, read)

    def whole_trips(self, ids: Sequence[int]) -> pa.Table:
        found: pa.Table = self._db.read(columns=SCHEMA.names, filters=[pc.field("trip_id").isin(ids)])
        return found.select(SCHEMA.names)
