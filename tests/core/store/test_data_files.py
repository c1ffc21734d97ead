"""The layout of data files: the encoding of their columns, and the contents of their footers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col
from lamella.core.errors import BadData, StoreProblem
from lamella.core.scan.row_ids import ID_COLUMN
from lamella.core.scan.snapshot import Column
from lamella.core.store.data_files import DataFile

COUNT = 2_000
GENERATOR = np.random.default_rng(5)
INTS, FLOATS = GENERATOR.integers(0, 10**6, COUNT), GENERATOR.random(COUNT)
WORDS = pa.array([f"word {i % 7}" for i in range(COUNT)])
NAMES = pa.array([f"name {i}" for i in range(COUNT)])


def footers(store: Store) -> list[pq.FileMetaData]:
    return [pq.ParquetFile(path).metadata for path in sorted((store.path / "data").rglob("*.parquet"))]


def leaves(store: Store) -> dict[str, Any]:
    group = footers(store)[0].row_group(0)
    return {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}


def lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(0, COUNT + 1, 2), pa.int32()), values)


def test_leaves_inside_nested_values_are_encoded_like_columns(tmp_path: Path) -> None:
    flat = {"ints": pa.array(INTS), "floats": pa.array(FLOATS), "words": WORDS, "names": NAMES}
    data = pa.table(
        flat | {"s": pa.StructArray.from_arrays(list(flat.values()), names=list(flat))}
        | {"m": pa.MapArray.from_arrays(pa.array(range(COUNT + 1), pa.int32()), NAMES, pa.array(INTS))}
    )  # fmt: skip
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", data)
        actual = leaves(store)
        for name in flat:
            assert actual[f"s.{name}"].encodings == actual[name].encodings, name
        assert "DELTA_BINARY_PACKED" in actual["m.key_value.value"].encodings
        store.create_table("l", pa.table({"l": lists(pa.array(FLOATS))}))
        assert store["l"].read(columns=["l"]).column("l").to_pylist() == lists(pa.array(FLOATS)).to_pylist()


@pytest.mark.parametrize("shape", ["column", "field"])
def test_a_number_behind_nan_is_found(tmp_path: Path, shape: str) -> None:
    values = pa.array([1.0] * (COUNT - 1) + [float("nan")])
    column = values if shape == "column" else pa.StructArray.from_arrays([values], names=["f"])
    with Store.open(tmp_path / "s") as store:
        store.create_table("t", pa.table({"x": column}))
        path = "x" if shape == "column" else "x.f"
        assert leaves(store)[path].statistics is None
        inner_column = "x" if shape == "column" else "x.f"
        assert store.sql(f"select count(*) as n from t where {inner_column} > 5").to_pylist() == [{"n": 1}]


def test_columns_without_nulls_are_required_file_by_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", pa.table({"a": INTS, "b": NAMES}))
        table.insert(pa.table({"a": INTS, "b": pa.array([None, *NAMES.to_pylist()[1:]])}))
        required = [
            {
                path.name
                for path in (footer.schema.column(i) for i in range(3))
                if path.max_definition_level == 0
            }
            for footer in footers(store)
        ]
        assert sorted(required, key=len) == [{"_id", "a"}, {"_id", "a", "b"}]
        assert table.count(col("b").is_null()) == 1
        table.update_where([0], {"$set": {"a": None}})
        table.maintenance.flush()
        assert table.read(columns=["a"]).column("a").null_count == 1


def test_wide_rows_make_short_row_groups(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("wide", pa.table({f"c{i}": np.arange(5_000) for i in range(1_000)}))
        assert max(f.row_group(i).num_rows for f in footers(store) for i in range(f.num_row_groups)) < 2_500


@pytest.mark.parametrize("inside", ["ints", "floats", "flags", "names"])
@pytest.mark.parametrize("outside", ["ints", "floats", "flags", "names"])
def test_a_column_may_be_called_like_the_path_of_a_field(tmp_path: Path, outside: str, inside: str) -> None:
    kinds = {"ints": pa.array(INTS), "floats": pa.array(FLOATS), "flags": pa.array(INTS > 9), "names": NAMES}
    data = pa.table({"a.b": kinds[outside], "a": pa.StructArray.from_arrays([kinds[inside]], names=["b"])})
    with Store.open(tmp_path / "s") as store:
        actual = store.create_table("t", data).read()
        assert actual.drop_columns(["_id"]).equals(data)


def test_a_column_called_like_the_path_of_a_field_widens_by_its_own_values(tmp_path: Path) -> None:
    field = pa.StructArray.from_arrays([pa.array([1] * COUNT)], names=["b"])
    data = pa.table({"a": field, "a.b": pa.array([2**53 + 1] * COUNT)})
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", data)
        with pytest.raises(BadData, match=r"column 'a\.b'"):
            table.update([{"_id": 0, "a.b": 0.5}])


def test_rows_that_parquet_refuses_are_told_apart_from_a_disk_that_does(tmp_path: Path) -> None:
    far = pa.table({"_id": pa.array([0]), "at": pa.array([2**60], pa.timestamp("s"))})
    columns = (ID_COLUMN, Column("at", pa.timestamp("s"), 1))
    file = DataFile(tmp_path / "x.parquet", columns, [], far)
    with pytest.raises(StoreProblem, match=r"x\.parquet: rows could not be written as Parquet\. .*overflow"):
        file.add(far)
    file.abandon()
