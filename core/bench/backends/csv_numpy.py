"""CSV through NumPy: `savetxt` and `loadtxt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lamella.core.bench.backends import array_rows
from lamella.core.bench.backends.array_rows import Table, from_blocks, from_dicts, places_of, queried
from lamella.core.bench.backends.base import Rows
from lamella.core.bench.backends.whole_files import WholeFile, cannot
from lamella.core.bench.workloads import Columns, Values


class CSVNumPy(WholeFile):
    id = "csv-numpy"
    cannot: ClassVar[Mapping[str, str]] = cannot("A CSV file")
    file_name = "benchmark.csv"

    @classmethod
    def version(cls) -> str:
        return f"NumPy {np.__version__}"

    @classmethod
    def describe(cls) -> str:
        return (
            "savetxt (integers as %d, floats in its own format of 19 digits) and loadtxt; every question "
            "loads the columns it needs and filters the array, an update writes a new file; not durable "
            "(no sync)"
        )

    def prepare(self, rows: Rows) -> Table:
        return from_dicts(rows, self.workload)

    def create(self, prepared: Table) -> None:
        self._save(self.path, [prepared])

    def fill(self, made: Iterable[Columns]) -> None:
        self._save(self.path, from_blocks(made, self.workload))

    def read(self) -> Table:
        return self._load()

    def query(self) -> Table:
        table = self._load()
        found: Table = table[queried(table, self.names)]
        return found

    def find(self) -> Table:
        column = self._load([self.names.index("col0")])
        found: Table = column[column[:, 0] == -1]
        return found

    def prepare_update(self, rows: Rows) -> Table:
        return from_dicts(rows, self.workload)

    def update(self, prepared: Table) -> None:
        table = self._load()
        table[places_of(table[:, 0], prepared[:, 0])] = prepared
        self.rewrite(lambda path: self._save(path, [table]))

    def blocks(self, answer: Table, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        held = self.names if answer.shape[1] == self.columns else names
        return array_rows.blocks(answer, held, names)

    def _save(self, path: Path, tables: Iterable[Table]) -> None:
        header = ",".join(self.names)
        with path.open("w", encoding="utf-8") as file:
            for table in tables:
                np.savetxt(file, table, fmt=self._formats, delimiter=",", header=header)
                header = ""

    def _load(self, columns: Sequence[int] | None = None) -> Table:
        loaded: Table = np.loadtxt(
            self.path, dtype=self.workload.dtype, delimiter=",", ndmin=2, usecols=columns
        )
        return loaded

    @property
    def _formats(self) -> Any:
        return ["%.18e" if self.workload.dtype_of(name).kind == "f" else "%d" for name in self.names]
