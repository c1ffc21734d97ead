"""Large text files: first rows at once, the rest through a cache that fills, widens and is used again."""

from __future__ import annotations

import os
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lamella.core.datasets import open_dataset
from lamella.core.datasets.blocks import Reading, RowsMissing
from lamella.core.datasets.cache import sweep
from lamella.core.datasets.text import dataset as text_dataset
from lamella.core.datasets.text.blocks import TextBlock
from lamella.core.errors import Cancelled, FileProblem
from lamella.core.jobs import Job

ROWS = 60_000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks in a file of a megabyte, and fewer bytes read at first."""
    monkeypatch.setattr(text_dataset, "FIRST_BYTES", 128 << 10)
    monkeypatch.setattr(text_dataset, "SMALLEST_BLOCK", 64 << 10)


@cache
def lines(rows: int) -> str:
    return "n,city\n" + "".join(f"{n},Oslo {n % 7}\n" for n in range(rows))


def numbered(path: Path, last: str = "", rows: int = ROWS) -> Path:
    path.write_text(lines(rows) + last, newline="\n")
    return path


def opened(path: Path, **options: Any) -> Any:
    return open_dataset(path, cache_dir=path.parent / "cache", **options)


def test_first_rows_are_there_before_the_file_is_read(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv"))
    assert not dataset.snapshot().complete
    assert 1_000 < dataset.num_rows < ROWS
    assert not (tmp_path / "cache").exists()


def test_filled_it_has_every_row_in_order(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv"))
    fractions: list[float | None] = []
    dataset.fill(Job(lambda progress: fractions.append(progress.fraction)))
    assert dataset.snapshot().complete
    assert len(dataset.snapshot().segments) > 4
    assert dataset.read(["n"])["n"].to_pylist() == list(range(ROWS))
    assert fractions[-1] == 1.0
    assert fractions == sorted(fractions, key=lambda part: part or 0)


def test_rows_grow_and_never_shrink_while_it_fills(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv", "no number,Rome\n"))
    counts: list[int] = [dataset.num_rows]

    class Watch(Job):
        def report(self, position: int, total: int | None = None, text: str = "") -> None:
            counts.append(dataset.num_rows)

    dataset.fill(Watch())
    assert counts == sorted(counts)
    assert len(set(counts)) > 4
    assert dataset.num_rows == ROWS + 1


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("last", "kind", "first"),
    [
        ("0.5,Rome\n", pa.float64(), 0.0),
        ("abc,Rome\n", pa.string(), "0"),
        ("007,Rome\n", pa.string(), "0"),
        ("9007199254740993.5,Rome\n", pa.string(), "0"),
        (",Rome\n", pa.int64(), 0),
        ("NA,Rome\n", pa.int64(), 0),
    ],
)
def test_a_value_far_in_the_file_widens_its_column(
    tmp_path: Path, last: str, kind: pa.DataType, first: Any
) -> None:
    dataset = opened(numbered(tmp_path / "x.csv", last))
    assert dataset.schema.types == [pa.int64(), pa.string()]
    dataset.fill(Job())
    assert dataset.schema.types == [kind, pa.string()]
    rows = dataset.read()
    assert rows.num_rows == ROWS + 1
    assert rows["n"][0].as_py() == first
    assert rows["n"].null_count == (1 if kind == pa.int64() else 0)
    if kind == pa.string():
        assert rows["n"][-1].as_py() == last.partition(",")[0]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("first", "last"), [("9007199254740993", "0.5"), ("0.5", "9007199254740993")])
def test_an_integer_that_is_no_double_in_another_block_than_a_fraction(
    tmp_path: Path, first: str, last: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"n,x\n{first},0\n" + "".join(f"{n},0\n" for n in range(ROWS)) + f"{last},0\n")
    dataset = opened(path)
    dataset.fill(Job())
    assert dataset.schema.field("n").type == pa.string()
    assert dataset.read(["n"])["n"].to_pylist() == [first, *map(str, range(ROWS)), last]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [
        ("NA", "1", pa.int64()),
        ("NA", "2013-01-31", pa.date32()),
        ("NA", "Oslo", pa.string()),
        ("nan", "1", pa.float64()),
        ("1", "nan", pa.float64()),
        ("nan", "NA", pa.string()),
        ("2013-01-31 10:00", "2013-01-31 10:00:00.123456789", pa.timestamp("ns")),
        ("0001-01-31 10:00", "2013-01-31 10:00:00.123456789", pa.string()),
        ("2013-01-31 10:00:00.123456789", "0001-01-31 10:00", pa.string()),
    ],
)
def test_types_do_not_depend_on_where_a_block_ends(
    tmp_path: Path, first: str, later: str, kind: pa.DataType
) -> None:
    (tmp_path / "small.csv").write_text(f"v,x\n{first},0\n{later},0\n")
    (tmp_path / "x.csv").write_text("v,x\n" + f"{first},0\n" * ROWS + f"{later},0\n")
    small, large = opened(tmp_path / "small.csv"), opened(tmp_path / "x.csv")
    large.fill(Job())
    assert small.schema.field("v").type == large.schema.field("v").type == kind
    assert str(large.read(["v"])["v"][-1]) == str(small.read(["v"])["v"][-1])
    assert large.num_rows == ROWS + 1


def test_empty_lines_of_a_single_column_fill_blocks(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("n\n1\n" + "\n" * 3_000_000 + "2\n")
    dataset = opened(path)
    dataset.fill(Job())
    assert (dataset.num_rows, dataset.read()["n"].null_count) == (3_000_002, 3_000_000)


def test_a_header_longer_than_a_block_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("n" * 2_000_000 + ",b\n" + "1,2\n" * ROWS)
    dataset = opened(path)
    dataset.fill(Job())
    assert (dataset.num_rows, dataset.schema.types) == (ROWS, [pa.int64(), pa.int64()])


class Forgetful:
    """A format that has neither rows nor another schema for blocks after the first."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._text, name)

    def read(self, block: TextBlock, schema: pa.Schema) -> Reading:
        return Reading(schema, None) if block.number else self._text.read(block, schema)


def test_a_reading_without_rows_and_without_a_wider_schema_is_an_error(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv"))
    dataset.file.text = Forgetful(dataset.file.text)
    with pytest.raises(RowsMissing, match="nor anything wider"):
        dataset.fill(Job())
    with pytest.raises(RowsMissing, match="nor anything wider"):
        list(dataset.rows_once(Job(), lambda rows, position: None))


def test_a_column_without_values_at_first_gets_its_type_later(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("n,late\n" + "".join(f"{n},\n" for n in range(ROWS)) + "1,2013-01-31\n")
    dataset = opened(path)
    assert dataset.schema.field("late").type == pa.string()
    dataset.fill(Job())
    assert dataset.schema.field("late").type == pa.date32()
    assert dataset.read(["late"])["late"].null_count == ROWS


@pytest.mark.slow
def test_json_lines_widen_and_grow_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"n": 1}\n' * 40_000 + '{"n": "x", "new": [1]}\n')
    dataset = opened(path)
    dataset.fill(Job())
    assert dataset.schema == pa.schema({"n": pa.string(), "new": pa.list_(pa.int64())})
    assert dataset.num_rows == 40_001
    assert dataset.read()["n"].slice(39_999).to_pylist() == ["1", "x"]


def test_a_ragged_row_far_in_the_file(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv", "1\n"))
    with pytest.raises(FileProblem, match=rf"line {ROWS + 2:,} has 1 field, but 2 are expected"):
        dataset.fill(Job())
    assert ROWS * 0.5 < dataset.num_rows <= ROWS
    assert not dataset.snapshot().complete
    with pytest.raises(FileProblem, match="short rows filled up"):
        dataset.count()
    padded = opened(tmp_path / "x.csv", ragged="pad")
    assert padded.read(["city"])["city"].to_pylist()[-1] is None


def test_quoted_line_breaks_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + '"one\ntwo ""three"",\n",1\n' * 20_000)
    assert set(opened(path).read()["a"].to_pylist()) == {'one\ntwo "three",\n'}


def test_cancelled_it_keeps_what_was_read_and_can_go_on(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv"))
    first = dataset.num_rows

    class Impatient(Job):
        def report(self, position: int, total: int | None = None, text: str = "") -> None:
            if position > 400_000:
                self.cancel()
            super().report(position, total, text)

    with pytest.raises(Cancelled):
        dataset.fill(Impatient())
    assert first < dataset.num_rows < ROWS
    assert dataset.snapshot().segments[-1].path.exists()
    dataset.fill(Job())
    assert dataset.num_rows == ROWS


def test_the_cache_is_used_again(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    first = opened(path)
    first.fill(Job())
    again = opened(path)
    assert again.snapshot().complete
    assert again.snapshot().token == first.snapshot().token
    assert again.read().equals(first.read())


def test_a_cache_of_other_options_or_content_is_not_used(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    opened(path).fill(Job())
    assert not opened(path, ragged="pad").snapshot().complete
    numbered(path, "1,Rome\n")
    assert not opened(path).snapshot().complete


def test_a_damaged_cache_is_made_again(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    dataset = opened(path)
    dataset.fill(Job())
    dataset.snapshot().segments[1].path.write_bytes(b"")
    again = opened(path)
    assert not again.snapshot().complete
    assert again.read()["n"].to_pylist() == list(range(ROWS))


def test_a_file_that_changes_while_open(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    dataset = opened(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileProblem, match=r"changed on disk.*Reload"):
        dataset.fill(Job())
    assert dataset.num_rows > 1_000


def test_two_threads_fill_it_once(tmp_path: Path) -> None:
    dataset = opened(numbered(tmp_path / "x.csv"))
    threads = [threading.Thread(target=dataset.fill, args=(Job(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    generations = [p for p in (tmp_path / "cache").glob("*/*") if p.is_dir()]
    assert (dataset.num_rows, len(generations)) == (ROWS, 1)


def fill_and_forget(path: Path) -> None:
    opened(path).fill(Job())


def entries(folder: Path) -> set[str]:
    return {p.name for p in (folder / "cache").iterdir()}


def test_a_cache_whose_file_changed_is_swept(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    fill_and_forget(path)
    stale = entries(tmp_path)
    os.utime(path, ns=(1, 1))
    fill_and_forget(path)
    assert len(entries(tmp_path)) == 1
    assert not entries(tmp_path) & stale


def test_what_somebody_has_open_is_never_swept(tmp_path: Path) -> None:
    path = numbered(tmp_path / "x.csv")
    second = opened(path)
    second.fill(Job())
    path.unlink()
    sweep(tmp_path / "cache", 0)
    assert second.read(["n"]).num_rows == ROWS


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_a_cache_in_a_folder_of_the_users_leaves_what_is_theirs(tmp_path: Path) -> None:
    letters, elsewhere = tmp_path / "cache" / "letters", tmp_path / "elsewhere"
    for folder in (letters, elsewhere):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("dear")
    (tmp_path / "cache" / ("0" * 24)).symlink_to(elsewhere)
    fill_and_forget(numbered(tmp_path / "x.csv"))
    sweep(tmp_path / "cache", 0)
    assert (letters / "a.txt").read_text() == (elsewhere / "a.txt").read_text() == "dear"
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"letters", "0" * 24}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("most", "left"), [(0, 0), (1 << 30, 2)])
def test_the_longest_unused_goes_first_when_there_is_too_much(tmp_path: Path, most: int, left: int) -> None:
    for name in ("a.csv", "b.csv"):
        fill_and_forget(numbered(tmp_path / name))
    sweep(tmp_path / "cache", most)
    assert len(entries(tmp_path)) == left


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    dataset = opened(numbered(tmp_path / "x.csv"))
    with pytest.raises(FileProblem, match=r"cache of files cannot be written.*Make room"):
        dataset.fill(Job())
    assert dataset.num_rows > 1_000
