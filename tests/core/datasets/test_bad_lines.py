"""Lines that are no rows: left out, counted, listed, and beside the table that the others become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.datasets import open_dataset
from lamella.core.datasets.text import blocks as text_blocks
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.errors import FileProblem
from lamella.core.jobs import Job
from lamella.core.store.importing import import_dataset, import_file
from lamella.core.store.store import Store


def opened(path: Path, data: str | bytes, **options: Any) -> Any:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_dataset(path, cache_dir=path.parent / "cache", bad_lines="set-aside", **options)


@pytest.mark.parametrize(
    ("data", "rows", "bad"),
    [
        ("a,b\n1,2\n3\n4,5\n", [(1, 2), (4, 5)], [(3, "3", "It has 1 field instead of 2")]),
        ("a,b\n1,2\n3,4,5\n", [(1, 2)], [(3, "3,4,5", "It has 3 fields instead of 2")]),
        (
            'a,b\n1,"x\n2,y\n3,z\n',
            [(2, "y"), (3, "z")],
            [(2, '1,"x', "It opens a quote that is never closed")],
        ),
        ('a,b\n1,x\n2,"y', [(1, "x")], [(3, '2,"y', "It opens a quote that is never closed")]),
        (
            'a,b,c\n1,x,"y\n2,"y",z\n3,p,q\n',
            [(2, "y", "z"), (3, "p", "q")],
            [(2, '1,x,"y', "It has 4 fields instead of 3")],
        ),
        (
            "a,b\n1,é\n".encode() + b"2,\xff\n3,z\n",
            [(1, "é"), (3, "z")],
            [(3, "2,\ufffd", "The byte 0xFF in it cannot be decoded")],
        ),
        (b"a,b\n1,x\n2,\0\n3,z\n", [(1, "x"), (3, "z")], [(3, "2,\0", "It holds a NUL byte")]),
        ('a,b\n1,"x\ny"\n2,z\n3\n', [(1, "x\ny"), (2, "z")], [(5, "3", "It has 1 field instead of 2")]),
    ],
    ids=["short", "long", "open", "open at the end", "closed late", "undecodable", "nul", "behind two lines"],
)
def test_bad_lines_are_left_out_and_listed(
    tmp_path: Path, data: str | bytes, rows: list[tuple[Any, ...]], bad: list[tuple[int, str, str]]
) -> None:
    dataset = opened(tmp_path / "x.csv", data)
    assert [tuple(row.values()) for row in dataset.read().to_pylist()] == rows
    assert [(p.line, p.text, p.why) for p in dataset.problems] == bad
    assert dataset.remarks[0].startswith(f"1 line that cannot be read is left out (line {bad[0][0]}: ")


def test_without_being_asked_a_bad_line_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(FileProblem, match="line 3 has 1 field"):
        open_dataset(path, cache_dir=tmp_path)


def test_rows_that_can_be_mended_are_and_the_others_left_out(tmp_path: Path) -> None:
    dataset = opened(tmp_path / "x.csv", "a,b\n1\n2,3,\n4,5,6\n", ragged="pad")
    assert dataset.read().to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": 3}]
    assert [p.line for p in dataset.problems] == [4]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 1 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 4 << 10)


def test_bad_lines_of_all_blocks_are_there_after_the_file_was_read_and_from_its_cache(
    tmp_path: Path, small_blocks: None
) -> None:
    lines = [f"{n},{n}" if n % 1000 else f"{n}" for n in range(1, 10_001)]
    dataset = opened(tmp_path / "x.csv", "a,b\n" + "\n".join(lines) + "\n")
    dataset.fill(Job())
    assert dataset.num_rows == 9990
    assert [p.line for p in dataset.problems] == [n + 1 for n in range(1000, 10_001, 1000)]
    again = opened(tmp_path / "x.csv", (tmp_path / "x.csv").read_bytes())
    again.fill(Job())
    said = "10 lines that cannot be read are left out (line 1,001: it has 1 field instead of 2; line 2,001: "
    assert again.problems == dataset.problems
    assert again.remarks == dataset.remarks
    assert again.remarks[0] == f"{said}it has 1 field instead of 2; 8 more)"


def test_a_line_that_is_too_long_is_left_out(
    tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "LONGEST_ROW", 20 << 10)
    rows = "".join(f"{n},x\n" for n in range(2_000))
    dataset = opened(tmp_path / "x.csv", f"a,b\n{rows}1,{'y' * (60 << 10)}\n{rows}")
    dataset.fill(Job())
    assert dataset.num_rows == 4_000
    (problem,) = dataset.problems
    assert (problem.line, problem.text[:4], problem.why) == (2002, "1,yy", "It is longer than 0 MB")


def test_an_open_quote_costs_its_line_alone_though_the_file_is_long(
    tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "LONGEST_ROW", 20 << 10)
    rows = "".join(f"{n},x\n" for n in range(5_000))
    dataset = opened(tmp_path / "x.csv", f'a,b\n{rows}1,"y\n{rows}')
    dataset.fill(Job())
    assert dataset.num_rows == 10_000
    assert [(p.line, p.text) for p in dataset.problems] == [(5002, '1,"y')]


def test_a_file_that_is_read_in_a_wrong_way_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lamella.core.datasets.text import bad_lines

    monkeypatch.setattr(bad_lines, "MOST_PROBLEMS", 100)
    with pytest.raises(FileProblem, match="line 2: it has 2 fields instead of 3"):
        opened(tmp_path / "x.csv", "a;b;c\n" + "1;2\n" * 101, delimiter=";").read()


def test_bad_lines_of_an_import_are_a_table_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("a,d\n1,2025-01-01\n2\n3,x\n")
    with Store.open(tmp_path / "store") as store:
        table = import_file(path, store, bad_lines="set-aside", types={"d": "date"})
        assert (table.name, table.num_rows, store.tables) == ("trips", 2, ["trips", "trips_bad_lines"])
        assert store["trips_bad_lines"].read(["line", "column", "text", "reason"]).to_pylist() == [
            {"line": 3, "column": None, "text": "2", "reason": "It has 1 field instead of 2"},
            {"line": 4, "column": "d", "text": "x", "reason": "It is not a date"},
        ]
        import_file(path, store, bad_lines="set-aside", types={"d": "date"})
        assert store.tables == ["trips", "trips_2", "trips_2_bad_lines", "trips_bad_lines"]


def test_an_import_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamella.core.store import importing

    def fail(*_: Any) -> None:
        raise FileProblem("x", "is full")

    monkeypatch.setattr(importing, "keep_bad_lines", fail)
    with Store.open(tmp_path / "store") as store:
        with pytest.raises(FileProblem):
            import_dataset(opened(tmp_path / "x.csv", "a,b\n1,2\n3\n"), store)
        assert store.tables == []


def test_bad_lines_of_several_files_name_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n1,2\n3\n")
    (folder / "b.csv").write_text("a,b\n4,5\n")
    dataset = open_dataset(folder, cache_dir=tmp_path / "cache", bad_lines="set-aside")
    assert dataset.read().num_rows == 2
    assert [(p.file, p.line) for p in dataset.problems] == [("a.csv", 3)]


LINES = st.lists(
    st.one_of(
        st.sampled_from(["1,2", "3,4", '"a","b"', "x,y"]),
        st.text(st.sampled_from('ab,"\n'), max_size=6).map(lambda text: text.replace("\n", "")),
    ),
    min_size=1,
    max_size=12,
)


@given(LINES)
def test_every_line_is_a_row_or_listed(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """Nothing is lost: what is not in the rows is in the lines that were set aside."""
    path = tmp_path_factory.mktemp("bad") / "x.csv"
    path.write_text("c,d\n" + "".join(f"{line}\n" for line in lines))
    dataset = open_dataset(
        path, cache_dir=path.parent, bad_lines="set-aside", delimiter=",", header=True, quote='"'
    )
    bad = {problem.line for problem in dataset.problems}
    good = [line for number, line in enumerate(lines, 2) if number not in bad and line]
    values = [value for row in dataset.read().to_pylist() for value in row.values() if value is not None]
    letters = sorted(sign for line in good for sign in line if sign not in ',"\n')
    assert sorted(sign for value in values for sign in str(value) if sign not in ',"\n') == letters
    assert all(problem.text == lines[problem.line - 2] for problem in dataset.problems)
