"""Files that cannot be opened: a refusal names the file, the reason and the way out, and changes nothing."""

from __future__ import annotations

import gzip
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella.core.datasets import open_dataset
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job

Make = Callable[[Path], object]


def parquet_bytes(path: Path) -> bytes:
    pq.write_table(pa.table({"n": list(range(100))}), path)
    return path.read_bytes()


def truncated_parquet(path: Path) -> None:
    path.write_bytes(parquet_bytes(path)[:-30])


def damaged_footer(path: Path) -> None:
    whole = parquet_bytes(path)
    path.write_bytes(whole[:-60] + b"\xff" * 52 + whole[-8:])


def footer_beyond_the_file(path: Path) -> None:
    path.write_bytes(b"PAR1" + b"\0" * 20 + (1000).to_bytes(4, "little") + b"PAR1")


def excel_workbook(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")


def sqlite_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("DROP TABLE t")
    connection.close()


def binary(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(5_000))


def cut_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(random.Random(1).randbytes(4_000).hex().encode())[:-500])


def text(data: bytes) -> Make:
    return lambda path: path.write_bytes(data)


CASES: dict[str, tuple[Make, str]] = {
    "empty": (text(b""), r"is empty.*Choose a file with data"),
    "only line breaks": (text(b"\n\n\n"), r"holds no data"),
    "truncated Parquet": (truncated_parquet, r"cut off.*do not end with PAR1.*download it again"),
    "damaged footer": (damaged_footer, r"damaged Parquet footer.*again"),
    "footer beyond the file": (
        footer_beyond_the_file,
        r"takes 1,000 bytes, but the whole file has 32.*again",
    ),
    "random bytes": (binary, r"not in a known data format.*What can be opened: Parquet"),
    "Excel": (excel_workbook, r"is a damaged workbook.*save it again"),
    "SQLite": (sqlite_database, r"holds no tables"),
    "web page": (
        text(b"\n<!-- login -->\n<!DOCTYPE html>\n<title>Sign in, please</title>\n"),
        r"is a web page.*browser",
    ),
    "encrypted Parquet": (text(b"PARE\0\0\0"), r"is an encrypted Parquet file.*Decrypt it with the program"),
    "PDF": (text(b"%PDF-1.7\n\xe2\xe3"), r"is a PDF document.*cannot be opened"),
    "PNG": (text(b"\x89PNG\r\n\x1a\n\0\0"), r"is a PNG picture.*cannot be opened"),
    "cut gzip": (cut_gzip, r"could not be decompressed as gzip.*cut off"),
    "short row": (
        text(b"a,b\n1,2\n3\n"),
        r"line 3 has 1 field, but 2 are expected.*with short rows filled up\.",
    ),
    "short and long rows": (text(b"a,b\n1\n3,4,5\n"), r"line 2 has 1 field.*line 3 has 3 fields.*Fix both"),
    "long row": (text(b"a,b\n1,2\n3,4,5\n"), r"line 3 has 3 fields, but 2.*quotes"),
    "row after quoted line breaks": (text(b'a,b\n"x\ny\nz",2\n3\n'), r"line 5 has 1 field"),
    "open quote": (text(b'a,b\n1,2\n3,"4\n5,6\n'), r"line 3 and never closes it"),
    "NUL byte": (text(b"a,b\n1,2\n3,\x004\n"), r"NUL byte in line 3.*remove"),
    "broken UTF-8": (text("a,b\né,1\n".encode() + b"\xff,2\n"), r"line 3 that are not utf-8.*0xFF.*UTF-8"),
    "JSON document": (
        text(b'{\n "a": 1\n}\n'),
        r"JSON document without an array.*one object per line",
    ),
    "JSON array": (text(b'["a", 1]'), r"is JSON, but holds no objects"),
    "JSON array of more than objects": (text(b'[{"a": 1}, 2]'), r"object 2 is not a JSON object.*int"),
    "JSON array that was cut off": (text(b'[{"a": 1}, {"a"'), r"ends inside its array.*Download"),
    "JSON array and more": (text(b'[{"a": 1}]\n[{"a": 2}]'), r"continues after its first value"),
    "broken JSON in an array": (text(b'[{"a": 1},\n{"a": }]'), r"object 2 is not a JSON object"),
    "two arrays": (text(b'{"a": [{"n": 1}],\n"b": [{"n": 2}]}'), r"several arrays of objects"),
    "broken JSON line": (text(b'{"a": 1}\n{"a": \n'), r"line 2 is not a JSON object"),
    "JSON line that is not an object": (text(b'{"a": 1}\n[1]\n'), r"line 2 is not a JSON object.*list"),
    "JSON nested too deep": (
        text(b'{"a": ' + b"[" * 1000 + b"]" * 1000 + b"}"),
        r"line 1 .*more than 50 deep",
    ),
    "half a character in JSON": (text(b'{"a": 1}\n{"a": "\\ud800"}\n'), r"line 2 .*\\ud800 alone"),
    "half a character in a name": (text(b'{"\\uDFFF": 1}\n'), r"line 1 .*\\udfff alone"),
    "a name twice in JSON": (text(b'{"a": 1}\n{"a": 1, "a": 2}\n'), r"line 2 .*'a' twice"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_it_is_refused_with_reason_and_way_out(tmp_path: Path, case: str, name: str) -> None:
    make, message = CASES[case]
    path = tmp_path / name
    make(path)
    before = path.read_bytes()
    with pytest.raises(FileProblem, match=f"(?s){name}.*{message}") as refusal:
        open_dataset(path, cache_dir=tmp_path / "cache").read()
    assert refusal.value.fix
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [name]


ENDLESS = {
    "first line": (b"", b"x", r"row at line 1 that does not end within 64 MB.*Check"),
    "line": (b"a,b\n1,2\n", b"x", r"row at line 3 that does not end within 64 MB.*Check"),
    "quote in the header": (b'a,"b', b"x,y\n", r"row at line 1 that .*Look at that line for a stray quote"),
    "quote": (b'a,b\n1,2\n3,"4', b"x,y\n", r"row at line 3 that .*Look at that line for a stray quote"),
    "JSON": (b'{"a": 1}\n{"a": "', b"x", r"row at line 2 that does not end within 64 MB.*Check"),
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("case", ENDLESS)
def test_a_row_that_hardly_ends_is_refused_before_it_is_read(tmp_path: Path, case: str) -> None:
    beginning, more, message = ENDLESS[case]
    path = tmp_path / "x.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(beginning)
        file.write(more * ((80 << 20) // len(more)))
    with pytest.raises(FileProblem, match=f"(?s)x.csv.gz: has a {message}"):
        open_dataset(path, cache_dir=tmp_path / "cache").fill(Job())


@pytest.mark.parametrize("text", ["hello there\n", "Dear all\nthis is not a table, or is it?\n"])
def test_prose_named_parquet_is_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "letter.parquet"
    path.write_text(text)
    with pytest.raises(FileProblem, match=r"letter\.parquet: is named like a Parquet file.*letter\.csv"):
        open_dataset(path)
    assert path.read_text() == text


def test_text_named_parquet_opens_as_the_text_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("a,b\n1,2\n")
    assert open_dataset(tmp_path / "x.parquet").read().to_pylist() == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("named", ["text", "cut off"])
def test_a_bad_file_among_parquet_files_is_named(tmp_path: Path, named: str) -> None:
    whole = parquet_bytes(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").write_bytes(b"a,b\n" if named == "text" else whole[:-3])
    with pytest.raises(
        FileProblem, match=r"2\.parquet: is (not a Parquet file|a Parquet file that was cut off)"
    ):
        open_dataset(tmp_path)


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "flights.parquet").write_bytes(b"")
    with pytest.raises(
        FileProblem, match=r"flihgts\.parquet: is not there.*Did you mean '.*flights\.parquet'"
    ):
        open_dataset(tmp_path / "flihgts.parquet")


@pytest.mark.parametrize(
    ("wrong_name", "guesses"),
    [
        ("flihgts.parquet", ["flights.parquet"]),
        ("flights.csv", ["flights.parquet"]),
        ("harbours.parquet", []),
        ("b.csv", []),
        ("notes.csv.gz", ["notes.txt"]),
    ],
)
def test_only_files_with_a_name_alike_are_meant(tmp_path: Path, wrong_name: str, guesses: list[str]) -> None:
    for name in ("flights.parquet", "weather.parquet", "airports.parquet", "notes.txt", "a.csv"):
        (tmp_path / name).touch()
    with pytest.raises(FileProblem, match="is not there") as raised:
        open_dataset(tmp_path / wrong_name)
    fix = "Did you mean " + " or ".join(f"'{tmp_path / name}'" for name in guesses) + "?"
    assert raised.value.fix == (fix if guesses else "Check the path")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="There is no folder"):
        open_dataset(tmp_path / "nowhere" / "x.csv")


def test_a_folder_without_data(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("a,b\n")
    (tmp_path / "deeper").mkdir()
    with pytest.raises(FileProblem, match="holds no data files"):
        open_dataset(tmp_path)


def test_a_note_in_a_folder_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hi\n")
    with pytest.raises(FileProblem, match=r"holds no data files.*It holds readme\.txt: text, but no table"):
        open_dataset(tmp_path)
    assert open_dataset(tmp_path / "readme.txt").schema.names == ["hi"]
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    assert open_dataset(tmp_path).read(["a", "b"]).to_pylist() == [{"a": 1, "b": 2}]


def test_a_folder_of_several_databases_says_what_to_do(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        sqlite_database(tmp_path / name)
    with pytest.raises(FileProblem, match=r"holds 2 SQLite files.*one by one, a\.db first"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.csv", "b.parquet"], "holds 1 delimited text file, 1 Parquet file. Files of several formats"),
        (["a.csv", "b.csv", "c.pdf"], "holds 2 delimited text files, 1 other file"),
        (["a.parquet", "b.csv"], r"b\.csv: is not a Parquet file"),
    ],
)
def test_a_folder_of_several_formats_says_which(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        path = tmp_path / name
        makes = {".csv": text(b"x,y\n1,2\n"), ".pdf": text(b"%PDF-1.7\n\xe2\xe3"), ".parquet": parquet_bytes}
        makes[path.suffix](path)
    with pytest.raises(FileProblem, match=message):
        open_dataset(tmp_path)


def test_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="matches no file"):
        open_dataset(tmp_path / "*.parquet")


@pytest.mark.skipif(os.name == "nt", reason="Windows makes links only for administrators")
def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileProblem, match="is a broken link"):
        open_dataset(tmp_path / "loop")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileProblem, match="is not a file"):
        open_dataset(tmp_path / "pipe")


UNPRIVILEGED = """
import os, sys
from lamella.core.datasets import open_dataset
from lamella.core.errors import FileProblem
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    open_dataset(sys.argv[1])
except FileProblem as refusal:
    print(refusal)
"""


@pytest.mark.skipif(os.name == "nt", reason="rights are of another kind there")
def test_a_file_without_permission(tmp_path: Path) -> None:
    """The test runs in a process of its own, which gives up the rights of root if it has them."""
    path = tmp_path / "secret.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if (
            folder.owner() == Path.home().owner()
            and folder.stat().st_mode & 0o111 != 0o111
            and folder != Path("/tmp")
        ):
            folder.chmod(folder.stat().st_mode | 0o111)
    answer = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "secret.csv: may not be read. You have no permission" in answer.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_parquet_whose_name_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"\xff.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(file)
    with pytest.raises(FileProblem, match=r"not UTF-8\. Rename"):
        open_dataset(file)
