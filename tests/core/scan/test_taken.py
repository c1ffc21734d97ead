"""Rows that were asked for are not decoded again, and memory is filled only with what is asked for twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import open_dataset
from lamella.core.scan import cache as caches
from lamella.core.scan.parquet_file import Footer
from lamella.core.scan.read import take_rows
from lamella.core.scan.snapshot import Snapshot

ROWS, GROUP = 40_000, 5_000
COLUMNS = 30


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    columns = {f"c{i}": np.arange(ROWS) * (i + 1) for i in range(COLUMNS)}
    columns["text"] = pa.array([None if n % 7 == 0 else f"row {n}" for n in range(ROWS)], pa.string_view())
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=GROUP)
    return open_dataset(tmp_path / "rows.parquet").snapshot()


@pytest.fixture
def footers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Footer]]:
    """The files that were opened for decoding."""
    files: list[Footer] = []
    open_file = Footer.open

    def noted(footer: Footer, *arguments: Any) -> pq.ParquetFile:
        files.append(footer)
        return open_file(footer, *arguments)

    monkeypatch.setattr(Footer, "open", noted)
    yield files


def row(place: int) -> dict[str, object]:
    numbers: dict[str, object] = {f"c{i}": place * (i + 1) for i in range(COLUMNS)}
    return numbers | {"text": None if place % 7 == 0 else f"row {place}"}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    "places",
    [
        [7],
        [39_999, 0, 5_000, 4_999],
        [3, 3, 20_000, 3],
        list(range(0, ROWS, 11)),
        list(range(ROWS - 1, -1, -2)),
    ],
)
def test_rows_come_in_the_order_asked_again_and_again(snapshot: Snapshot, places: list[int]) -> None:
    expected = [row(place) for place in places]
    for _ in range(3):
        assert take_rows(snapshot, np.array(places), snapshot.columns).to_pylist() == expected
    shifted = [(place + 1) % ROWS for place in places]
    assert take_rows(snapshot, np.array(shifted), snapshot.columns[3:5]).to_pylist() == [
        {"c3": place * 4, "c4": place * 5} for place in shifted
    ]


def test_the_same_rows_are_not_decoded_twice(snapshot: Snapshot, footers: list[Footer]) -> None:
    places = np.array([5, 12_000, 39_000])
    first = take_rows(snapshot, places, snapshot.columns)
    footers.clear()
    assert take_rows(snapshot, places, snapshot.columns).equals(first)
    assert take_rows(snapshot, places, snapshot.columns[2:4]).equals(first.select([2, 3]))
    assert not footers


def test_row_groups_are_kept_when_other_rows_of_them_are_asked_for(
    snapshot: Snapshot, footers: list[Footer]
) -> None:
    before = caches.cache.held_bytes
    take_rows(snapshot, np.array([5, 12_000]), snapshot.columns)
    assert caches.cache.held_bytes == before
    take_rows(snapshot, np.array([6, 12_001]), snapshot.columns)
    assert caches.cache.held_bytes >= before + 2 * GROUP * 8 * COLUMNS
    footers.clear()
    take_rows(snapshot, np.array([7, 12_002]), snapshot.columns)
    assert not footers
