"""Workbooks: their sheets, where the table begins in one, types, and what cannot be read."""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamella import Store
from lamella.core.datasets import excel, open_dataset
from lamella.core.datasets.formats import tables_of
from lamella.core.datasets.tables import NoSuchTable, SeveralTables
from lamella.core.errors import BadData, FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset
from tests.core.datasets.workbooks import Error, encrypted, open_document, workbook
from tests.slow_tests import examples

ROUNDS = examples(15)

SALES = [["day", "shop", "n", "price", "ok"]] + [
    [dt.date(2024, 1, 1 + n), f"Rome {n}", n, n + 0.5, n % 2 == 0] for n in range(9)
]


def opened(path: Path, **options: Any) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache", **options)


def note(dataset: Any, name: str) -> str:
    return (dataset.schema.field(name).metadata or {}).get(b"note", b"").decode()


def test_a_workbook_of_one_sheet_opens_as_it(tmp_path: Path) -> None:
    dataset = opened(workbook(tmp_path / "sales.xlsx", {"Sheet1": SALES}))
    kinds = [pa.date32(), pa.string(), pa.int64(), pa.float64(), pa.bool_()]
    assert (dataset.name, dataset.schema.types) == ("sales", kinds)
    assert [list(row.values()) for row in dataset.read().to_pylist()] == SALES[1:]
    assert dataset.remarks == ()


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "shop.xlsx", {"2023": SALES, "2024": SALES[:3], "Notes": []}, hidden=["2023"])
    assert opened(path).num_rows == 2, "the other two are hidden and empty"
    path = workbook(
        tmp_path / "shop.xlsx", {"2023": SALES, "2024": SALES[:3], "Notes": [], "x": [["a"], ["b"]]}
    )
    with pytest.raises(SeveralTables, match=r"holds 3 sheets.*'2023', '2024', 'x'.*sheet='2023'") as refused:
        opened(path)
    assert [(t.name, t.rows, t.columns, t.is_offered) for t in refused.value.tables] == [
        ("2023", 10, 5, True), ("2024", 3, 5, True), ("Notes", 0, 0, False), ("x", 2, 1, True),
    ]  # fmt: skip
    assert tables_of(path) == list(refused.value.tables)
    assert opened(path, sheet="2024").num_rows == 2 and opened(path, table="x").num_rows == 1
    with pytest.raises(NoSuchTable, match=r"no table '2025'.*'2024'"):
        opened(path, sheet="2025")
    with pytest.raises(FileProblem, match="has no data in sheet 'Notes'"):
        opened(path, sheet="Notes")


def test_hidden_sheets_are_named_and_can_be_opened(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": SALES, "b": SALES[:2]}, hidden=["b"])
    assert opened(path).remarks == ("Hidden in the workbook: b",)
    assert opened(path, sheet="b").num_rows == 1


def test_titles_above_the_header_are_left_out_and_told(tmp_path: Path) -> None:
    titled = [["Sales of the shop"], [], ["Printed", dt.date(2024, 2, 1)], *SALES, [], []]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": titled}))
    assert dataset.schema.names == SALES[0] and dataset.num_rows == 9
    assert dataset.remarks[0] == "2 rows above the table are left out: Sales of the shop; Printed"


@pytest.mark.parametrize(
    ("rows", "header", "names"),
    [
        ([[1, 2], [3, 4]], None, ["column_1", "column_2"]),
        ([["a", "a"], ["b", "c"]], None, ["column_1", "column_2"]),
        ([["a", "b"], ["c", "d"]], None, ["a", "b"]),
        ([["a", "b"], ["c", "d"]], False, ["column_1", "column_2"]),
        ([[2023, 2024], [3, 4]], True, ["2023", "2024"]),
        ([["a", None, "c"], [1, 2, 3]], None, ["a", "column_2", "c"]),
        ([["shop", 2023, 2024], ["Rome", 1.5, 2000], ["Oslo", 7, 8]], None, ["shop", "2023", "2024"]),
        ([["shop", dt.date(2024, 1, 1)], ["Rome", 5]], None, ["shop", "2024-01-01"]),
        ([["Rome", 2023], ["Oslo", 2024]], None, ["column_1", "column_2"]),
        ([["Rome", 5], ["Oslo", 7]], None, ["column_1", "column_2"]),
        ([[2023, 2024], [1, 2]], None, ["column_1", "column_2"]),
    ],
)
def test_the_header_is_the_first_wide_row_of_different_texts(
    tmp_path: Path, rows: list[list[Any]], header: bool | None, names: list[str]
) -> None:
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}), header=header)
    assert dataset.schema.names == names
    assert dataset.num_rows == len(rows) - (names[0] != "column_1")


def test_values_of_several_kinds_are_text_and_counted(tmp_path: Path) -> None:
    rows = [["n", "day"], [1, dt.date(2024, 1, 1)], [2.5, "before 1900"], ["n/a", None], [True, "1899-05-01"]]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}))
    assert dataset.read().to_pydict() == {
        "n": ["1", "2.5", "n/a", "TRUE"],
        "day": ["2024-01-01", "before 1900", None, "1899-05-01"],
    }
    assert note(dataset, "n") == "Holds 2 numbers, 1 text and 1 boolean, so all are shown as text"
    assert note(dataset, "day").startswith("Holds 2 texts and 1 date")


def test_errors_are_null_and_counted(tmp_path: Path) -> None:
    rows = [["n", "m"], [1, Error("#DIV/0!")], [Error("#N/A"), Error("#REF!")], [2, 5]]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}))
    assert dataset.read().to_pydict() == {"n": [1, None, 2], "m": [None, None, 5]}
    assert note(dataset, "n") == "1 cell holds an error of Excel, such as #DIV/0!, and is null here"
    assert note(dataset, "m").startswith("2 cells hold errors")


def test_merged_cells_hold_their_value_once(tmp_path: Path) -> None:
    rows = [["region", "n"], ["North", 1], [None, 2], ["South", 3]]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}, merged=["A2:A3"]))
    assert dataset.read()["region"].to_pylist() == ["North", None, "South"]
    assert dataset.remarks == (
        "1 range of merged cells has the value in the first cell only; the others are null",
    )


@pytest.mark.parametrize("date_1904", [False, True])
def test_dates_of_both_epochs_and_times(tmp_path: Path, date_1904: bool) -> None:
    rows = [
        ["day", "at", "time"],
        [dt.date(1910, 3, 1), dt.datetime(2024, 2, 29, 13, 30), dt.time(6, 0)],
        [dt.date(2100, 12, 31), dt.datetime(1999, 12, 31), dt.time(23, 59, 59)],
    ]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}, date_1904=date_1904))
    assert dataset.schema.types == [pa.date32(), pa.timestamp("us"), pa.time64("us")]
    assert [list(row.values()) for row in dataset.read().to_pylist()] == rows[1:]


ODS = """<table:table-row><table:table-cell office:value-type="string"><text:p>day</text:p></table:table-cell>
<table:table-cell office:value-type="string"><text:p>n</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="date" office:date-value="1850-02-28"/>
<table:table-cell office:value-type="float" office:value="5"/></table:table-row>
<table:table-row><table:table-cell/><table:table-cell office:value-type="percentage" office:value="0.5"/>
</table:table-row>"""


def test_a_workbook_of_open_document(tmp_path: Path) -> None:
    dataset = opened(open_document(tmp_path / "a.ods", ODS.replace("\n", "")))
    assert dataset.read().to_pydict() == {"day": [dt.date(1850, 2, 28), None], "n": [5.0, 0.5]}


def test_leading_zeros_and_empty_rows(tmp_path: Path) -> None:
    rows = [["zip", "n"], ["00501", 1], [], ["10115", None], [None, None], ["04109", 2]]
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": rows}))
    assert dataset.read().to_pydict() == {"zip": ["00501", "10115", "04109"], "n": [1, None, 2]}
    assert dataset.remarks == ("2 empty rows are left out",)


def test_a_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"protected by a password.*Save a copy without"):
        opened(encrypted(tmp_path / "secret.xlsx"))


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": SALES})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FileProblem, match="is a damaged workbook"):
        opened(path)


def rewritten(path: Path, old: str, new: str) -> Path:
    """The sheets of a workbook as another program would have written them."""
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part).decode() for part in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content.replace(old, new) if "worksheets" in part else content)
    return path


def test_blanks_around_numbers_are_no_part_of_them(tmp_path: Path) -> None:
    rows = [["depth", "mag", "place"], [4.5, 41, " 41 "], [15, 4.5, "4.5"]]
    path = rewritten(
        workbook(tmp_path / "quakes.xlsx", {"a": rows}), 's="0"><v>4.5</v>', 't="n"><v> 4.5\n</v>'
    )
    assert opened(path).read().to_pydict() == {
        "depth": [4.5, 15.0], "mag": [41.0, 4.5], "place": [" 41 ", "4.5"]
    }  # fmt: skip


@pytest.mark.parametrize("folder", ["xl\\", ""])
def test_parts_of_a_workbook_may_lie_anywhere(tmp_path: Path, folder: str) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": SALES})
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part) for part in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            name = part.replace("/", "\\") if folder else part.removeprefix("xl/")
            book.writestr(name, content if folder else content.replace(b"/xl/", b"/").replace(b"xl/", b""))
    assert opened(path).num_rows == 9


def test_a_header_above_empty_texts_has_no_rows(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": [["shop", "n"], ["gone", None]]})
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part) for part in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content.replace(b"gone", b""))
    dataset = opened(path)
    assert (dataset.schema.names, dataset.num_rows) == (["shop", "n"], 0)


def test_a_damaged_sheet_leaves_the_others(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": SALES, "b": [["n"], [271828]], "c": [["n"], [1]]})
    rewritten(path, 's="0"><v>271828</v>', 't="n"><v>2,7</v>')
    assert [(t.name, t.rows, t.is_offered) for t in tables_of(path)] == [
        ("a", 10, True), ("b", None, True), ("c", 2, True),
    ]  # fmt: skip
    assert opened(path, sheet="c").num_rows == 1
    with pytest.raises(FileProblem, match="is a damaged workbook"):
        opened(path, sheet="b")


def test_a_workbook_made_to_fill_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", {"a": SALES})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/media/zeros", bytes(8 << 20))
    monkeypatch.setattr(excel, "MOST_PLAIN_BYTES", 1 << 20)
    with pytest.raises(FileProblem, match=r"would take 8 MB.*times its size"):
        opened(path)


def test_a_large_sheet_is_cached_with_its_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "ROWS_A_BLOCK", 1000)
    rows = [["Title"], ["n", "m"], *[[n, n] for n in range(3000)], [Error("#N/A"), "x"]]
    path = workbook(tmp_path / "a.xlsx", {"a": rows})
    dataset = opened(path)
    assert not dataset.snapshot().complete and dataset.schema.types == [pa.int64(), pa.int64()]
    dataset.fill(Job())
    monkeypatch.setattr(excel.SheetFile, "blocks", None)
    for sheet in (dataset, opened(path)):
        assert sheet.snapshot().complete and sheet.num_rows == 3001
        assert sheet.read()["m"].to_pylist() == [*map(str, range(3000)), "x"]
        assert "1 cell holds an error" in note(sheet, "n") and "3,000 numbers and 1 text" in note(sheet, "m")
        assert sheet.remarks == ("1 row above the table is left out: Title",)


def test_a_large_sheet_is_imported_once_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "ROWS_A_BLOCK", 1000)
    path = workbook(tmp_path / "a.xlsx", {"a": [["n"], *[[n] for n in range(2500)], ["x"]]})
    with Store.open(tmp_path / "store") as store:
        table = import_dataset(opened(path), store)
        assert table.read(["n"])["n"].to_pylist() == [*map(str, range(2500)), "x"]
    assert not (tmp_path / "cache").exists()


CELLS = st.one_of(
    st.none(),
    st.integers(-(10**14), 10**14),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn"]), min_size=1, max_size=5),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=ROUNDS, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_is_written_is_read_back(tmp_path: Path, rows: list[list[Any]]) -> None:
    dataset = opened(workbook(tmp_path / "a.xlsx", {"a": [["a", "b", "c"], *rows]}), header=True)
    filled = [row for row in rows if any(cell is not None for cell in row)]
    for place, name in enumerate("abc"):
        values = dataset.read([name])[name].to_pylist()
        written = [row[place] for row in filled]
        if dataset.schema.field(name).type == pa.string():
            written = [None if v is None else v if isinstance(v, str) else text(v) for v in written]
        assert values == written


def text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


SHOP: list[list[Any]] = [
    ["Shop report", None, None, None, None],
    [None, None, None, None, None],
    [None, "id", "name", "n", "note"],
    [None, 1, "a", 10, "x"],
    [None, 2, "b", Error("#DIV/0!"), None],
    [None, 3, "c", 30, None],
    [None, "total", None, 40, None],
]


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        ("B3:D5", [{"id": 1, "name": "a", "n": 10}, {"id": 2, "name": "b", "n": None}]),
        ("$b$3:$d$5", [{"id": 1, "name": "a", "n": 10}, {"id": 2, "name": "b", "n": None}]),
        ("C3:C", [{"name": "a"}, {"name": "b"}, {"name": "c"}]),
        ("B4:B6", [{"column_1": 1}, {"column_1": 2}, {"column_1": 3}]),
    ],
)
def test_a_range_of_cells(tmp_path: Path, cells: str, rows: list[dict[str, Any]]) -> None:
    path = workbook(tmp_path / "a.xlsx", {"s": SHOP})
    sheet = open_dataset(path, cache_dir=tmp_path / "cache", cells=cells)
    assert sheet.read().to_pylist() == rows


def test_errors_are_counted_in_their_range_alone(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"s": SHOP})
    inside = open_dataset(path, cache_dir=tmp_path / "cache", cells="B3:E6")
    assert b"1 cell holds an error" in inside.schema.field("n").metadata[b"note"]
    outside = open_dataset(path, cache_dir=tmp_path / "cache", cells="B3:C6")
    assert not any(field.metadata for field in outside.schema)


@pytest.mark.parametrize("cells", ["B3", "3:5", "D3:B5", "B5:D3", "B0:D3", "nonsense"])
def test_what_is_no_range_is_refused(tmp_path: Path, cells: str) -> None:
    path = workbook(tmp_path / "a.xlsx", {"s": SHOP})
    with pytest.raises(BadData, match="not a range of cells"):
        open_dataset(path, cache_dir=tmp_path / "cache", cells=cells)


def test_a_range_without_cells_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"s": SHOP})
    with pytest.raises(FileProblem, match="no data in these cells"):
        open_dataset(path, cache_dir=tmp_path / "cache", cells="X50:Z60")


def test_columns_of_a_sheet_are_read_as_chosen_types(tmp_path: Path) -> None:
    rows = [["Title"], ["day", "price", "n"], ["31.12.2025", "1.234,50 €", 1], [None, None, None]]
    rows += [["32.12.2025", "5 €", 2.5], [dt.date(2026, 1, 1), None, None]]
    path = workbook(tmp_path / "a.xlsx", {"a": rows})
    assert opened(path).schema.types == [pa.string(), pa.string(), pa.float64()]
    dataset = opened(path, types={"day": "date", "price": "float64", "n": "int64"})
    assert dataset.read().to_pydict() == {
        "day": [dt.date(2025, 12, 31), None, dt.date(2026, 1, 1)],
        "price": [1234.5, 5.0, None],
        "n": [1, None, None],
    }
    assert dataset.remarks == (
        "1 row above the table is left out: Title",
        "1 empty row is left out",
        "day: 1 value is not a date, and null: '32.12.2025' in row 5",
        "n: 1 value is not a whole number, and null: '2.5' in row 5",
    )
    inside = opened(path, types={"day": "date"}, cells="A2:C6", dates="day-first")
    assert [problem.line for problem in inside.problems] == [5]
    with pytest.raises(UnknownColumn, match=r"dai.*day"):
        opened(path, types={"dai": "date"})
    named = opened(path, types={"day": "date"}, names={"day": "due"})
    assert (named.schema.names, named.schema.field("due").type) == (["due", "price", "n"], pa.date32())
    assert [problem.column for problem in named.problems] == ["due"]
    with pytest.raises(FileProblem, match=r"two columns 'n'.*a different name"):
        opened(path, names={"day": "n"})
    with pytest.raises(FileProblem, match=r"already have types.*Leave nulls out"):
        opened(path, nulls=["k. A."])
