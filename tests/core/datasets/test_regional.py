"""Numbers, dates, yes and no as regions write them: found, read exactly, and said where two readings fit."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella import Store
from lamella.core.arrow.arrays import from_values
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.preview import preview
from lamella.core.datasets.text.regional import Conventions, SpelledType, Spelling
from lamella.core.datasets.text.types import read_as, tentative_guess
from lamella.core.errors import BadData, FileProblem, UnknownColumn
from lamella.core.jobs import Job
from lamella.core.store.importing import import_file

BANK = """"Konto:";"DE12 3456"
"Zeitraum:";"01.12.2025 - 31.12.2025"

"Buchungstag";"Valuta";"Auftraggeber";"PLZ";"Betrag";"Saldo";"Anteil"
"31.12.2025";"01.01.2026";"Müller & Söhne";"01067";"1.234,56";"12.345";"0,5"
"30.12.2025";"30.12.2025";"Bäckerei Groß";"80331";"-89,90";"1.000";"0,25"
"02.12.2025";"03.12.2025";"Café";"50667";"12.600,00";"999";""
"""


def opened(path: Path, text: str | bytes, **options: Any) -> Dataset:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_dataset(path, cache_dir=path.parent / "cache", **options)


def column(path: Path, *values: str, **options: Any) -> tuple[str, list[Any], str]:
    """Type, values and note of a column of a file."""
    dataset = opened(path, "\n".join(["a|b", *(f"{value}|x" for value in values)]) + "\n", **options)
    field = dataset.schema.field("a")
    note = (field.metadata or {}).get(b"note", b"").decode()
    return str(field.type), dataset.read(["a"])["a"].to_pylist(), note


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_the_file_of_a_german_bank_opens_as_what_it_is(tmp_path: Path, encoding: str) -> None:
    bank = opened(tmp_path / "bank.csv", BANK.encode(encoding))
    assert [str(kind) for kind in bank.schema.types] == [
        "date32[day]", "date32[day]", "string", "string", "double", "int64", "double",
    ]  # fmt: skip
    assert bank.read().to_pylist()[0] == {
        "Buchungstag": dt.date(2025, 12, 31), "Valuta": dt.date(2026, 1, 1), "Auftraggeber": "Müller & Söhne",
        "PLZ": "01067", "Betrag": 1234.56, "Saldo": 12345, "Anteil": 0.5,
    }  # fmt: skip
    titles = "Konto: DE12 3456; Zeitraum: 01.12.2025 - 31.12.2025"
    assert bank.remarks == (f"2 lines above the table are left out: {titles}",)


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1.234,56", "0,5"], "double", [1234.56, 0.5]),
        (["1,234.56", "12"], "double", [1234.56, 12.0]),
        (["1 234,5", "7,25"], "double", [1234.5, 7.25]),
        (["1'234.50", "7.25"], "double", [1234.5, 7.25]),
        (["1.234.567", "12"], "int64", [1234567, 12]),
        (["1,234,567", "-12"], "int64", [1234567, -12]),
        (["0,123", "5"], "double", [0.123, 5.0]),
        (["1234,567", "5"], "double", [1234.567, 5.0]),
        (["01.234,5", "2,5"], "string", ["01.234,5", "2,5"]),  # a zero in front says that it is not a number
        (["1.234,5", "12.34,5"], "string", ["1.234,5", "12.34,5"]),
        (["1,2,3", "4"], "string", ["1,2,3", "4"]),
        (["123456789012345678,5"], "string", ["123456789012345678,5"]),  # a double has fewer digits
        (["89 123 456", "12 345 678"], "string", ["89 123 456", "12 345 678"]),  # a telephone's, perhaps
        (["31.12.2025", "01.01.2026"], "date32[day]", [dt.date(2025, 12, 31), dt.date(2026, 1, 1)]),
        (["12/31/2025", "1/2/2025"], "date32[day]", [dt.date(2025, 12, 31), dt.date(2025, 1, 2)]),
        (["31/12/2025", "01/02/2025"], "date32[day]", [dt.date(2025, 12, 31), dt.date(2025, 2, 1)]),
        (["2025/12/31", "2025/01/02"], "date32[day]", [dt.date(2025, 12, 31), dt.date(2025, 1, 2)]),
        (["31.12.25", "01.02.69"], "date32[day]", [dt.date(2025, 12, 31), dt.date(1969, 2, 1)]),
        (["31.12.2025", "2025-12-30"], "date32[day]", [dt.date(2025, 12, 31), dt.date(2025, 12, 30)]),
        (["29.02.2024", "29.02.2025"], "string", ["29.02.2024", "29.02.2025"]),
        (["1/2/12", "10/22/12"], "date32[day]", [dt.date(2012, 1, 2), dt.date(2012, 10, 22)]),
        (["1/2/12", "3/4/12"], "string", ["1/2/12", "3/4/12"]),
        (["1.2.10", "1.13.2"], "string", ["1.2.10", "1.13.2"]),  # versions
        (["15.01.20", "1.2.10"], "string", ["15.01.20", "1.2.10"]),
        (["31.12.2025 14:05", "01.01.2026 00:00:01"], "timestamp[us]",
         [dt.datetime(2025, 12, 31, 14, 5), dt.datetime(2026, 1, 1, 0, 0, 1)]),
        (["12/31/2025 2:05:06 PM", "1/2/2025 12:00:00 AM"], "timestamp[us]",
         [dt.datetime(2025, 12, 31, 14, 5, 6), dt.datetime(2025, 1, 2)]),
        (["31.12.2025 25:00"], "string", ["31.12.2025 25:00"]),
        (["31.12.2025", "31.12.2025 10:00"], "string", ["31.12.2025", "31.12.2025 10:00"]),
        (["007", "12"], "string", ["007", "12"]),
        (["12345678901234567890"], "string", ["12345678901234567890"]),
        (["1.234,5", "NA", " 2,5 "], "double", [1234.5, None, 2.5]),
    ],
)  # fmt: skip
def test_values_are_read_where_nothing_is_lost(
    tmp_path: Path, values: list[str], kind: str, expected: list[Any]
) -> None:
    assert column(tmp_path / "x.csv", *values)[:2] == (kind, expected)


@pytest.mark.parametrize(
    ("values", "kind", "note"),
    [
        (["1,234", "5,678"], "string", "1,234 may be 1.234 or 1234"),
        (["01/02/2025", "03/04/2025"], "string", "01/02/2025 may have the day or the month first"),
        (["13/02/2025", "03/14/2025"], "string", "Some values have the day first, some the month"),
        (["1.234", "-5.678"], "double", "1.234 may be 1234, too"),
        (["1.000", "12"], "double", "1.000 may be 1000, too"),
        (["01.02.2025", "03.04.2025"], "date32[day]", "No day is after the 12th: read with the day first"),
        (["31.12.25", "30.12.25"], "date32[day]", "Years of two digits are those from 1969 to 2068"),
    ],
)
def test_what_is_in_doubt_is_said(tmp_path: Path, values: list[str], kind: str, note: str) -> None:
    actual, _, said = column(tmp_path / "x.csv", *values)
    assert (actual, said[: len(note)]) == (kind, note)


@pytest.mark.parametrize(
    "values", [["1.234", "0.5"], ["0.123"], ["1.2345", "1.234"], ["1.5", "NA"], ["1", "2"]]
)
def test_points_that_tell_have_no_note(tmp_path: Path, values: list[str]) -> None:
    assert column(tmp_path / "x.csv", *values)[2] == ""
    assert "note" not in str(opened(tmp_path / "y.csv", "a,b\n1.234,x\n").schema.field("a").metadata)


def test_other_columns_decide_what_is_in_doubt(tmp_path: Path) -> None:
    text = "a;b;c;d\n1.234;0,5;01/02/2025;31/12/2025\n2.000;7,25;03/04/2025;01/01/2025\n"
    dataset = opened(tmp_path / "x.csv", text)
    assert dataset.read().to_pylist()[0] == {
        "a": 1234, "b": 0.5, "c": dt.date(2025, 2, 1), "d": dt.date(2025, 12, 31),
    }  # fmt: skip
    note = dataset.schema.field("a").metadata[b"note"].decode()
    assert note == "1.234 is read as 1234, as another column has decimal commas"
    note = dataset.schema.field("c").metadata[b"note"].decode()
    assert note == "No day is after the 12th: read with the day first, as in another column"


def test_thousands_far_in_a_file_are_no_fractions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12, 3 and 140 may be followed by 1.234 where other columns have decimal commas."""
    from lamella.core.datasets.text import dataset as text_dataset

    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)
    rows = ["12;0,5;"] * 2000 + ["1.234;1.000,5;2.000"] * 2000
    dataset: Any = opened(tmp_path / "x.csv", "\n".join(["a;b;c", *rows]) + "\n")
    dataset.fill(Job())
    assert [str(kind) for kind in dataset.schema.types] == ["int64", "double", "int64"]
    assert dataset.read(limit=1, offset=3999).to_pylist() == [{"a": 1234, "b": 1000.5, "c": 2000}]


def test_decimal_commas_far_in_a_file_leave_doubtful_points_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.234 was 1.234 until then; at the beginning of the file, the same comma makes it 1234."""
    from lamella.core.datasets.text import dataset as text_dataset

    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)
    rows = ["1.234;1.25;5"] * 2000 + ["2.345;7.5;0,5"]
    dataset: Any = opened(tmp_path / "x.csv", "\n".join(["a;b;c", *rows]) + "\n")
    dataset.fill(Job())
    assert [str(kind) for kind in dataset.schema.types] == ["string", "double", "double"]
    assert dataset.read(limit=1).to_pylist() == [{"a": "1.234", "b": 1.25, "c": 5.0}]


def test_decimal_commas_of_another_file_leave_doubtful_points_as_text(tmp_path: Path) -> None:
    for name, text in {"1": "a;b\n1.234;5\n", "2": "a;b\n7;0,5\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    both = open_dataset([tmp_path / "1.csv", tmp_path / "2.csv"], cache_dir=tmp_path / "cache")
    assert both.read().to_pylist() == [{"a": "1.234", "b": 5.0}, {"a": "7", "b": 0.5}]


def test_a_type_that_changes_far_in_the_file_leaves_text_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamella.core.datasets.text import dataset as text_dataset

    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)
    rows = ["31.12.2025;1.234,50"] * 2000 + ["12/31/2025;1.5"]
    dataset: Any = opened(tmp_path / "x.csv", "\n".join(["a;b", *rows]) + "\n")
    dataset.fill(Job())
    assert [str(kind) for kind in dataset.schema.types] == ["string", "string"]
    assert dataset.read(limit=1).to_pylist() == [{"a": "31.12.2025", "b": "1.234,50"}]


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        ({"decimal": ","}, ["1.234", "5"], [1234, 5]),
        ({"decimal": ","}, ["1.5", "5"], ["1.5", "5"]),
        ({"decimal": "."}, ["1,234", "5"], [1234, 5]),
        ({"decimal": ".", "thousands": ""}, ["1,234", "5"], ["1,234", "5"]),
        ({"decimal": ",", "thousands": " "}, ["1 234", "5"], [1234, 5]),
        ({"dates": "month-first"}, ["01/02/2025"], [dt.date(2025, 1, 2)]),
        ({"dates": "day-first"}, ["01/02/2025"], [dt.date(2025, 2, 1)]),
        ({"nulls": ["k. A.", "-"]}, ["1", "k. A.", "-"], [1, None, None]),
        ({"nulls": ["-"]}, ["x", "-"], ["x", None]),
        ({"booleans": ["ja/nein"]}, ["ja", " Nein ", "JA", "NA"], [True, False, True, None]),
        ({"booleans": "ja/nein"}, ["ja", "N"], ["ja", "N"]),
        ({"booleans": ["ja/nein", ("Y", "N")]}, ["y", "n"], [True, False]),
        ({"booleans": ["1/0"]}, ["1", "0"], [True, False]),
        ({"booleans": ["1/0"]}, ["1", "0", "2"], [1, 0, 2]),
        ({"booleans": ["ja/nein"], "nulls": ["nein"]}, ["ja", "nein"], [True, None]),
        ({"booleans": ["ja/nein"], "text_columns": ["a"]}, ["ja", "nein"], ["ja", "nein"]),
        ({"booleans": ["an/aus"], "types": {"a": "bool"}}, ["an", "aus", "ja", "so"],
         [True, False, True, None]),
        ({"booleans": ["0/1"], "types": {"a": "bool"}}, ["0", "1"], [True, False]),
        ({"types": {"a": "date"}, "dates": "day-first"}, ["01/02/2025", "2025-03-01", "31/02/2025"],
         [dt.date(2025, 2, 1), dt.date(2025, 3, 1), None]),
        ({"types": {"a": "decimal(10, 2)"}}, ["1.234,5", "0,25", "1,234"],
         [Decimal("1234.50"), Decimal("0.25"), None]),
        ({"types": {"a": "bool"}}, ["ja", "Nein", "vielleicht"], [True, False, None]),
        ({"types": {"a": "int64"}}, ["007", "1.000,00", "x"], [7, 1000, None]),
        ({"types": {"a": "int64"}}, [f"{2**63 - 1}", f"{-(2**63)}", f"{2**63}", "007"],
         [2**63 - 1, -(2**63), None, 7]),
        ({"types": {"a": "uint64"}}, ["18446744073709551615", "-1", "18446744073709551616", "+5"],
         [2**64 - 1, None, None, 5]),
        ({"types": {"a": "int8"}}, ["127", "128", "-128", "-129", "12.0"], [127, None, -128, None, 12]),
        ({"types": {"a": "uint8"}}, ["255", "256", "-0", "-1"], [255, None, 0, None]),
        ({"types": {"a": "double"}}, ["12,5 €", "-3 %", "?"], [12.5, -3.0, None]),
        ({"types": {"a": "text"}}, ["1", "2"], ["1", "2"]),
        ({"types": {"a": "large_string"}}, ["1", "2"], ["1", "2"]),
        ({"types": {"a": "time64[us]"}}, ["14:05", "2:05 PM"], [dt.time(14, 5), dt.time(14, 5)]),
        ({"types": {"a": "time32[s]"}}, ["14:05:07", "14:05:07.5"], [dt.time(14, 5, 7), None]),
        ({"types": {"a": "timestamp"}}, ["2025-07-01 12:00:00.123456000", "2025-07-01 12:00:00.123456789"],
         [dt.datetime(2025, 7, 1, 12, 0, 0, 123456), None]),
    ],
)  # fmt: skip
def test_an_option_decides(
    tmp_path: Path, options: dict[str, Any], values: list[str], expected: list[Any]
) -> None:
    assert column(tmp_path / "x.csv", *values, **options)[1] == expected


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("last", "kind", "first"), [("2", "int64", 1), ("2,5", "double", 1.0), ("x", "string", "1")]
)
def test_booleans_that_are_none_far_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, kind: str, first: Any
) -> None:
    from lamella.core.datasets.text import dataset as text_dataset

    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)
    rows = ["1;ja", "0;nein"] * 2000 + [f"{last};vielleicht"]
    path = tmp_path / "x.csv"
    dataset: Any = opened(path, "\n".join(["a;b", *rows]) + "\n", booleans=["1/0", "ja/nein"])
    assert [str(known) for known in dataset.schema.types] == ["bool", "bool"]
    dataset.fill(Job())
    assert [str(known) for known in dataset.schema.types] == [kind, "string"]
    assert dataset.read(limit=1).to_pylist() == [{"a": first, "b": "ja"}]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["ja", "nein", "ja"], "ja and nein"),
        (["Oui", "oui", "non", "NA", ""], "Oui and non"),
        (["N", "Y"], "Y and N"),
        (["ja", "ja"], ""),
        (["ja", "nein", "vielleicht"], ""),
        (["rot", "blau"], ""),
        (["true", "false"], ""),
    ],
)
def test_words_for_yes_and_no_are_offered(tmp_path: Path, values: list[str], words: str) -> None:
    path = tmp_path / "x.csv"
    note = column(path, *values)[2]
    assert note == (f"{words} may mean yes and no: say so to read them as true and false" if words else "")
    pairs = preview(path).yes_no
    assert [f"{yes} and {no}" for yes, no in pairs] == ([words] if words else [])
    assert not preview(path, {"booleans": pairs}).yes_no
    assert column(path, *values, booleans=pairs)[2] == ""
    assert not preview(path, {"types": {"a": "text"}}).yes_no


def test_times_without_a_zone_are_of_the_one_that_is_named(tmp_path: Path) -> None:
    options = {"zone": "Europe/Berlin"}
    kind, (at,), _ = column(tmp_path / "x.csv", "2025-07-01 12:00:00", **options)
    assert (kind, at.isoformat()) == ("timestamp[us, tz=Europe/Berlin]", "2025-07-01T12:00:00+02:00")
    kind, (at,), _ = column(tmp_path / "x.csv", "31.12.2025 12:00", **options)
    assert (kind, at.isoformat()) == ("timestamp[us, tz=Europe/Berlin]", "2025-12-31T12:00:00+01:00")


NS = "2025-07-01 12:00:00.123456789"


@pytest.mark.parametrize(
    ("values", "options", "kind", "first"),
    [
        ([NS, "2025-12-31 12:00"], {"zone": "Europe/Berlin"}, "timestamp[ns, tz=Europe/Berlin]", 10),
        (["01.07.2025 12:00:00.123456789"], {"zone": "Europe/Berlin"}, "timestamp[ns, tz=Europe/Berlin]", 10),
        (["01.07.2025 12:00:00.123456789"], {}, "timestamp[ns]", 12),
        ([NS, "x"], {"types": {"a": "timestamp[ns]"}}, "timestamp[ns]", 12),
        ([NS], {"types": {"a": "timestamp[ns]"}, "zone": "Asia/Tokyo"}, "timestamp[ns, tz=Asia/Tokyo]", 3),
        ([NS, "1677-09-21 00:00"], {"zone": "Europe/Berlin"}, "string", None),  # before the first one
    ],
)
def test_nanoseconds_are_in_the_zone_too(
    tmp_path: Path, values: list[str], options: dict[str, Any], kind: str, first: int | None
) -> None:
    path = tmp_path / "x.csv"
    dataset = opened(path, "\n".join(["a|b", *(f"{value}|x" for value in values)]) + "\n", **options)
    column = dataset.read(["a"])["a"]
    assert str(column.type) == kind
    if first is not None:
        day = dt.datetime(2025, 7, 1, first, tzinfo=dt.UTC).timestamp()
        assert column[0].value == int(day) * 10**9 + 123_456_789


def test_nanoseconds_far_in_the_file_are_in_the_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamella.core.datasets.text import dataset as text_dataset

    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)
    rows = ["2025-07-01 12:00:00.1;31.07.2025 12:00"] * 500 + [f"{NS};31.07.2025 12:00:00.000000001"]
    dataset: Any = opened(tmp_path / "x.csv", "\n".join(["a;b", *rows]) + "\n", zone="Europe/Berlin")
    assert [str(kind) for kind in dataset.schema.types] == ["timestamp[us, tz=Europe/Berlin]"] * 2
    dataset.fill(Job())
    assert [str(kind) for kind in dataset.schema.types] == ["timestamp[ns, tz=Europe/Berlin]"] * 2
    last = dataset.read(sort=["-a"], limit=1)
    assert [last[name][0].value % 10**9 for name in ("a", "b")] == [123_456_789, 1]


def test_values_that_are_none_of_a_chosen_type_are_counted_and_listed(tmp_path: Path) -> None:
    dataset = opened(
        tmp_path / "x.csv", 'd,t\n31.02.2025,"a\nb"\n01.03.2025,\nk. A.,\nNA,\n', types={"d": "date"}
    )
    assert dataset.read(["d"])["d"].to_pylist() == [None, dt.date(2025, 3, 1), None, None]
    assert dataset.remarks == (
        "d: 2 values are not a date, and null: '31.02.2025' in line 2 and 'k. A.' in line 5",
    )
    assert [(p.line, p.column, p.text) for p in dataset.problems] == [
        (2, "d", "31.02.2025"),
        (5, "d", "k. A."),
    ]


def test_columns_have_other_names_and_the_lines_above_are_skipped(tmp_path: Path) -> None:
    text = "report\nof today\nDatum;PLZ\n31.12.2025;01067\n"
    dataset = opened(tmp_path / "x.csv", text, skip_rows=2, names={"Datum": "day"}, types={"PLZ": "text"})
    assert dataset.read().to_pylist() == [{"day": dt.date(2025, 12, 31), "PLZ": "01067"}]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"types": {"x": "date"}}, UnknownColumn),
        ({"names": {"x": "y"}}, UnknownColumn),
        ({"names": {"a": "b"}}, FileProblem),
        ({"names": {"a": " "}}, FileProblem),
        ({"types": {"a": "nonsense"}}, BadData),
        ({"types": {"a": "duration[s]"}}, BadData),
        ({"types": {"a": "list<int64>"}}, BadData),
        ({"types": "a"}, BadData),
        ({"decimal": ";"}, BadData),
        ({"thousands": "x"}, BadData),
        ({"dates": "day"}, BadData),
        ({"zone": "Berlin"}, BadData),
        ({"booleans": ["ja"]}, BadData),
        ({"booleans": ["ja/"]}, BadData),
        ({"booleans": ["ja/nein", "nein/ja"]}, BadData),
        ({"booleans": ["yes/None"]}, BadData),
        ({"booleans": 5}, BadData),
        ({"encoding": "utf-9"}, BadData),
        ({"skip_rows": -1}, BadData),
        ({"bad_lines": "drop"}, BadData),
        ({"quote": "ab"}, BadData),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: dict[str, Any], error: type[Exception]) -> None:
    try:
        opened(tmp_path / "x.csv", "a,b\n1,2\n", **options)
    except error:
        return
    except Exception as other:  # noqa: BLE001 -- `UnknownType` is no `BadData`
        assert type(other).__name__ == "UnknownType"
        return
    pytest.fail("it was accepted")


NUMBERS = st.lists(
    st.one_of(
        st.integers(-(10**9), 10**9).map(Decimal),
        st.decimals(-(10**6), 10**6, allow_nan=False, allow_infinity=False, places=2),
    ),
    min_size=1,
    max_size=8,
)


@given(NUMBERS, st.sampled_from([(",", "."), (",", " "), (".", "'"), (".", ",")]))
def test_numbers_are_read_as_they_were_written_or_stay_text(
    numbers: list[Decimal], signs: tuple[str, str]
) -> None:
    """Whatever the signs: never another number."""
    decimal, thousands = signs
    written = [
        f"{n:,}".replace(",", "T").replace(".", "D").replace("T", thousands).replace("D", decimal)
        for n in numbers
    ]
    texts = from_values(written, pa.string())
    for conventions in (Conventions(decimal=decimal, thousands=thousands), Conventions()):
        kind = tentative_guess(texts, conventions).kind
        assert conventions.decimal is None or not pa.types.is_string(kind)
        if isinstance(kind, SpelledType):
            assert [Decimal(str(value)) for value in read_as(texts, kind).to_pylist()] == numbers


@given(st.dates(dt.date(1000, 1, 1)), st.sampled_from("./-"), st.sampled_from(["day-first", "month-first"]))
def test_dates_are_read_as_they_were_written(day: dt.date, sign: str, order: str) -> None:
    parts = [day.day, day.month] if order == "day-first" else [day.month, day.day]
    texts = from_values([f"{parts[0]}{sign}{parts[1]:02}{sign}{day.year}"], pa.string())
    kind = tentative_guess(texts, Conventions(dates=order)).kind
    assert read_as(texts, kind).to_pylist() == [day]
    alone = tentative_guess(texts, Conventions()).kind
    if isinstance(alone, SpelledType) and (day.day > 12 or sign == "."):
        assert read_as(texts, alone).to_pylist() == [day] or (sign == "." and order == "month-first")


def test_a_single_column_of_thousands_is_no_table_of_three(tmp_path: Path) -> None:
    rows = opened(tmp_path / "x.csv", "n\n1,234,567\n2,000\n12\n-3,000,000\n").read()["n"].to_pylist()
    assert rows == [1234567, 2000, 12, -3000000]


@pytest.mark.parametrize(
    ("text", "names", "above"),
    [
        ("Konto:;DE12\n\nTag;PLZ;Betrag\n1;2;3\n4;5\n6;7;8\n", ["Tag", "PLZ", "Betrag"], 1),
        ("title\na;b;c\n1;2;3\n4;5;6\n", ["a", "b", "c"], 1),
        ("a;b\n1;2;3\n4;5;6\n7;8;9\n", ["a", "b"], 0),  # a header that is too short, rather than a title
    ],
)
def test_titles_are_told_from_a_header(tmp_path: Path, text: str, names: list[str], above: int) -> None:
    dataset = opened(tmp_path / "x.csv", text, bad_lines="set-aside")
    assert dataset.schema.names == names
    assert sum("above the table" in remark for remark in dataset.remarks) == above


def test_a_spelling_comes_back_from_what_arrow_writes_of_it() -> None:
    for spelling in (Spelling(",", ".", "day-first", "Europe/Berlin"), Spelling(booleans=(("ja", "nein"),))):
        kind = SpelledType(pa.bool_(), spelling)
        again = SpelledType.__arrow_ext_deserialize__(pa.bool_(), kind.__arrow_ext_serialize__())
        assert (again, again.spelling) == (kind, spelling)


def test_a_chosen_type_is_the_one_that_is_read(tmp_path: Path) -> None:
    for kind in (pa.float32(), pa.float16(), pa.int16(), pa.date64(), pa.decimal128(9, 3), pa.time64("ns")):
        dataset = opened(tmp_path / "x.csv", "a|b\n1|x\n", types={"a": kind})
        assert dataset.read().schema.field("a").type == dataset.schema.field("a").type == kind


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (("Jan 1 2000", "Feb 29 2000", "Dec 31 1999"), [(2000, 1, 1), (2000, 2, 29), (1999, 12, 31)]),
        (("January 1, 2000", "September 30, 1969"), [(2000, 1, 1), (1969, 9, 30)]),
        (("1 January 2000", "21st may 2001", "3rd Sept. 2001"), [(2000, 1, 1), (2001, 5, 21), (2001, 9, 3)]),
        (("01-Jan-2000", "31-DEC-1999"), [(2000, 1, 1), (1999, 12, 31)]),
        (("01JAN2000", "28FEB2001"), [(2000, 1, 1), (2001, 2, 28)]),
        (("2000-Jan-01", "1999 Dec 31"), [(2000, 1, 1), (1999, 12, 31)]),
        (("Jan 1 2000", "2 Jan 2000"), [(2000, 1, 1), (2000, 1, 2)]),
    ],
)
def test_months_by_name_make_dates(
    tmp_path: Path, values: tuple[str, ...], days: list[tuple[int, ...]]
) -> None:
    assert column(tmp_path / "a.csv", *values) == ("date32[day]", [dt.date(*day) for day in days], "")


@pytest.mark.parametrize(
    "values",
    [
        ("01-Jan-20", "02-Jan-20"),  # of which century?
        ("Jan 1 2000", "Feb 30 2000"),
        ("1 January 2000", "1 Januar 2000"),
        ("Jan 1 2000", "about Feb 2 2000"),
        ("Jan 2000", "Feb 2000"),
        ("12 Abc 2000", "13 Mar 2000"),
    ],
)
def test_what_is_no_date_with_a_month_by_name_stays_text(tmp_path: Path, values: tuple[str, ...]) -> None:
    assert column(tmp_path / "a.csv", *values) == ("string", [*values], "")


def test_times_follow_months_by_name_and_types_are_chosen(tmp_path: Path) -> None:
    kind, values, _ = column(tmp_path / "a.csv", "Jan 1 2000 1:30 PM", "Jan 2, 2000, 00:00:01.5")
    assert kind == "timestamp[us]"
    assert values == [dt.datetime(2000, 1, 1, 13, 30), dt.datetime(2000, 1, 2, 0, 0, 1, 500_000)]
    answer = column(tmp_path / "b.csv", "Jan 1 2000", "Feb 1 2000", text_columns=["a"])
    assert answer[0] == "string"
    forced = column(tmp_path / "c.csv", "Jan 1 2000", "later", "2000-02-01", types={"a": "date"})
    assert forced[:2] == ("date32[day]", [dt.date(2000, 1, 1), None, dt.date(2000, 2, 1)])


def test_a_file_with_months_by_name_is_imported_as_it_is_opened_in_place(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    path.write_text(
        "name,day\n" + "".join(f"car {n},Jan {n % 28 + 1} {1970 + n % 50}\n" for n in range(3000))
    )
    with Store.open(tmp_path / "s") as store:
        table = import_file(path, store)
        assert table.read(["name", "day"]).equals(open_dataset(path).read(["name", "day"]))
        assert table.schema.field("day").type == pa.date32()
    with path.open("a") as file:
        file.write("car 3000,at last\n")  # far behind the first values
    assert open_dataset(path, cache_dir=tmp_path / "cache").schema.field("day").type == pa.string()
