"""Delta tables as other programs write them: logs made by hand for what deltalake itself cannot write."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    about = {f"delta.columnMapping.{key}": value for key, value in metadata.items()}
    return {"name": name, "type": kind, "nullable": True, "metadata": about}


def add(
    root: Path, name: str, rows: pa.Table, deleted: Sequence[int] = (),
    partition: Mapping[str, str] | None = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Write a data file, and give the action that adds it, without the rows `deleted`."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, **options)
    action: dict[str, Any] = {
        "path": name, "partitionValues": dict(partition or {}), "size": path.stat().st_size,
        "modificationTime": 1_000, "dataChange": True, "stats": json.dumps({"numRecords": len(rows)}),
    }  # fmt: skip
    if deleted:
        bits = deletion_vector(deleted)
        action["deletionVector"] = {
            "storageType": "i", "pathOrInlineDv": _z85(bits), "sizeInBytes": len(bits),
            "cardinality": len(deleted),
        }  # fmt: skip
    return {"add": action}


def table(
    root: Path, columns: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]],
    features: Sequence[str] = (), partition_by: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None, reader: int = 3,
) -> Path:  # fmt: skip
    """A table of one commit."""
    protocol: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 7 if reader == 3 else 5}
    if reader == 3:
        protocol |= {"readerFeatures": list(features), "writerFeatures": list(features)}
    schema = json.dumps({"type": "struct", "fields": list(columns)})
    about = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9", "format": {"provider": "parquet", "options": {}},
        "schemaString": schema, "partitionColumns": list(partition_by), "createdTime": 1_000,
        "configuration": dict(configuration or {}),
    }  # fmt: skip
    commit(root, 0, [{"protocol": protocol}, {"metaData": about}, *actions])
    return root


def commit(root: Path, version: int, actions: Sequence[Mapping[str, Any]]) -> Path:
    path = log_file(root, version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(action) for action in actions))
    return path


ADDED = pa.struct([
    ("path", pa.string()), ("partitionValues", pa.map_(pa.string(), pa.string())), ("size", pa.int64()),
    ("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats", pa.string()),
])  # fmt: skip
_WORDS, _PAIRS = pa.list_(pa.string()), pa.map_(pa.string(), pa.string())
CHECKPOINT = pa.schema([
    ("checkpointMetadata", pa.struct([("version", pa.int64())])),
    ("protocol", pa.struct([
        ("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", _WORDS),
        ("writerFeatures", _WORDS),
    ])),
    ("metaData", pa.struct([
        ("id", pa.string()), ("format", pa.struct([("provider", pa.string()), ("options", _PAIRS)])),
        ("schemaString", pa.string()), ("partitionColumns", _WORDS), ("createdTime", pa.int64()),
        ("configuration", _PAIRS),
    ])),
    ("sidecar", pa.struct([
        ("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()),
        ("tags", _PAIRS),
    ])),
])  # fmt: skip


def v2_checkpoint(root: Path, version: int, parts: Sequence[Sequence[dict[str, Any]]], suffix: str) -> None:
    """A checkpoint of the second version of their format, as JSON or Parquet: what the table is in one file,
    and the files that it has in sidecars, one for each of `parts`."""
    lines = log_file(root, 0).read_text().splitlines()
    about = [action for line in lines if (action := json.loads(line)).keys() & {"protocol", "metaData"}]
    actions = [
        {"checkpointMetadata": {"version": version}},
        *about,
        *(_sidecar(root, part) for part in parts),
    ]
    path = root / "_delta_log" / f"{version:020}.checkpoint.{uuid.UUID(int=version)}.{suffix}"
    if suffix == "json":
        path.write_text("\n".join(json.dumps(action) for action in actions))
        return
    pq.write_table(pa.Table.from_pylist(actions, schema=CHECKPOINT), path)


def _sidecar(root: Path, actions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    path = root / "_delta_log" / "_sidecars" / f"{uuid.uuid4()}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(actions), schema=pa.schema([("add", ADDED)])), path)
    return {"sidecar": {"path": path.name, "sizeInBytes": path.stat().st_size, "modificationTime": 1_000}}


def log_file(root: Path, version: int) -> Path:
    return root / "_delta_log" / f"{version:020}.json"


def deletion_vector(rows: Sequence[int]) -> bytes:
    """A roaring bitmap of one container of rows below 65,536, as the protocol puts it in a log."""
    header = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    bitmap = header + b"".join(struct.pack("<H", row) for row in sorted(rows))
    return struct.pack("<iqi", 1681511377, 1, 0) + bitmap


def vector_in_file(root: Path, action: dict[str, Any], bits: bytes) -> None:
    """Put the deletion vector of an action into a file of its own beside the data."""
    name = uuid.UUID(int=7)
    size = len(bits).to_bytes(4, "big")
    content = b"\x01" + size + bits + zlib.crc32(bits).to_bytes(4, "big")
    (root / f"deletion_vector_{name}.bin").write_bytes(content)
    action |= {"storageType": "u", "pathOrInlineDv": _z85(name.bytes), "offset": 1}


def _z85(data: bytes) -> str:
    padded = data + bytes(-len(data) % 4)
    text = ""
    for start in range(0, len(padded), 4):
        number, digits = int.from_bytes(padded[start : start + 4], "big"), ""
        for _ in range(5):
            number, digit = divmod(number, 85)
            digits = Z85[digit] + digits
        text += digits
    return text
