"""Entities in JSON and Parquet files, as Python's own module and PyArrow write them."""

from __future__ import annotations

import gzip
import json
import platform
from typing import Any, ClassVar, TextIO

import pyarrow as pa
import pyarrow.dataset  # used for reading: must not be timed
import pyarrow.parquet as pq

from lamella.core.bench.systems.base import Entity, FileBasedSystem
from lamella.core.bench.workloads.entities import SCHEMA
from lamella.core.bench.workloads.entity_storage import EntityStorage

encode = json.JSONEncoder(separators=(",", ":")).encode

GZIP_LEVEL = 6
"""The default of zlib, and so of Node.js."""


class EntityJSONLines(FileBasedSystem, EntityStorage):
    id = "jsonl"
    file_name = "entities.jsonl"
    description = "a line of JSON without spaces for each entity, by Python's json; not durable (no sync)"

    @classmethod
    def version(cls) -> str:
        return platform.python_version()

    def prepare(self, entities: list[Entity]) -> list[Entity]:
        return entities

    def write(self, prepared: list[Entity]) -> None:
        with self._file("w") as lines:
            lines.writelines(encode(entity) + "\n" for entity in prepared)

    def read(self) -> list[Entity]:
        with self._file("r") as lines:
            return [json.loads(line) for line in lines]

    def as_table(self, answer: list[Entity]) -> pa.Table:
        return pa.Table.from_pylist(answer, SCHEMA)

    def _file(self, mode: str) -> TextIO:
        return self.path.open(mode, encoding="utf-8")  # type: ignore[return-value] # a text mode


class GzippedJSONLines(EntityJSONLines):
    id = "jsonl-gzip"
    file_name = "entities.jsonl.gz"

    @classmethod
    def describe(cls) -> str:
        return f"{super().describe()}; gzip, level {GZIP_LEVEL}"

    def _file(self, mode: str) -> Any:
        return gzip.open(self.path, f"{mode}t", compresslevel=GZIP_LEVEL, encoding="utf-8")


class EntityParquet(FileBasedSystem, EntityStorage):
    file_name = "entities.parquet"
    codec: ClassVar[str]

    @classmethod
    def version(cls) -> str:
        return f"PyArrow {pa.__version__}"

    @classmethod
    def describe(cls) -> str:
        return f"one file, codec {cls.codec}, otherwise the defaults of PyArrow; not durable (no sync)"

    def write(self, prepared: pa.Table) -> None:
        pq.write_table(prepared, self.path, compression=self.codec)

    def read(self) -> pa.Table:
        return pq.read_table(self.path)


class PlainParquet(EntityParquet):
    id, codec = "parquet-none", "none"


class SnappyParquet(EntityParquet):
    id, codec = "parquet-snappy", "snappy"


class GzipParquet(EntityParquet):
    id, codec = "parquet-gzip", "gzip"


class LZ4Parquet(EntityParquet):
    id, codec = "parquet-lz4", "lz4"


class ZstdParquet(EntityParquet):
    id, codec = "parquet-zstd", "zstd"
