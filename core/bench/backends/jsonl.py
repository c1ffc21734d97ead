"""JSON lines: an object for each row."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from lamella.core.bench.backends.base import Row, Rows
from lamella.core.bench.backends.python_rows import dict_blocks
from lamella.core.bench.backends.whole_files import WholeFile, cannot
from lamella.core.bench.data import BLOCK_ROWS, dicts
from lamella.core.bench.workloads import Columns, Values

encode = json.JSONEncoder(separators=(",", ":")).encode


class JSONLines(WholeFile):
    id = "jsonl"
    cannot: ClassVar[Mapping[str, str]] = cannot("A file of JSON lines")
    file_name = "benchmark.jsonl"

    @classmethod
    def version(cls) -> str:
        return f"Python {platform.python_version()}"

    @classmethod
    def describe(cls) -> str:
        return (
            "Python's json, one object a line without spaces; every question parses the whole file, an "
            "update writes a new one; not durable (no sync)"
        )

    def create(self, prepared: Iterable[Row]) -> None:
        _write(self.path, prepared)

    def fill(self, made: Iterable[Columns]) -> None:
        self.create(row for block in made for row in dicts(block))

    def read(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return list(map(json.loads, file))

    def query(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return [row for row in map(json.loads, file) if row["col1"] > 100 and row["col97"] < 1000]

    def find(self) -> Rows:
        with self.path.open(encoding="utf-8") as file:
            return [{"col0": row["col0"]} for row in map(json.loads, file) if row["col0"] == -1]

    def prepare_update(self, rows: Rows) -> dict[Any, Row]:
        return {row[self.names[0]]: row for row in rows}

    def update(self, prepared: dict[Any, Row]) -> None:
        key = self.names[0]

        def write(path: Path) -> None:
            with self.path.open(encoding="utf-8") as old:
                _write(path, (prepared.get(row[key], row) for row in map(json.loads, old)))

        self.rewrite(write)

    def blocks(self, answer: Rows, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        return dict_blocks(answer, names)

    def contents(self, names: Sequence[str]) -> Iterator[Sequence[Values]]:
        with self.path.open(encoding="utf-8") as file:
            while rows := list(map(json.loads, islice(file, BLOCK_ROWS))):
                yield from self.blocks(rows, names)


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(encode(row) + "\n" for row in rows)
