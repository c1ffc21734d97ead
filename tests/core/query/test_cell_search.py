"""Cells are found by what they show, wherever their rows stand, and counted exactly."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamella import Store, col, open_dataset
from lamella.core.errors import Cancelled
from lamella.core.filters.cell_texts import whole_texts
from lamella.core.jobs import Job
from lamella.core.query.cell_search import CellSearch, Hits, TextPattern, search
from lamella.core.query.cell_search.hits import RowBits
from lamella.core.query.computed_view import ComputedView
from lamella.core.query.scan_query import ScanQuery
from lamella.core.query.steps import Compute
from lamella.core.query.view import View
from lamella.core.scan.snapshot import SortKey, snapshot_of_rows
from tests.slow_tests import examples


def found(rows, pattern: TextPattern, names=None, start: int = 0, **more) -> set[tuple[int, str]]:
    names = list(names or rows.schema.names)
    hits = CellSearch(rows, pattern, names, start=start, **more).run()
    assert hits.complete and hits.sure_rows == rows.num_rows
    return hits.in_rows(0, rows.num_rows, names)


def by_hand(rows, pattern: TextPattern, names=None) -> set[tuple[int, str]]:
    """The matches found by plain Python, one text after the other."""
    flags = 0 if pattern.case else re.IGNORECASE
    sought = re.compile(pattern.text if pattern.regex else re.escape(pattern.text), flags)
    test = sought.fullmatch if pattern.whole else sought.search
    names = list(names or rows.schema.names)
    page = rows.page(0, rows.num_rows, names)
    return {
        (row, name)
        for name, values in zip(names, page.columns, strict=True)
        for row, text in enumerate(whole_texts(values))
        if text is not None and test(text)
    }


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table with several files, deletions, pending cells and new rows."""
    store = Store.open(tmp_path_factory.mktemp("search") / "store")
    n = 3000
    rows = pa.table(
        {
            "code": [f"c{i % 70:03d} x" for i in range(n)],
            "name": [f"Müller {i}" if i % 3 else None for i in range(n)],
            "n": pa.array([i * 37 % 4001 - 50 for i in range(n)], pa.int32()),
            "price": [i / 8 for i in range(n)],
            "day": [dt.date(2013, 1, 1) + dt.timedelta(days=i % 365) for i in range(n)],
            "at": pa.array(
                [dt.datetime(2013, 1, 1) + dt.timedelta(minutes=i * 7) for i in range(n)], pa.timestamp("us")
            ),
            "on": [i % 2 == 0 for i in range(n)],
            "tags": [["a", str(i)] for i in range(n)],
        }
    )
    table = store.create_table("things", rows)
    table.insert(rows.slice(0, 500))
    table.delete(where=col("n") < 0)
    table.update_where("code = 'c003 x'", {"$set": {"code": "needle"}})
    table.update([{"_id": 40, "name": "the needle"}])
    table.insert([{"code": "new needle", "n": 5}])
    return table


PATTERNS = [
    TextPattern("needle"),
    TextPattern("NEEDLE", case=True),
    TextPattern("müller 1"),
    TextPattern("needle", whole=True),
    TextPattern(r"^c0[01]\d", regex=True),
    TextPattern("MÜLLER [12]0+", regex=True, whole=True),
    TextPattern("37"),
    TextPattern("2013-02"),
    TextPattern("02-03 1"),
    TextPattern("12:3"),
    TextPattern("2013-01-05 12:36:00", whole=True),
    TextPattern("TRUE"),
    TextPattern('"2999"'),
    TextPattern(".125"),
]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.text)
def test_cells_found_are_those_of_python(table, pattern) -> None:
    snapshot = table.snapshot()
    for query in (
        ScanQuery(),
        ScanQuery(where=col("n") > 1000),
        ScanQuery(sort=(SortKey("price", descending=True), SortKey("n"))),
        ScanQuery(where=col("on") == True, sort=(SortKey("code"),), limit=900, offset=7),  # noqa: E712
    ):
        view = View(snapshot, query)
        assert found(view, pattern, start=view.num_rows // 2) == by_hand(view, pattern)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("sort", [(), (SortKey("n"),)], ids=["filtered", "sorted"])
def test_many_rows_of_a_filter_are_looked_through_as_files_have_them(table, sort, monkeypatch) -> None:
    monkeypatch.setattr(search, "FEW_ROWS", 10)
    monkeypatch.setattr(search, "NEAR_ROWS", 3)
    monkeypatch.setattr(search, "MOST_CELLS", 500)
    view = View(table.snapshot(), ScanQuery(where=col("n") > 100, sort=sort))
    for pattern in PATTERNS[:8]:
        assert found(view, pattern, start=1234) == by_hand(view, pattern)


@settings(max_examples=examples(full=40), deadline=None)
@given(
    st.lists(st.text("aAß .*İ\n\0é", max_size=5) | st.none(), max_size=6), st.text("aAßé.*\n\0", min_size=1)
)
def test_plain_text_is_found_whatever_it_is_made_of(texts, sought) -> None:
    rows = View(snapshot_of_rows(pa.table({"t": pa.array(texts, pa.string())}), "t"))
    pattern = TextPattern(sought, case=True)
    assert found(rows, pattern) == {(n, "t") for n, text in enumerate(texts) if text and sought in text}
    folded = {(n, "t") for n, text in enumerate(texts) if text and sought.lower() in text.lower()}
    assert found(rows, TextPattern(sought)) == folded


def test_a_value_is_found_as_it_was_typed_and_as_it_is_displayed() -> None:
    rows = View(snapshot_of_rows(pa.table({"n": [1000, 2000, 12345], "x": [0.5, 1e3, 2.0]}), "t"))
    assert found(rows, TextPattern("1e3")) == {(0, "n"), (1, "x")}
    assert found(rows, TextPattern("12,345")) == set()
    displayed = {"n": lambda values: [f"{v.as_py():,}" for v in values]}
    assert found(rows, TextPattern("12,345"), displayed=displayed) == {(2, "n")}
    assert found(rows, TextPattern("12345"), displayed=displayed) == {(2, "n")}


def test_a_bad_pattern_says_why_and_none_takes_for_ever() -> None:
    assert "Unclosed bracket (" in TextPattern("(a", regex=True).problem
    assert TextPattern("(a").problem == "" and TextPattern("a" * (1 << 20)).problem == ""
    assert "longer" in TextPattern("a" * (1 << 21)).problem
    assert TextPattern("\ud800").problem
    rows = View(snapshot_of_rows(pa.table({"t": ["a" * 5000 + "b", "c"]}), "t"))
    assert found(rows, TextPattern("(a+)+$", regex=True)) == set()
    assert found(rows, TextPattern("a" * (1 << 20))) == set()


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a)|é", "n1(2|3)", "(?P<hit>é)", r"\bfoo\b", "^", "x*", "(é(l))", "[(]a", "A|B"]
)
@pytest.mark.parametrize("case", [True, False])
def test_the_place_of_a_regular_expression_in_a_text_is_that_of_python(pattern, case) -> None:
    for text in ("xxaa", "Caféla", "zN13é", "a foo é", "(a", "", "nothing", "\U0001f600AB"):
        match = re.search(pattern, text, 0 if case else re.IGNORECASE)
        expected = [match.span()] if match and match[0] else []
        assert TextPattern(pattern, case=case, regex=True).spans(text) == expected, text


def test_text_that_is_not_utf8_and_binary_values_are_found_by_what_cells_show() -> None:
    broken = pa.array([b"ab\xff", b"c", None]).view(pa.string())
    rows = View(snapshot_of_rows(pa.table({"t": broken, "b": pa.array([b"\x12\xab", b"", None])}), "t"))
    assert found(rows, TextPattern("C")) == {(1, "t")}
    assert found(rows, TextPattern("0x12AB")) == {(0, "b")}


def test_columns_that_are_computed_page_by_page_are_looked_through(table) -> None:
    step = Compute((("twice", col("n") * 2),))
    view = View(table.snapshot(), ScanQuery(where=col("n") > 10))
    rows = ComputedView(view, [step], view.schema.append(pa.field("twice", pa.int64())))
    pattern = TextPattern("74", whole=True)
    assert found(rows, pattern, ["n", "twice"]) == by_hand(rows, pattern, ["n", "twice"]) != set()


def test_hits_near_the_start_are_sure_before_others_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    n = 300_000
    pq.write_table(pa.table({"t": [f"r{i}" for i in range(n)]}), path, row_group_size=50_000)
    view = View(open_dataset(path).snapshot())
    looked = CellSearch(view, TextPattern("r1"), ["t"], start=200_000)
    reports: list[tuple[int, int]] = []

    def stop_when_sure(progress) -> None:
        reports.append((looked.hits.sure_rows, looked.hits.count))

    looked.run(Job(stop_when_sure))
    assert reports[0][0] == search.NEAR_ROWS and looked.hits.count == sum(
        f"r{i}".startswith("r1") for i in range(n)
    )
    assert [sure for sure, _ in reports] == sorted(sure for sure, _ in reports)


def test_a_search_that_is_stopped_keeps_what_it_found(table) -> None:
    view = View(table.snapshot())
    looked = CellSearch(view, TextPattern("c001"), ["code"])
    job = Job(lambda progress: job.cancel())
    with pytest.raises(Cancelled):
        looked.run(job)
    assert not looked.hits.complete and looked.hits.count > 0


@settings(max_examples=examples(full=40), deadline=None)
@given(st.integers(1, 300_000), st.data())
def test_bits_of_rows_are_a_set(num_rows, data) -> None:
    rows = data.draw(st.sets(st.integers(0, num_rows - 1), max_size=40))
    bits = RowBits(num_rows)
    bits.add(np.array(sorted(rows), np.int64))
    bits.add(np.array(sorted(rows)[:3], np.int64))
    at = data.draw(st.integers(0, num_rows - 1))
    assert bits.count == len(rows) and bits.rows.tolist() == sorted(rows)
    assert bits.rank(at) == sum(row < at for row in rows) and (at in bits) == (at in rows)
    assert bits.next(at) == min((row for row in rows if row >= at), default=None)
    assert bits.previous(at) == max((row for row in rows if row < at), default=None)
    bits.discard(at)
    assert bits.rows.tolist() == sorted(rows - {at}) and bits.count == len(rows - {at})


def test_the_next_hit_goes_along_rows_and_begins_again() -> None:
    hits = Hits(10)
    for name, rows in (("a", [2, 5]), ("c", [2, 7])):
        hits.add(name, np.array(rows))
    names, cell, walk = ["c", "b", "a"], (0, -1), list[tuple[object, bool]]()
    for _ in range(5):
        step = hits.after(cell, names)
        assert step is not None
        walk.append(step)
        cell = step[0][0], names.index(step[0][1])
    assert walk == [((2, "c"), False), ((2, "a"), False), ((5, "a"), False), ((7, "c"), False),
                    ((2, "c"), True)]  # fmt: skip
    assert [hits.place(hit, names) for hit, _ in walk[:4]] == [0, 1, 2, 3] and hits.place(
        (0, "a"), names
    ) is None
    assert hits.before((2, 0), names) == ((7, "c"), True) and hits.before((5, 1), names) == ((2, "a"), False)
    assert Hits(0).after((0, 0), names) is None
