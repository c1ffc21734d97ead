"""CSV taken apart by hand: a loop over the lines of a file, and `split`."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TextIO

from lamella.core.bench.backends.base import Rows
from lamella.core.bench.backends.python_rows import Tuples, tuple_blocks, tuples_of
from lamella.core.bench.backends.whole_files import WholeFile, cannot
from lamella.core.bench.data import BLOCK_ROWS, tuples
from lamella.core.bench.workloads import Columns, Values, Workload


class CSV(WholeFile):
    id = "csv"
    cannot: ClassVar[Mapping[str, str]] = cannot("A CSV file")
    file_name = "benchmark.csv"

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self._kinds = [float if workload.dtype_of(name).kind == "f" else int for name in self.names]
        self._number = self._kinds[-1]

    @classmethod
    def version(cls) -> str:
        return f"Python {platform.python_version()}"

    @classmethod
    def describe(cls) -> str:
        return (
            "lines written with str and join, read by a loop over the file, split, and int or float; every "
            "question reads the whole file, an update writes a new one; not durable (no sync)"
        )

    def prepare(self, rows: Rows) -> Tuples:
        return tuples_of(rows)

    def create(self, prepared: Iterable[tuple[Any, ...]]) -> None:
        with self.path.open("w", encoding="utf-8") as file:
            file.write(",".join(self.names) + "\n")
            file.writelines(map(_line, prepared))

    def fill(self, made: Iterable[Columns]) -> None:
        self.create(row for block in made for row in tuples(block))

    def read(self) -> Tuples:
        with self._lines() as lines:
            return self._rows(lines)

    def query(self) -> Tuples:
        number, first, second = self._number, self.names.index("col1"), self.names.index("col97")
        with self._lines() as lines:
            hits = []
            for line in lines:
                fields = line.split(",")
                if number(fields[first]) > 100 and number(fields[second]) < 1000:
                    hits.append(line)
            return self._rows(hits)

    def find(self) -> Tuples:
        number, place = self._number, self.names.index("col0")
        with self._lines() as lines:
            every = (number(line.split(",", place + 1)[place]) for line in lines)
            return [(value,) for value in every if value == -1]

    def prepare_update(self, rows: Rows) -> dict[int, str]:
        key = self.names[0]
        return {int(row[key]): _line(tuple(row.values())) for row in rows}

    def update(self, prepared: dict[int, str]) -> None:
        """Lines of other keys are copied as they are."""

        def write(path: Path) -> None:
            with self.path.open(encoding="utf-8") as old, path.open("w", encoding="utf-8") as new:
                new.write(next(old))
                new.writelines(prepared.get(int(line.split(",", 1)[0]), line) for line in old)

        self.rewrite(write)

    def blocks(self, answer: Tuples, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return tuple_blocks(answer, self.names, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        with self._lines() as lines:
            while rows := self._rows(islice(lines, BLOCK_ROWS)):
                yield from self.blocks(rows, names)

    def _lines(self) -> TextIO:
        """At the first row, after the names."""
        file = self.path.open(encoding="utf-8")
        next(file)
        return file

    def _rows(self, lines: Iterable[str]) -> Tuples:
        kinds, number = self._kinds, self._number
        if len(set(kinds)) == 1:
            return [tuple(map(number, line.split(","))) for line in lines]
        return [
            tuple(kind(text) for kind, text in zip(kinds, line.split(","), strict=True)) for line in lines
        ]


def _line(row: tuple[Any, ...]) -> str:
    return ",".join(map(str, row)) + "\n"
