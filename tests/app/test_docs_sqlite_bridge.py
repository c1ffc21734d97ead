"""The page about SQLite's bridge is true from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from lamella.core.bridge.values import column_type

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sqlite-bridge.md").read_text(encoding="utf8")
TYPES = {
    str(kind): kind
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
        *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(18, 0), pa.decimal128(9, 2)),
        *(pa.decimal256(50, 10), pa.string(), pa.large_string(), pa.string_view(), pa.binary()),
        *(pa.large_binary(), pa.binary_view(), pa.binary(16), pa.date32(), pa.date64(), pa.timestamp("us")),
        *(pa.timestamp("us", "UTC"), pa.time32("ms"), pa.time64("us"), pa.duration("ms"), pa.null()),
        *(pa.struct([("a", pa.int64())]), pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64())),
    )
}
TABLE = {
    name: declared
    for names, declared in re.findall(r"^\| (`.*`) \| ([A-Z]+) \|", PAGE, re.MULTILINE)
    for name in re.findall("`([^`]+)`", names)
}


def test_the_examples_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) > 3
    names: dict[str, object] = {}
    exec(compile("\n".join(blocks), "docs/sqlite-bridge.md", "exec"), names)
    for name in ("connection", "store"):
        names[name].close()  # type: ignore[attr-defined]


def test_every_type_is_in_the_table() -> None:
    assert TABLE.keys() == TYPES.keys()


@pytest.mark.parametrize(("name", "declared"), TABLE.items(), ids=list(TABLE))
def test_each_type_is_declared_as_the_table_says(name: str, declared: str) -> None:
    assert column_type(TYPES[name]).declared_type == declared
