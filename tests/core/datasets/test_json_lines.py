"""JSON lines: types as they are, mixed kinds as text, nothing rounded."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.datasets.formats import kind_of
from lamella.core.datasets.text import dataset as opening
from lamella.core.datasets.text.blocks import TextBlock
from lamella.core.datasets.text.exact_numbers import loses_json_digits
from lamella.core.datasets.text.json_lines import JsonLines
from lamella.core.errors import FileProblem
from lamella.core.store.importing import import_file
from lamella.core.store.store import Store


def opened(path: Path, *lines: str) -> Any:
    path.write_text("\n".join(lines) + "\n")
    return open_dataset(path, cache_dir=path.parent / "cache")


def values(path: Path, *items: str) -> list[Any]:
    return [row["v"] for row in opened(path, *('{"v": ' + item + "}" for item in items)).read().to_pylist()]


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        (["1", "null"], pa.int64()),
        (["1", "2.5"], pa.float64()),
        (["true"], pa.bool_()),
        (['"x"'], pa.string()),
        (['"00501"', '"1"'], pa.string()),
        (['"2013-01-31"'], pa.date32()),
        (['"2013-01-31T10:00:00"'], pa.timestamp("us")),
        (['"2013-01-31"', '"soon"'], pa.string()),
        (["[1, 2]", "[]"], pa.list_(pa.int64())),
        (['{"a": 1}', '{"b": "x"}'], pa.struct({"a": pa.int64(), "b": pa.string()})),
        (["null"], pa.string()),
        (["[]"], pa.list_(pa.string())),
        (["{}"], pa.string()),
    ],
)
def test_types(tmp_path: Path, items: list[str], kind: pa.DataType) -> None:
    dataset = opened(tmp_path / "x.jsonl", *('{"v": ' + item + "}" for item in items))
    assert dataset.schema.field("v").type == kind
    assert dataset.num_rows == len(items)


def test_values_of_several_kinds_are_text(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    assert values(path, "1", '"x"', '{"a": [true, null]}', "null") == ["1", "x", '{"a": [true, null]}', None]


def test_numbers_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    assert values(path, "9007199254740993", "0.5") == ["9007199254740993", "0.5"]
    assert values(path, "9223372036854775808") == ["9223372036854775808"]
    assert values(path, "1e400", "2") == ["1e400", "2"]
    assert values(path, "1e-400", "2") == ["1e-400", "2"]
    assert values(path, "0.1234567890123456789", "1.10", "1e5") == ["0.1234567890123456789", "1.10", "1e5"]
    assert values(path, '"x"', "1.10", "1E5") == ["x", "1.10", "1E5"]
    assert values(path, "[0.1234567890123456789, 0.5]") == [["0.1234567890123456789", "0.5"]]


@pytest.mark.parametrize(
    "number", ["0.1234567890123456789", "1e-400", "-1.2345678901234567890e-7", "123456789012345678.5"]
)
@pytest.mark.parametrize("before", ["", "0.30000000000000004", "12345678901234567890.0", "5e-324"])
def test_a_number_that_would_be_rounded_among_doubles(tmp_path: Path, number: str, before: str) -> None:
    """The type is known from the first number on, so the others are read by pyarrow."""
    block = TextBlock(0, f'{{"v": {before or 0.5}}}\n{{"v":{number}}}\n'.encode(), 1, 0)
    schema = pa.schema({"v": pa.float64()})
    reading = JsonLines(tmp_path / "x.jsonl").read(block, schema)
    assert (reading.rows, reading.schema) == (None, pa.schema({"v": pa.string()}))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_doubles_are_never_taken_for_rounded(numbers: list[float]) -> None:
    written = json.dumps({"v": numbers, "id": "x, 1.23456789012345678901, y"})
    assert not loses_json_digits(written.split(', "id"')[0].encode())
    assert loses_json_digits(written.encode())


def test_values_nested_as_deep_as_a_table_can_hold(tmp_path: Path) -> None:
    assert values(tmp_path / "x.jsonl", "[" * 50 + "1" + "]" * 50)
    with pytest.raises(FileProblem, match=r"line 2 .*more than 50 deep"):
        opened(tmp_path / "x.jsonl", '{"v": "' + "[" * 60 + '"}', '{"v": ' + "[" * 51 + "]" * 51 + "}")


def test_members_that_come_late_become_columns(tmp_path: Path) -> None:
    rows = (
        opened(tmp_path / "x.jsonl", '{"a": 1}', '{"b": "2013-01-01", "a": 2}', "", '{"c": [1]}')
        .read()
        .to_pylist()
    )
    assert rows == [
        {"a": 1, "b": None, "c": None},
        {"a": 2, "b": dt.date(2013, 1, 1), "c": None},
        {"a": None, "b": None, "c": [1]},
    ]


def test_objects_without_members_are_rows_where_others_have_members(tmp_path: Path) -> None:
    rows = opened(tmp_path / "x.jsonl", "{}", "{}", '{"a": 1}', "{}").read().to_pylist()
    assert rows == [{"a": None}, {"a": None}, {"a": 1}, {"a": None}]


@pytest.mark.parametrize("first_bytes", [4, 1 << 20])
def test_objects_without_members_alone_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_bytes: int
) -> None:
    monkeypatch.setattr(opening, "FIRST_BYTES", first_bytes)
    with pytest.raises(FileProblem, match="holds no columns"):
        opened(tmp_path / "x.jsonl", "{}", "{}", "{}").read()
    with Store.open(tmp_path / "store") as store:
        with pytest.raises(FileProblem, match="holds no columns"):
            import_file(tmp_path / "x.jsonl", store)
        assert store.tables == []


@pytest.mark.parametrize("line", ['{"a": ' + "[" * 100_000, '{"a": ' + "[" * 1_000 + "]" * 1_000 + "}"])
def test_a_file_nested_too_deep_is_dragged_without_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.jsonl").write_text(line + "\n")
    assert kind_of(tmp_path / "x.jsonl").label == "JSON lines"


def test_the_extension_does_not_matter(tmp_path: Path) -> None:
    assert opened(tmp_path / "x.csv", '{"a, b": 1}').format == "JSON lines"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=5,
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), NESTED, min_size=1), min_size=1, max_size=6))
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("json") / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row, actual in zip(rows, open_dataset(path).read().to_pylist(), strict=True):
        assert set(row) <= set(actual)
        assert all(_same(row.get(name), value) for name, value in actual.items()), (row, actual)


def _same(value: Any, actual: Any) -> bool:
    if isinstance(actual, str):
        return value == actual or (not isinstance(value, str) and json.loads(actual) == value)
    if isinstance(actual, list):
        return isinstance(value, list) and len(value) == len(actual) and all(map(_same, value, actual))
    if isinstance(actual, dict):
        return isinstance(value, dict) and all(_same(value.get(name), item) for name, item in actual.items())
    if isinstance(actual, dt.date):
        return str(actual) == value or actual.isoformat() == value
    return bool(value == actual)
