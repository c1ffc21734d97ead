"""Parquet files of which some columns cannot be read: the others are, and the rest is named."""

from __future__ import annotations

import base64
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

import lamella
from lamella import open_dataset
from lamella.core.datasets.edit_problem import edit_problem
from lamella.core.errors import FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.query.storage import read_storage
from lamella.core.scan.thrift import Value
from tests.core.datasets.delta_logs import add, field, table
from tests.core.datasets.parquet_footer import LOGICAL_TYPE, SCHEMA, read_footer, write_footer

KEYS = {"footer": "0123456789abcdef", "column": "fedcba9876543210"}
ENCRYPTED = "it is encrypted, and there is no way to pass keys"
ROWS = pa.table(
    {
        "n": [3, 1, 2, None],
        "secret": ["a", "b", None, "d"],
        "place": [{"lat": 1.5, "code": "x"}, None, {"lat": 2.5, "code": "y"}, {"lat": None, "code": "z"}],
        "word": pa.array(["b", "a", "b", "a"]).dictionary_encode(),
    }
)


class _Keys(encryption.KmsClient):  # type: ignore[misc] # pyarrow ships no types
    def __init__(self, config: encryption.KmsConnectionConfig) -> None:
        super().__init__()
        self._keys = config.custom_kms_conf

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes + self._keys[master_key_identifier].encode())

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)[: -len(self._keys[master_key_identifier])]


def encrypted(path: Path, rows: pa.Table, columns: list[str], row_group_size: int = 2) -> Path:
    """The rows, with these columns encrypted and a footer that everybody can read."""
    connection = encryption.KmsConnectionConfig(custom_kms_conf=KEYS)
    properties = encryption.CryptoFactory(_Keys).file_encryption_properties(
        connection,
        encryption.EncryptionConfiguration(
            footer_key="footer", column_keys={"column": columns}, plaintext_footer=True
        ),
    )
    with pq.ParquetWriter(path, rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows, row_group_size)
    return path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return encrypted(tmp_path / "t.parquet", ROWS, ["secret"])


def test_the_other_columns_of_a_file_with_an_encrypted_column_are_read(secret: Path) -> None:
    dataset, others = open_dataset(secret), ROWS.drop_columns("secret")
    assert dataset.schema.names == ["n", "place", "word"]
    assert pa.types.is_dictionary(dataset.schema.field("word").type)
    assert dataset.read().to_pylist() == others.to_pylist()
    assert dataset.remarks == (f"Column 'secret' is left out: {ENCRYPTED}",)
    assert dataset.read(["place.code"], "place.lat > 2").to_pylist() == [{"place.code": "y"}]
    assert dataset.read(["n"], "word = 'b'", sort=["n"])["n"].to_pylist() == [2, 3]
    assert dataset.profile("n").nulls == 1


def test_sql_answers_from_the_other_columns(secret: Path) -> None:
    rows = lamella.sql("SELECT * FROM t ORDER BY n", {"t": secret})
    assert rows.schema.names == ["n", "place", "word"]
    assert rows["place"].to_pylist()[0] is None and rows["n"].to_pylist() == [1, 2, 3, None]
    sums = lamella.sql("SELECT word, sum(n) AS n FROM t GROUP BY word ORDER BY word", {"t": secret})
    assert sums.to_pylist() == [{"word": "a", "n": 1}, {"word": "b", "n": 5}]


def test_nothing_is_said_about_the_values_of_a_column_left_out(secret: Path) -> None:
    """Asking pyarrow for the metadata of an encrypted column would end the process."""
    dataset = open_dataset(secret)
    storage = read_storage(dataset.snapshot(), None, Job())
    assert [column.name for column in storage.columns] == ["n", "place", "word"]
    for ask in (lambda: dataset.read(["secret"]), lambda: dataset.count("secret = 'a'")):
        with pytest.raises(UnknownColumn, match="'secret'"):
            ask()


def test_a_file_with_columns_left_out_is_not_saved_over(secret: Path) -> None:
    problem = edit_problem(open_dataset(secret))
    assert "has columns that cannot be read: 'secret'. Saving would lose them" in str(problem)


def test_a_file_whose_columns_are_all_encrypted_is_refused(tmp_path: Path) -> None:
    path = encrypted(tmp_path / "t.parquet", pa.table({"a": [1], "b": ["x"]}), ["a", "b"])
    with pytest.raises(FileProblem, match=r"no column that can be read\. Column 'a': it is encrypted"):
        open_dataset(path)


def test_a_column_that_cannot_be_read_in_one_file_is_left_out_of_all(tmp_path: Path) -> None:
    """Where a file lacks a column its rows are null, which these rows are not."""
    folder = tmp_path / "many"
    folder.mkdir()
    pq.write_table(ROWS, folder / "1.parquet")
    encrypted(folder / "2.parquet", ROWS, ["secret"])
    dataset = open_dataset(folder)
    assert dataset.read().to_pylist() == ROWS.drop_columns("secret").to_pylist() * 2
    assert dataset.remarks == (f"Column 'secret' is left out: in 2.parquet, {ENCRYPTED}",)
    counted = lamella.sql("SELECT count(n) AS n, count(place) AS p FROM t", {"t": dataset})
    assert counted.to_pylist() == [{"n": 6, "p": 6}]


def test_a_delta_table_is_not_read_without_one_of_its_columns(tmp_path: Path) -> None:
    """Its log says that the table has the column, and nulls in its place would be wrong."""
    entry = add(tmp_path, "a.parquet", ROWS.select(["n", "secret"]))
    path = encrypted(tmp_path / "a.parquet", ROWS.select(["n", "secret"]), ["secret"])
    entry["add"]["size"] = path.stat().st_size
    table(tmp_path, [field("n", "long"), field("secret", "string")], [entry])
    with pytest.raises(FileProblem, match=r"a\.parquet: has a column that cannot be read: 'secret'"):
        open_dataset(tmp_path)


def test_a_file_of_which_no_column_can_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    pl.DataFrame({"wide": pl.Series([1], dtype=pl.Int128)}).write_parquet(path)
    with pytest.raises(FileProblem, match=r"no column that can be read\. Column 'wide': .*more than 64 bits"):
        open_dataset(path)


def test_other_bytes_of_a_fixed_length_remain_where_the_types_of_arrow_can_be_read(tmp_path: Path) -> None:
    rows = pa.table({"fixed": pa.array([b"ab", None], pa.binary(2)), "secret": ["x", "y"]})
    path = encrypted(tmp_path / "t.parquet", rows, ["secret"])
    assert open_dataset(path).read().to_pylist() == [{"fixed": b"ab"}, {"fixed": None}]


def test_a_column_whose_type_in_parquet_is_refused_is_left_out(tmp_path: Path) -> None:
    """A decimal of a precision that no type of Arrow has."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": [1, 2], "fixed": pa.array([b"a" * 40] * 2, pa.binary(40))}), path)
    footer = read_footer(path)
    footer.pop(5)  # Arrow's own schema
    decimal = {1: Value(5, 0), 2: Value(5, 90)}
    footer[SCHEMA].content[2][LOGICAL_TYPE] = Value(12, {5: Value(12, decimal)})
    write_footer(path, footer)
    dataset = open_dataset(path)
    assert dataset.read().to_pylist() == [{"n": 1}, {"n": 2}]
    assert dataset.remarks[0].startswith("Column 'fixed' is left out: Arrow cannot read its type: ")
