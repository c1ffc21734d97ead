"""Cards of large files are there at once when a file is opened again, if it is the very same one."""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import col, open_dataset
from lamella.core.query import card_cache, cards
from lamella.core.query.cards import ColumnCard, card, forget_cards, saved_card
from lamella.core.scan.snapshot import Snapshot

DAY = dt.date(2024, 2, 29)
COLUMNS = {
    "whole": pa.array([1, 5, 9, None]),
    "real": pa.array([0.1, float("nan"), float("inf"), -0.0]),
    "text": pa.array(["a", "", "ü\n", None]),
    "flag": pa.array([True, False, None, True]),
    "price": pa.array([Decimal("1.20"), Decimal("-3.05"), None, Decimal("0.00")]),
    "day": pa.array([DAY, dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "at": pa.array([dt.datetime(2024, 2, 29, 1, 2, 3, 4), None, None, dt.datetime(1970, 1, 1)]),
    "nothing": pa.nulls(4),
}


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_cache, "LEAST_ROWS", 1)
    forget_cards()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(pa.table(COLUMNS), tmp_path / "file.parquet")
    return tmp_path / "file.parquet"


def opened(file: Path) -> Snapshot:
    """Open the file as a newly started program does, without cached cards."""
    forget_cards()
    return open_dataset(file).snapshot()


def entries() -> list[Path]:
    return sorted(card_cache.default_folder().glob("*.json"))


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_card_is_read_as_it_was_made(name: str, file: Path) -> None:
    first = card(opened(file), name)
    second = saved_card(opened(file), name)
    assert second is not None
    assert plain(second) == plain(first)


def plain(first: ColumnCard) -> str:
    """NaN is not equal to itself."""
    figures = replace(first.figures, bins=dict(sorted(first.figures.bins.items())))
    return repr(replace(first, figures=figures))


def test_a_saved_card_is_taken_instead_of_making_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = card(opened(file), "whole")
    monkeypatch.setattr(cards, "_CardQuery", None)
    assert card(opened(file), "whole") == first


def test_filtered_and_sampled_cards_are_not_saved(file: Path) -> None:
    snapshot = opened(file)
    card(snapshot, "whole", sampled=True)
    assert entries() == []
    card(snapshot, "whole", col("whole") > 1)
    assert len(entries()) == 1, "that of all rows beside it is"


def test_a_file_written_anew_has_no_card_yet(file: Path) -> None:
    card(opened(file), "whole")
    pq.write_table(pa.table({**COLUMNS, "whole": pa.array([2, 2, 2, 2])}), file)
    later = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(later, later))
    assert saved_card(opened(file), "whole") is None
    assert card(opened(file), "whole").figures.max == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"rows": 4', '"rows": 5'),
        lambda text: "[]",
        lambda text: json.dumps({"card": {}, "checksum": json.loads(text)["checksum"]}),
        lambda text: "\0" * len(text),
    ],
)
def test_a_damaged_entry_is_made_anew(damage, file: Path) -> None:
    first = card(opened(file), "whole")
    (entry,) = entries()
    entry.write_text(damage(entry.read_text("utf-8")), "utf-8")
    assert saved_card(opened(file), "whole") is None
    assert card(opened(file), "whole") == first
    assert saved_card(opened(file), "whole") == first


def test_small_files_stores_and_views_of_them_leave_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_cache, "LEAST_ROWS", 5)
    card(opened(file), "whole")
    assert entries() == []


def test_a_folder_that_cannot_be_written_costs_no_card(file: Path, lamella_home: Path) -> None:
    (lamella_home / "cache").write_text("in the way")
    assert card(opened(file), "whole").figures.max == 9
    assert saved_card(opened(file), "whole") is None


def test_the_oldest_entries_go(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("whole", "real", "text"):
        card(opened(file), name)
    oldest = entries()[1]
    os.utime(oldest, (1, 1))
    (card_cache.default_folder() / "draft.tmp").write_text("")
    monkeypatch.setattr(card_cache, "MOST_ENTRIES", 2)
    card_cache._sweep.cache_clear()
    card(opened(file), "flag")
    assert len(entries()) == 3 and oldest not in entries()
    assert not list(card_cache.default_folder().glob("*.tmp"))


def test_all_entries_can_be_removed(file: Path) -> None:
    card(opened(file), "whole")
    card_cache.clear()
    assert entries() == [] and saved_card(opened(file), "whole") is None
