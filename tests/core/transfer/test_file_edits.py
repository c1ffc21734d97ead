"""Edits saved into files: what stays as it is written, what is refused, and that no half file is left."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import lzma
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import FileProblem, TypeConflict, UnknownColumn, UnknownRow, open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.datasets.edit_problem import edit_problem
from lamella.core.errors import BadData, Cancelled
from lamella.core.jobs import Job
from lamella.core.transfer.file_edits import file_edits
from lamella.core.transfer.saving import export_edited, save_edits
from tests.mounts import filled, seen_read_only, small_disk

TRIPS = b"id,note,fare\n1,first,1.10\n2,second,2.50\n3,,3.00\n"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_bytes(TRIPS)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_only_edited_fields_are_written_anew(trips: Path) -> None:
    saved = save_edits(open_dataset(trips), {1: {"fare": 4.0, "note": "a,b"}})
    assert trips.read_bytes() == b'id,note,fare\n1,first,1.10\n2,"a,b",4.00\n3,,3.00\n'
    assert (saved.cells, saved.inserted, saved.deleted, saved.remarks) == (2, 0, 0, ())
    assert names_in(trips.parent) == ["trips.csv"]


def test_rows_come_and_go(trips: Path) -> None:
    save_edits(open_dataset(trips), rows=[{"id": 4, "note": ""}, {"fare": 1.5}], delete=[0, 2])
    assert trips.read_bytes() == b'id,note,fare\n2,second,2.50\n4,"",\n,,1.50\n'


def test_a_value_that_is_there_already_is_not_written(trips: Path) -> None:
    saved = save_edits(open_dataset(trips), {0: {"fare": 1.1}})
    assert saved.cells == 0
    assert trips.read_bytes() == TRIPS


def test_line_ends_mark_and_the_missing_end_of_the_last_line_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfn;s\r\n1;'x'\r\n2;y\n\r\n3;z")
    save_edits(open_dataset(path, delimiter=";"), {1: {"s": "ü"}}, rows=[{"n": 4, "s": "w"}], delete=[2])
    assert path.read_bytes() == "\ufeffn;s\r\n1;'x'\r\n2;ü\n\r\n4;w".encode()


def test_a_new_row_ends_as_rows_do_and_not_as_a_line_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'"a\nx",b\r\n1,2\r\n')
    save_edits(open_dataset(path), rows=[{"b": 5}])
    assert path.read_bytes() == b'"a\nx",b\r\n1,2\r\n,5\r\n'


def test_the_last_row_goes_and_the_file_ends_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"n,s\r\n1,x\r\n2,y")
    save_edits(open_dataset(path), delete=[1])
    assert path.read_bytes() == b"n,s\r\n1,x"


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        (b"True", False, b"False"),
        (b"FALSE", True, b"TRUE"),
    ],
)
def test_truth_is_written_as_it_was(tmp_path: Path, old: bytes, new: bool, written: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"n,ok\n1," + old + b"\n2," + old + b"\n")
    save_edits(open_dataset(path), {1: {"ok": new}})
    assert path.read_bytes() == b"n,ok\n1," + old + b"\n2," + written + b"\n"


@pytest.mark.parametrize(
    ("old", "edit", "written"),
    [
        (b"id;aktiv\n1;ja\n2;nein\n", {0: {"aktiv": False}}, b"id;aktiv\n1;nein\n2;nein\n"),
        (b"id;aktiv\n1;Ja\n2;Ja\n", {0: {"aktiv": False}}, b"id;aktiv\n1;Nein\n2;Ja\n"),
        (b"id;aktiv\n1;N\n2;N\n", {1: {"aktiv": True}}, b"id;aktiv\n1;N\n2;J\n"),
    ],
)
def test_words_for_yes_and_no_are_written_as_they_are_there(
    tmp_path: Path, old: bytes, edit: dict[int, dict[str, Any]], written: bytes
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(old)
    save_edits(open_dataset(path, booleans=["Ja/Nein", "J/N"]), edit)
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    ("times", "new", "written"),
    [
        (("2020-01-01 10:00", "2020-01-02 11:30"), "2021-05-06 07:08:00", "2021-05-06 07:08"),
        (("2020-01-01T10:00:00", "2020-01-02T11:30:00"), "2021-05-06 07:08:09.5", "2021-05-06T07:08:09.5"),
        (("2020-01-01T10:00:00Z", "2020-01-02T11:30:00Z"), "2021-05-06 07:08:09", "2021-05-06T07:08:09Z"),
        (("2020-01-01 10:00:00+02:00",) * 2, "2021-05-06 07:08:09", "2021-05-06 07:08:09+00:00"),
    ],
)
def test_times_are_written_in_the_style_of_the_column(
    tmp_path: Path, times: tuple[str, str], new: str, written: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,at\n" + "".join(f"{n},{time}\n" for n, time in enumerate(times)))
    dataset = open_dataset(path)
    kind = dataset.schema.field("at").type
    value = pa.array([new]).cast(pa.timestamp("us")).cast(kind)
    if kind.tz is not None:
        value = pa.array([new + "Z"]).cast(kind)
    save_edits(dataset, [pa.table({"_id": [1], "at": value})])
    assert path.read_text().splitlines()[2] == f"1,{written}"


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    ("old", "written"),
    [
        ("Jan 1 2000", "Feb 9 2024"),
        ("Jan 01, 2000", "Feb 09, 2024"),
        ("1 January 2000", "9 February 2024"),
        ("01-JAN-2000", "09-FEB-2024"),
        ("2000-jan-01", "2024-feb-09"),
        ("01Jan2000", "09Feb2024"),
    ],
)
def test_days_are_written_with_the_month_by_name_as_there(tmp_path: Path, old: str, written: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"n,day\n1,{old!r}\n2,{old!r}\n".replace("'", '"'))
    dataset = open_dataset(path)
    assert dataset.schema.field("day").type == pa.date32()
    save_edits(dataset, {1: {"day": dt.date(2024, 2, 9)}})
    again = open_dataset(path)
    assert written in path.read_text() and again.read(["day"])["day"].to_pylist()[1] == dt.date(2024, 2, 9)


def test_null_is_written_as_the_column_has_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"n,x\n1,NA\n2,5\n3,6\n")
    save_edits(open_dataset(path), {1: {"x": None}})
    assert path.read_bytes() == b"n,x\n1,NA\n2,NA\n3,6\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "utf-32", "gb18030"])
def test_encodings_stay(tmp_path: Path, encoding: str) -> None:
    path, named = tmp_path / "a.csv", encoding == "gb18030"
    text = "n,s\n" + "".join(f"{n},größe {n}\n" for n in range(50))
    path.write_bytes(text.encode(encoding))
    save_edits(open_dataset(path, encoding=encoding if named else None), {30: {"s": "Maß"}})
    assert path.read_bytes() == text.replace("größe 30", "Maß").encode(encoding)


def test_text_that_turns_western_late_gets_western_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [b"%d,plain" % n for n in range(200_000)]
    path.write_bytes(b"n,s\n" + b"\n".join([*lines, "7,größe".encode("cp1252"), b""]))
    dataset = open_dataset(path)
    save_edits(dataset, {3: {"s": "Maß"}, 200_000: {"n": 8}})
    data = path.read_bytes()
    assert data.startswith(b"n,s\n0,plain\n1,plain\n2,plain\n3,Ma\xdf\n")
    assert data.endswith("\n8,größe\n".encode("cp1252"))


PACKED = {"gz": gzip, "bz2": bz2, "xz": lzma}


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_compressed_text_stays_compressed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"trips.csv.{suffix}"
    codec = pa.Codec("zstd")
    packed = PACKED[suffix].compress(TRIPS) if suffix in PACKED else None
    if packed is None:
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(TRIPS)
    else:
        path.write_bytes(packed)
    save_edits(open_dataset(path), {0: {"id": 9}})
    if suffix in PACKED:
        plain = PACKED[suffix].decompress(path.read_bytes())
    else:
        assert codec.name == "zstd"
        with pa.CompressedInputStream(str(path), "zstd") as stream:
            plain = stream.read()
    assert plain == TRIPS.replace(b"1,first", b"9,first")


def test_json_lines_keep_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1.10,"b":"x"}\n\n{ "b": "\\u00e9", "a": 2.50 }\n{"a":3}\n')
    save_edits(open_dataset(path), {1: {"b": "é!"}, 2: {"b": "new"}}, rows=[{"a": 4.0}])
    assert path.read_text("utf-8").splitlines() == [
        '{"a":1.10,"b":"x"}', "", '{ "b": "é!", "a": 2.50 }', '{"a":3,"b":"new"}', '{"a":4.0,"b":null}',
    ]  # fmt: skip


# ------------------------------------------------------------------- refused


def refused(dataset: Dataset, *edits: Any, **more: Any) -> str:
    """Why; the file is the same afterwards, and alone in its folder."""
    path = Path(dataset.paths[0])
    before, names = path.read_bytes(), names_in(path.parent)
    with pytest.raises(FileProblem) as caught:
        save_edits(dataset, *edits, **more)
    assert path.read_bytes() == before
    assert names_in(path.parent) == names
    assert caught.value.fix
    return str(caught.value)


def test_characters_that_the_encoding_lacks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("n,s\n1,größe\n2,b\n".encode("cp1252"))
    said = refused(open_dataset(path), {1: {"s": "Ω"}})
    assert "row 2 in column 's'" in said
    assert "cp1252, has no character 'Ω' (U+03A9)" in said


def test_an_empty_text_in_a_file_without_quotes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntwo, three\nfour; five\n")
    dataset = open_dataset(path)
    (name,) = dataset.schema.names
    assert "cannot be told from null" in refused(dataset, {1: {name: ""}})
    assert "Line breaks end a row" in refused(dataset, {1: {name: "a\nb"}})


def test_an_edit_after_which_the_file_would_be_read_otherwise_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"'n','s'\n'1','x'\n'2','y'\n")
    assert "its quote would be detected differently" in refused(open_dataset(path), {1: {"s": 'say "no"'}})


def test_json_without_a_word_for_the_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1.5}\n{"a": 2.5}\n')
    assert "JSON has no number nan" in refused(open_dataset(path), {0: {"a": float("nan")}})


def test_nothing_but_deletions_of_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n')
    assert "would hold no rows" in refused(open_dataset(path), delete=[0, 1])


def test_a_file_that_changed_since_it_was_opened_is_refused(trips: Path) -> None:
    dataset = open_dataset(trips)
    trips.write_bytes(TRIPS + b"4,d,4.00\n")
    assert "changed on disk since it was opened" in refused(dataset, {0: {"id": 5}})
    table = pa.table({"n": [1, 2]})
    path = trips.parent / "a.parquet"
    pq.write_table(table, path)
    rows = open_dataset(path)
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    assert "changed on disk since it was opened" in refused(rows, {0: {"n": 5}})


def test_files_that_cannot_be_edited_say_why(tmp_path: Path, trips: Path) -> None:
    with zipfile.ZipFile(tmp_path / "trips.zip", "w") as archive:
        archive.writestr("trips.csv", TRIPS)
    (tmp_path / "array.json").write_bytes(b'[{"a": 1}, {"a": 2}]')
    several, hive = tmp_path / "several", tmp_path / "hive" / "year=2020"
    several.mkdir()
    hive.mkdir(parents=True)
    for name in ("a.csv", "b.csv"):
        (several / name).write_bytes(TRIPS)
    pq.write_table(pa.table({"n": [1]}), hive / "a.parquet")
    read_only = tmp_path / "read-only.csv"
    read_only.write_bytes(TRIPS)
    read_only.chmod(0o444)
    reasons = {
        "trips.zip": "is a ZIP archive",
        "array.json": "is JSON, which is read-only here",
        "several": "holds 2 files",
        "hive": "names of its folders",
        "read-only.csv": "is read-only",
    }
    for name, reason in reasons.items():
        dataset = open_dataset(tmp_path / name)
        problem = edit_problem(dataset)
        assert problem is not None, name
        assert reason in str(problem), name
        assert reason in refused(dataset, {0: {"n": 1}})
    assert edit_problem(open_dataset(trips)) is None


def test_a_folder_that_is_read_only_is_refused_before_anything_is_edited(trips: Path) -> None:
    with seen_read_only(trips.parent) as place:
        problem = edit_problem(open_dataset(place / "trips.csv"))
        assert problem is not None
        assert "is read-only" in str(problem)


def test_misused_arguments_are_refused(trips: Path) -> None:
    dataset = open_dataset(trips)
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownColumn, {"cells": {0: {"nota": 1}}}),
        (UnknownRow, {"cells": {3: {"id": 1}}}),
        (UnknownRow, {"delete": [-1]}),
        (TypeConflict, {"cells": {0: {"id": "one"}}}),
        (TypeConflict, {"cells": [pa.table({"_id": [0], "id": pa.array([1], pa.int32())})]}),
        (BadData, {"cells": {0: {"id": 1}}, "delete": [0]}),
        (BadData, {"cells": {0: 5}}),
        (BadData, {"cells": 5}),
        (BadData, {"rows": 5}),
        (BadData, {"delete": "all"}),
    ]
    for error, arguments in wrong:
        with pytest.raises(error):
            save_edits(dataset, **arguments)
    assert trips.read_bytes() == TRIPS


# ---------------------------------------------------- the file on the disk


def test_links_rights_and_attributes_stay(tmp_path: Path, trips: Path) -> None:
    trips.chmod(0o640)
    os.chown(trips, 1234, 2345) if os.geteuid() == 0 else None
    link = tmp_path / "link.csv"
    link.symlink_to(trips)
    before = trips.stat()
    saved = save_edits(open_dataset(link), {0: {"id": 7}})
    after = trips.stat()
    assert link.is_symlink()
    assert trips.read_bytes().startswith(b"id,note,fare\n7,first,1.10\n")
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_mtime_ns > before.st_mtime_ns
    assert saved.remarks == ()


def test_hard_links_are_said(tmp_path: Path, trips: Path) -> None:
    link = tmp_path / "other.csv"
    link.hardlink_to(trips)
    saved = save_edits(open_dataset(trips), {0: {"id": 7}})
    assert saved.remarks == ("Another hard link of the file leads to its old content",)
    assert link.read_bytes() == TRIPS


def test_a_full_disk_leaves_the_old_file() -> None:
    with small_disk(2_000) as disk:
        path = disk / "rows.csv"
        path.write_bytes(b"n,s\n" + b"".join(b"%d,%s\n" % (n, b"x" * 90) for n in range(8_000)))
        dataset = open_dataset(path)
        dataset.count()
        with filled(disk, leave=100_000):
            said = refused_on_full(dataset, path)
        assert "could not be written" in said
        assert names_in(disk) == ["rows.csv"]


def refused_on_full(dataset: Dataset, path: Path) -> str:
    before = path.read_bytes()
    with pytest.raises(FileProblem) as caught:
        save_edits(dataset, {5: {"s": "new"}})
    assert path.read_bytes() == before
    return str(caught.value)


def test_cancelling_leaves_the_old_file(trips: Path) -> None:
    job = Job()
    job.cancel()
    with pytest.raises(Cancelled):
        save_edits(open_dataset(trips), {0: {"id": 7}}, job=job)
    assert trips.read_bytes() == TRIPS
    assert names_in(trips.parent) == ["trips.csv"]


KILLED = """
import os, pathlib, signal, sys
from lamella import open_dataset, save_edits

when, path = sys.argv[1:]
utime, replace = os.utime, pathlib.Path.replace

def kill(*arguments, **more):
    if when == "renamed":
        replace(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

if when == "written":
    os.utime = kill
else:
    pathlib.Path.replace = kill
save_edits(open_dataset(path), {0: {"id": 7}})
"""


@pytest.mark.slow(after=1)
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.parametrize(("when", "is_new"), [("written", False), ("safe", False), ("renamed", True)])
def test_a_killed_writer_leaves_a_whole_file(trips: Path, when: str, is_new: bool) -> None:
    result = subprocess.run([sys.executable, "-c", KILLED, when, str(trips)], check=False)
    assert result.returncode == -signal.SIGKILL
    assert trips.read_bytes() == (TRIPS.replace(b"1,first", b"7,first") if is_new else TRIPS)


def test_a_copy_has_the_edits_and_the_file_does_not(trips: Path) -> None:
    dataset = open_dataset(trips)
    edits = file_edits(dataset.snapshot(), {0: {"id": 7}}, [{"id": 8}], [1])
    export_edited(dataset, edits, trips.with_name("copy.parquet"))
    assert pq.read_table(trips.with_name("copy.parquet")).to_pylist() == [
        {"id": 7, "note": "first", "fare": 1.1},
        {"id": 3, "note": None, "fare": 3.0},
        {"id": 8, "note": None, "fare": None},
    ]
    assert trips.read_bytes() == TRIPS


SPELLED = [
    ("1,50", "2,25", "12,75", 3.5, "3,50"),
    ("1.234,5", "12.345.678,5", "0,5", 1234567.5, "1.234.567,5"),
    ("1'234.50", "2'000.25", "1.75", 1000.5, "1'000.50"),
    ("1 234,5", "2 000,5", "1,5", 1000.0, "1 000,0"),
    ("25/12/2020", "01/02/2021", "30/01/1999", dt.date(2021, 3, 4), "04/03/2021"),
    ("12/25/2020", "2/1/2021", "3/4/2021", dt.date(2021, 3, 4), "3/4/2021"),
    ("25.12.20", "01.02.21", "30.01.99", dt.date(2021, 3, 4), "04.03.21"),
    ("25.12.2020 10:30", "1.2.2021 9:00", "3.4.2021 8:15", dt.datetime(2021, 3, 4, 7, 5), "4.3.2021 07:05"),
    ("25.12.2020 10:30", "01.02.2021 09:00", "x", dt.datetime(2021, 3, 4, 7, 5, 9), "04.03.2021 07:05:09"),
    ("12/25/2020 1:30 PM", "02/01/2021 9:00 AM", "x", dt.datetime(2021, 3, 4, 0, 5), "03/04/2021 12:05 AM"),
]


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(("first", "second", "third", "new", "written"), SPELLED)
def test_numbers_and_dates_of_regions_are_written_as_they_are_there(
    tmp_path: Path, first: str, second: str, third: str, new: Any, written: str
) -> None:
    third = second if third == "x" else third
    path = tmp_path / "a.csv"
    path.write_text(f"id;v\n1;{first}\n2;{second}\n3;{third}\n", encoding="utf-8")
    before = open_dataset(path).read().column("v").to_pylist()
    assert not isinstance(before[0], str)
    save_edits(open_dataset(path), {2: {"v": new}}, rows=[{"id": 4, "v": new}])
    assert path.read_text(encoding="utf-8") == f"id;v\n1;{first}\n2;{second}\n3;{written}\n4;{written}\n"
    assert open_dataset(path).read().column("v").to_pylist() == [*before[:2], new, new]


def test_times_of_a_zone_that_was_named_are_written_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;t\n1;25.12.2020 10:30\n2;01.07.2021 10:30\n")
    opened = open_dataset(path, zone="Europe/Berlin")
    save_edits(opened, {0: {"t": dt.datetime(2021, 7, 2, 8, 0, tzinfo=dt.UTC)}})
    assert path.read_text() == "id;t\n1;02.07.2021 10:00\n2;01.07.2021 10:30\n"


@pytest.mark.parametrize(
    ("dates", "new"),
    [(("25/12/2020", "01/02/2021"), dt.date(2020, 12, 5)), (("25/12/20", "01/02/21"), dt.date(2121, 3, 4))],
)
def test_an_edit_after_which_dates_would_be_read_otherwise_is_refused(
    tmp_path: Path, dates: tuple[str, str], new: dt.date
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(before := f"d;n\n{dates[0]};1\n{dates[1]};2\n")
    with pytest.raises(FileProblem, match="column 'd' would be read in another way"):
        save_edits(open_dataset(path), {0: {"d": new}})
    assert path.read_text() == before


@pytest.mark.slow
def test_a_decimal_comma_that_comes_late_is_written_in_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{n};row number {n}\n" for n in range(100_000)]
    path.write_text("".join(["v;note\n", *rows, "1,5;late\n"]))
    save_edits(open_dataset(path), {0: {"v": 2.25}})
    assert path.read_text() == "".join(["v;note\n", "2,25;row number 0\n", *rows[1:], "1,5;late\n"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bad_lines": "set-aside"}, "has lines that cannot be read"),
        ({"names": {"a": "b"}}, "other names of columns"),
        ({"types": {"a": "string"}}, "types chosen"),
    ],
)
def test_a_text_whose_rows_are_not_quite_those_of_the_file_is_refused(
    tmp_path: Path, options: dict[str, Any], why: str
) -> None:
    path = tmp_path / "a.csv"
    bad = "1,2,3\n" if "bad_lines" in options else ""
    path.write_text(f"a,c\n1,2\n{bad}3,4\n")
    before = path.read_bytes()
    with pytest.raises(FileProblem, match=why):
        save_edits(open_dataset(path, **options), delete=[0])
    assert path.read_bytes() == before


def test_setting_lines_aside_is_no_obstacle_where_none_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,c\n1,2\n3,4\n")
    save_edits(open_dataset(path, bad_lines="set-aside"), {0: {"a": 7}})
    assert path.read_text() == "a,c\n7,2\n3,4\n"
