"""Reads are correct with scattered changes and deletions, for columns of any type, old and new."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, col
from lamella.core.errors import Cancelled
from lamella.core.jobs import Job, Progress
from lamella.core.scan import parallel
from lamella.core.scan.parquet_file import Footer
from lamella.core.store import Table, rewrite

ROWS = 8_000
Row = dict[str, Any]
KINDS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "number": (pa.int64(), lambda n: n * 7),
    "small": (pa.int16(), lambda n: None if n % 5 == 0 else n % 1000),
    "flag": (pa.bool_(), lambda n: None if n % 11 == 0 else n % 3 == 0),
    "float": (pa.float64(), lambda n: math.nan if n % 9 == 0 else n / 4),
    "text": (pa.string(), lambda n: None if n % 7 == 0 else f"text {n}"),
    "view": (pa.string_view(), lambda n: None if n % 8 == 0 else f"a text of more than twelve bytes {n}"),
    "money": (pa.decimal128(20, 2), lambda n: Decimal(n).scaleb(-2)),
    "at": (pa.timestamp("us"), lambda n: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=n)),
    "place": (pa.struct({"x": pa.int32(), "name": pa.string()}), lambda n: {"x": n, "name": f"p{n}"}),
    "list": (pa.list_(pa.int32()), lambda n: None if n % 6 == 0 else list(range(n % 4))),
}


def made(n: int) -> Row:
    return {name: make(n) for name, (_, make) in KINDS.items()}


def told(rows: list[Row]) -> list[str]:
    """Compare texts, since NaN does not equal itself."""
    return [repr(sorted(row.items())) for row in rows]


@pytest.fixture(scope="module")
def changed_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Table, dict[int, Row]]]:
    """A table of two files, with cells in a change file and in the catalog, deleted rows and pending rows."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Store.open(tmp_path_factory.mktemp("pending") / "store") as store,
    ):
        patch.setattr(rewrite, "SMALL_ROWS", ROWS // 4)  # changes of a third of the rows go to a file
        patch.setattr(parallel, "FEWEST_CELLS", ROWS)  # reads have several parts
        schema = pa.schema({name: kind for name, (kind, _) in KINDS.items()})
        model = {n: made(n) for n in range(ROWS)}
        table = store.create_table("t", pa.Table.from_pylist(list(model.values()), schema=schema))
        table.columns.add("later", pa.int32())
        for row in model.values():
            row["later"] = None
        change(table, model, range(3, ROWS, 3), lambda n: made(n + 1) | {"later": n})
        change(table, model, range(1, ROWS, 199), lambda n: {"number": -n, "text": None, "place": None})
        more = [made(n) | {"later": -n} for n in range(5)]
        model.update(zip(range(ROWS, ROWS + 5), more, strict=True))
        table.insert(more)
        gone = [*range(2, ROWS, 13), ROWS + 2]
        table.delete(ids=gone)
        for row_id in gone:
            del model[row_id]
        assert {kind for kind, _ in table._state().cells} == {"change_files", "pending_cells"}
        yield table, model


def change(table: Table, model: dict[int, Row], ids: range, new: Callable[[int], Row]) -> None:
    rows = [{"_id": row_id} | new(row_id) for row_id in ids]
    table.update(rows)
    for row in rows:
        model[row["_id"]].update({name: value for name, value in row.items() if name != "_id"})


def test_everything_is_read(changed_table: tuple[Table, dict[int, Row]]) -> None:
    table, model = changed_table
    for _ in range(2):
        assert told(table.read().to_pylist()) == told([{"_id": i} | row for i, row in model.items()])


@pytest.mark.parametrize("names", [["later"], ["view", "number"], ["place.x", "flag"], ["text", "text"]])
def test_some_columns_are_read(changed_table: tuple[Table, dict[int, Row]], names: list[str]) -> None:
    table, model = changed_table
    rows_read = table.read(columns=names)
    assert rows_read.column_names == names
    for name, column in zip(names, rows_read.columns, strict=True):
        outer, _, inner = name.partition(".")
        cells = [row[outer] for row in model.values()]
        expected = [cell and cell[inner] for cell in cells] if inner else cells
        assert column.to_pylist() == expected


def test_rows_are_found_and_got(changed_table: tuple[Table, dict[int, Row]]) -> None:
    table, model = changed_table
    actual = table.read(where=(col("number") < 0) | (col("later") == 33)).to_pylist()
    expected = [{"_id": i} | row for i, row in model.items() if row["number"] < 0 or row["later"] == 33]
    assert told(actual) == told(expected) and len(actual) > 30
    for one in (0, 1, 3, 200, 202, ROWS - 1, ROWS + 4):
        got = table.get(one)
        assert got is not None and told([got]) == told([{"_id": one} | model[one]])


def test_reading_it_all_can_be_cancelled(changed_table: tuple[Table, dict[int, Row]]) -> None:
    reports: list[Progress] = []

    def listener(progress: Progress) -> None:
        reports.append(progress)
        job.cancel()

    job = Job(listener)
    with pytest.raises(Cancelled):
        changed_table[0].read(job=job)
    assert len(reports) == 1


def test_a_change_file_is_not_opened_for_every_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{i}" for i in range(60)]
    with Store.open(tmp_path / "store") as store:
        table = store.create_table("t", {name: np.arange(20_000) for name in names})
        table.update([{"_id": row_id} | dict.fromkeys(names, -row_id) for row_id in range(1, 8_001, 2)])
        assert [kind for kind, _ in table._state().cells] == ["change_files"]
    files: list[Path] = []
    open_file = Footer.open

    def noted(footer: Footer, *arguments: Any) -> pq.ParquetFile:
        files.append(footer.path)
        return open_file(footer, *arguments)

    monkeypatch.setattr(Footer, "open", noted)
    with Store.open(tmp_path / "store", read_only=True) as store:
        rows, row = store["t"].read(), store["t"].get(3)
    expected = np.arange(20_000)
    expected[1:8_001:2] *= -1
    assert all(rows.column(name).to_pylist() == expected.tolist() for name in names)
    assert row == {"_id": 3} | dict.fromkeys(names, -3)
    assert len([path for path in files if path.suffix == ".cells"]) <= 3
