"""A virtual table has the columns of its files, reads only the parts it needs and shows one version."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, open_dataset
from lamella.core.bridge import connect, left_out, register, row_groups
from lamella.core.errors import BadData, FileProblem, LamellaError, UnknownTable
from tests.core.datasets.workbooks import workbook

NS = "2023-11-14 22:13:20.000000001"
PLACE = pa.struct([("city", pa.string()), ("zip", pa.int32())])


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Four row groups of 25 rows, in two files: n and name rise, x is null in the last one."""
    folder = tmp_path / "numbers"
    folder.mkdir()
    for part in (0, 1):
        n = list(range(part * 50, part * 50 + 50))
        rows = {
            "n": n,
            "name": [f"{'abcd'[i // 25].upper()}{i:02}" for i in n],
            "x": [None if i >= 75 else i / 2 for i in n],
            "at": [pa.scalar(i * 86_400_000_000, pa.timestamp("us")) for i in n],
        }
        pq.write_table(pa.table(rows), folder / f"{part}.parquet", row_group_size=25)
    return folder


@pytest.mark.parametrize(
    ("condition", "groups_read", "rows"),
    [
        ("n = 30", 1, 1),
        ("n = '30'", 1, 1),
        ("n > 74.5", 1, 25),
        ("n >= 75 AND n < '76.0'", 1, 1),
        ("n < 0", 0, 0),
        ("n IN (1, 2, '80', 'x')", 2, 3),
        ("n < 'a'", 4, 100),
        ("n > 'a'", 0, 0),
        ("name <> 'A00' AND name < 'B'", 1, 24),
        ("name LIKE 'c%'", 1, 25),
        ("name LIKE 'C5_'", 1, 10),
        ("name GLOB 'c*'", 0, 0),
        ("name = 30", 4, 0),
        ("name > x'00'", 0, 0),
        ("at BETWEEN '1970-02' AND '1970-02-10'", 1, 9),
        ("at >= '1970-04-01 00:00:00.000001'", 1, 9),
        ("x < 5", 1, 10),
        ("rowid = 26", 1, 1),
        ("rowid > 75", 1, 25),
        ("n = NULL", 0, 0),
        ("n IS NULL", 0, 0),
        ("name IS NULL", 0, 0),
    ],
)
def test_only_row_groups_that_may_hold_an_answer_are_read(
    numbers: Path, condition: str, groups_read: int, rows: int
) -> None:
    connection = connect(numbers)
    actual = connection.execute(f"SELECT count(*) FROM numbers WHERE {condition}").get
    counted = row_groups(connection)
    connection.close()
    assert (actual, counted.read, counted.skipped) == (rows, groups_read, 4 - groups_read)


def test_values_are_compared_with_columns_of_other_tables_by_sqlites_rules(numbers: Path) -> None:
    """A column of numbers that holds a text makes texts numbers where they are compared."""
    connection = connect([])
    register(connection, "codes", open_dataset(_written(numbers.parent, {"code": ["5", "12", "x"]})))
    connection.execute("CREATE TABLE other (n INTEGER); INSERT INTO other VALUES ('!')")
    assert _all(connection, "SELECT code FROM codes, other WHERE code < n") == [("5",), ("12",)]
    assert _all(connection, "SELECT code FROM codes WHERE code < '!'") == []
    connection.close()


def test_the_inner_table_of_a_join_is_scanned_a_few_times_and_looked_up_from_then_on(numbers: Path) -> None:
    connection = connect(numbers)
    connection.execute("CREATE TABLE asked (n, name TEXT); INSERT INTO asked SELECT n, name FROM numbers")
    connection.execute("INSERT INTO asked VALUES ('7', 'A07'), (x'37', 'A07'), (NULL, NULL), (7.0, 'A07')")
    before = row_groups(connection).read
    joined = "SELECT count(*), sum(t.n) FROM asked CROSS JOIN numbers t ON t.n = asked.n"
    assert _all(connection, joined) == [(102, 4964)]
    assert row_groups(connection).read - before < 40
    assert _all(connection, f"{joined} AND t.name < 'B'") == [(27, 314)]
    pairs = "SELECT count(*), min(t.rowid), max(t.rowid) FROM asked CROSS JOIN numbers t USING (name)"
    assert _all(connection, pairs) == [(103, 1, 100)]
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM asked CROSS JOIN numbers t USING (kind, name)",
        "SELECT count(*) FROM asked CROSS JOIN numbers t ON t.rowid = asked.number",
        "SELECT count(*) FROM asked WHERE EXISTS (SELECT 1 FROM numbers t WHERE t.name = asked.name)",
    ],
)
def test_joins_by_several_keys_row_ids_and_subqueries_are_looked_up_too(
    numbers: Path, statement: str
) -> None:
    connection = connect([])
    kinds = pa.table({"kind": ["same"] * 100, "name": [f"{i:03}" for i in range(100)]})
    pq.write_table(kinds, numbers.parent / "kinds.parquet", row_group_size=25)
    register(connection, "numbers", open_dataset(numbers.parent / "kinds.parquet"))
    connection.execute("CREATE TABLE asked AS SELECT rowid AS number, kind, name FROM numbers")
    before = row_groups(connection).read
    assert _all(connection, statement) == [(100,)]
    assert row_groups(connection).read - before <= 25
    connection.close()


def test_many_moments_are_looked_for_at_once(numbers: Path) -> None:
    connection = connect(numbers)
    connection.execute("CREATE TABLE asked (at TEXT)")
    connection.execute("INSERT INTO asked SELECT at FROM numbers WHERE n % 3 = 0")
    connection.execute("INSERT INTO asked VALUES ('soon'), ('1970-01-02'), ('1970-01-02 00:00:00.0')")
    assert _all(connection, "SELECT count(*) FROM numbers WHERE at IN (SELECT at FROM asked)") == [(34,)]
    connection.close()


def test_what_sqlite_cannot_have_as_a_table_is_left_out_and_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.create_table("sqlite_things", {"n": [1]})
        store.create_table("plain", {"n": [1]})
        connection = connect(store)
        assert _all(connection, "SELECT n FROM plain") == [(1,)]
        assert list(left_out(connection)) == ["sqlite_things"]
        with pytest.raises(BadData, match="'sqlite_things'"):
            register(connection, "sqlite_things", store["plain"])
        connection.close()


def test_nan_and_negative_zero_are_what_sqlite_makes_of_them(tmp_path: Path) -> None:
    path = _written(tmp_path, {"x": [float("nan"), -0.0, 1.5, None]})
    connection = connect(path)
    assert _all(connection, "SELECT rowid FROM rows WHERE x IS NULL") == [(1,), (4,)]
    assert _all(connection, "SELECT typeof(x), x || '' FROM rows") == [
        ("null", None), ("real", "0.0"), ("real", "1.5"), ("null", None),
    ]  # fmt: skip
    connection.close()


def test_every_type_is_declared_and_mapped(tmp_path: Path) -> None:
    columns = {
        "u": (pa.uint64(), 2**64 - 1, "INTEGER", 2.0**64),
        "whole": (pa.decimal128(18, 0), Decimal(10**17 + 1), "INTEGER", 10**17 + 1),
        "price": (pa.decimal128(5, 2), Decimal("9.20"), "REAL", 9.2),
        "long": (pa.decimal256(50, 10), Decimal("0.1"), "REAL", 0.1),
        "half": (pa.float16(), 0.5, "REAL", 0.5),
        "raw": (pa.binary(2), b"ab", "BLOB", b"ab"),
        "view": (pa.string_view(), "é", "TEXT", "é"),
        "ns": (pa.timestamp("ns", "Europe/Oslo"), 17 * 10**17 + 1, "TEXT", NS),
        "id": (pa.uuid(), b"\1" * 16, "TEXT", "01010101-0101-0101-0101-010101010101"),
        "at": (PLACE, {"city": "Ås", "zip": None}, "TEXT", '{"city": "Ås", "zip": null}'),
        "nothing": (pa.null(), None, "TEXT", None),
    }  # fmt: skip
    arrays = {name: pa.array([value], kind) for name, (kind, value, _, _) in columns.items()}
    pq.write_table(pa.table(arrays), tmp_path / "kinds.parquet")
    connection = connect(tmp_path / "kinds.parquet")
    declarations = {name: kind for _, name, kind, *_ in connection.execute("PRAGMA table_info(kinds)")}
    assert declarations == {name: declared for name, (_, _, declared, _) in columns.items()}
    actual = _all(connection, "SELECT * FROM kinds")[0]
    assert dict(zip(columns, actual, strict=True)) == {
        name: expected for name, (_, _, _, expected) in columns.items()
    }
    assert _all(connection, "SELECT json_extract(at, '$.city') FROM kinds WHERE price = 9.2") == [("Ås",)]
    connection.close()


def test_names_that_sqlite_takes_for_the_same_get_a_number(tmp_path: Path) -> None:
    path = _written(tmp_path, {"a": [1], "A": [2], "a_2": [3], "É": [4], "é": [5], 'say "x"': [6]})
    connection = connect([path, path])
    assert [name for _, name, *_ in connection.execute("PRAGMA table_info(rows)")] == [
        "a", "A_3", "a_2", "É", "é", 'say "x"',
    ]  # fmt: skip
    assert _all(connection, 'SELECT "A_3", "say ""x""" FROM rows_2') == [(2, 6)]
    connection.close()


def test_only_the_columns_that_are_named_are_decoded(tmp_path: Path) -> None:
    """The file is cut short where the second column lies: reading the first does not touch that."""
    rows = pa.table({"first": list(range(1000)), "second": [str(i) * 50 for i in range(1000)]})
    path = tmp_path / "cut.parquet"
    pq.write_table(rows, path, use_dictionary=False, compression="none")
    place = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    whole = path.read_bytes()
    path.write_bytes(whole[:place] + b"\xff" * 200 + whole[place + 200 :])
    connection = connect(path)
    assert _all(connection, "SELECT sum(first) FROM cut WHERE first < 10") == [(45,)]
    with pytest.raises(FileProblem, match="could not be read"):
        connection.execute("SELECT max(second) FROM cut").get  # noqa: B018
    connection.close()


def test_text_files_are_tables_too(tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text("name,people\n" + "Ås,21\n" * 5000 + "Oslo,7.5\n", encoding="utf8")
    connection = connect(tmp_path / "towns.csv")
    assert _all(connection, "SELECT count(*), typeof(people), sum(people) FROM towns WHERE people > '8'") == [
        (5000, "real", 105_000.0)
    ]
    connection.close()


def test_folders_of_partitions_are_skipped_whole(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "trips" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"n": [1, 2, 3]}), folder / "a.parquet")
    connection = connect(tmp_path / "trips")
    assert _all(connection, "SELECT sum(n) FROM trips WHERE year = 2024") == [(6,)]
    assert row_groups(connection).skipped == 1
    connection.close()


def test_a_statement_sees_one_version_and_the_next_one_what_came_since(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shop") as store:
        orders = store.create_table("orders", {"n": [1, 2, 3]})
        connection = connect(store)
        rows = connection.execute("SELECT _id, rowid, n FROM orders")
        assert next(rows) == (0, 0, 1)
        orders.update_where([1], {"$set": {"n": 20}})
        orders.delete(ids=[0])
        assert list(rows) == [(1, 1, 2), (2, 2, 3)]
        assert _all(connection, "SELECT rowid, n FROM orders WHERE n > 2") == [(1, 20), (2, 3)]
        assert _all(connection, "SELECT n FROM orders WHERE rowid = 1") == [(20,)]
        connection.close()


def test_tables_are_made_in_sql_at_a_version_if_need_be(tmp_path: Path, numbers: Path) -> None:
    with Store.open(tmp_path / "shop") as store:
        orders = store.create_table("orders", {"n": [1]})
        orders.history.name_version("first")
        orders.insert([{"n": 2}])
    connection = connect([])
    for name, words in {
        "now": f"'{tmp_path}/shop', 'orders'",
        "old": f"'{tmp_path}/shop', 'orders', 'first'",
        "files": f"'{numbers}/*.parquet'",
    }.items():
        connection.execute(f"CREATE VIRTUAL TABLE {name} USING lamella({words})")
    counts = "SELECT (SELECT count(*) FROM now), (SELECT count(*) FROM old), (SELECT count(*) FROM files)"
    assert _all(connection, counts) == [(2, 1, 100)]
    with pytest.raises(UnknownTable, match="Did you mean 'orders'"):
        connection.execute(f"CREATE VIRTUAL TABLE x USING lamella('{tmp_path}/shop', 'order')")
    with pytest.raises(FileProblem, match="is one table"):
        connection.execute(f"CREATE VIRTUAL TABLE x USING lamella('{numbers}', 'orders')")
    with pytest.raises(LamellaError, match="no store here"):
        connection.execute(f"CREATE VIRTUAL TABLE x USING lamella('{numbers}', 'orders', 'first')")
    connection.close()


def test_each_table_of_a_file_is_a_table(tmp_path: Path) -> None:
    path = workbook(tmp_path / "shop.xlsx", {"one": [["n"], [1]], "two": [["n"], [2], [3]]})
    connection = connect(path)
    assert _all(connection, "SELECT (SELECT sum(n) FROM one), (SELECT sum(n) FROM two)") == [(1, 5)]
    connection.execute(f"CREATE VIRTUAL TABLE again USING lamella('{path}', 'two')")
    assert _all(connection, "SELECT count(*) FROM again") == [(2,)]
    connection.close()


def test_nothing_can_be_changed_and_a_name_is_given_once(numbers: Path) -> None:
    connection = connect(numbers)
    for statement in (
        "DELETE FROM numbers",
        "INSERT INTO numbers (n) VALUES (1)",
        "UPDATE numbers SET n = 1",
    ):
        with pytest.raises(apsw.Error, match="may not be modified"):
            connection.execute(statement)
    with pytest.raises(BadData, match="has a table 'NUMBERS' already"):
        register(connection, "NUMBERS", open_dataset(numbers))
    connection.close()


def test_a_column_that_went_or_changed_since_is_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shop") as store:
        orders = store.create_table("orders", {"n": [1], "m": [2], "k": [3]})
        connection = connect(store)
        orders.columns.drop("n")
        orders.columns.rename("m", "n")
        orders.insert([{"k": 0.5}])
        assert _all(connection, "SELECT m FROM orders") == [(2,), (None,)]
        with pytest.raises(LamellaError, match="column 'n' was dropped"):
            connection.execute("SELECT n FROM orders")
        with pytest.raises(LamellaError, match="column 'k' is of type double now"):
            connection.execute("SELECT k FROM orders")
        connection.close()


def test_closing_lets_go_of_the_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shop") as store:
        store.create_table("orders", {"n": [1]})
        connection = connect(tmp_path / "shop")
        assert _all(connection, "SELECT n FROM orders") == [(1,)]
        connection.close()
        store.drop_table("orders")
        assert store.maintenance.vacuum().waiting == ()


def _written(folder: Path, columns: dict[str, list[Any]]) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(list(columns.values()), list(columns)), path)
    return path


def _all(connection: apsw.Connection, statement: str) -> list[tuple[Any, ...]]:
    return list(connection.execute(statement))
