"""Row ends: the same as Python's csv module finds, wherever the text is cut."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamella.core.datasets.text.blocks import RowEnds

CSV = RowEnds(b"\n", b",", b'"')


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (b"a,b\n1,2\n3", b"a,b\n1,2\n"),
        (b'a,b\n"x\ny",2\n"un', b'a,b\n"x\ny",2\n'),
        (b'a,"b ""q"" \n c",d\n1,2\npart', b'a,"b ""q"" \n c",d\n1,2\n'),
        (b'5" disk,3\n6" x,"a\nb"\nrest"', b'5" disk,3\n6" x,"a\nb"\n'),
        (b'"a"x"\n1\n', b'"a"x"\n1\n'),
        (b'"open\n', b""),
        (b"no end", b""),
    ],
)
def test_whole_rows(data: bytes, whole: bytes) -> None:
    assert data[: CSV.last(data)] == whole


FIELDS = st.text('ab",\n\r ', max_size=6)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=3), min_size=1, max_size=8), st.data())
def test_a_cut_file_ends_after_the_last_whole_row(rows: list[list[str]], data: st.DataObject) -> None:
    ends, written = [0], io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        ends.append(len(written.getvalue().encode()))
    whole = written.getvalue().encode()
    cut = data.draw(st.integers(0, len(whole)))
    assert CSV.last(whole[:cut]) == max(end for end in ends if end <= cut)
