"""Conditions on words: met as a search says, among other conditions, steps and versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, col, open_dataset
from lamella.core.errors import BadFilter, BadSearch, UnknownColumn
from lamella.core.filters import Filter, parse, to_text
from lamella.core.filters.expr import Not
from lamella.core.filters.expr_json import from_json, to_json
from lamella.core.query.cards import card
from lamella.core.query.find import Method, RowSearch
from lamella.core.store.table import Table

NOTES = ["a red fox", "two foxes ran", "the dog runs", None, "", "red dog, red fox", "Füchse", "fox " * 9]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with Store.open(tmp_path / "store") as store:
        indexed = store.create_table(
            "notes", {"note": NOTES * 3, "n": list(range(24)), "title": ["dog", "fox"] * 12}
        )
        indexed.indexes.create("note", kind="fulltext")
        yield indexed


def found(table: Table, where: Filter | str) -> list[int]:
    return table.read(["n"], where=where).column("n").to_pylist()


def plain(*notes: str) -> list[int]:
    return [n for n in range(24) if NOTES[n % 8] in notes]


FOX = plain("a red fox", "two foxes ran", "red dog, red fox", "fox " * 9)


def test_words_are_found_as_by_a_search(table: Table) -> None:
    assert found(table, col("note").has_words("fox")) == FOX
    for text in ("fox", "foxes", '"red fox"', "+fox -dog", "fo*", "not fox", "note:fox"):
        expected = sorted(table.search(text, limit=None).column("n").to_pylist())
        assert found(table, col("note").has_words(text)) == expected
        assert table.count(col("note").has_words(text)) == len(expected) > 0


def test_words_combine_with_other_conditions(table: Table) -> None:
    fox, dog = col("note").has_words("fox"), col("note").has_words("dog")
    assert found(table, fox & (col("n") < 8)) == [n for n in FOX if n < 8]
    assert found(table, fox & dog) == plain("red dog, red fox")
    assert found(table, fox | (col("n") == 3)) == sorted([3, *FOX])
    assert found(table, ~fox) == [n for n in range(24) if n not in FOX]
    assert found(table, ~(fox & (col("n") > 5)) & dog) == [2, 5, 10, 18]
    assert found(table, (fox | col("n").is_in([2, 3])) & ~dog & (col("n") < 8)) == [0, 1, 3, 7]


def test_rows_are_sorted_and_cut(table: Table) -> None:
    where = col("note").has_words("fox")
    rows = table.read(["n"], where=where, sort=["-n"], limit=3, offset=1).column("n").to_pylist()
    assert rows == FOX[::-1][1:4]
    page = table.page(size=5, where=where, columns=["n"])
    assert page.rows.column("n").to_pylist() == FOX[:5]
    assert (
        table.page(size=5, after=page.next, where=where, columns=["n"]).rows.column("n").to_pylist()
        == FOX[5:10]
    )


def test_steps_follow_them(table: Table) -> None:
    where = col("note").has_words("fox")
    groups = table.where(where).group_by("title").agg(n=agg.count()).sort("title").read()
    assert groups.to_pylist() == [{"title": "dog", "n": 3}, {"title": "fox", "n": 9}]
    rows = table.where(where).compute(half=col("n") / 2).where(col("half") > 9).read()
    assert rows.column("n").to_pylist() == [n for n in FOX if n > 18]
    with pytest.raises(BadSearch, match="Put the condition before steps"):
        table.compute(half=col("n") / 2).where(where).read()


def test_profiles_and_cards_follow_them(table: Table) -> None:
    column_card = card(table.snapshot(), "n", col("note").has_words("fox"), sampled=True)
    assert column_card.matching_figures is not None and column_card.matching_figures.rows == len(FOX)


def test_changes_and_versions_are_seen(table: Table) -> None:
    where, before = col("note").has_words("fox"), table.version
    table.update([{"_id": 2, "note": "fox at last"}])
    table.delete(where="n = 0")
    assert found(table, where) == sorted({*FOX, 2} - {0})
    assert table.as_of(before).count(where) == len(FOX)
    assert table.update_where(where, {"$set": {"title": "seen"}}).updated == len(FOX)
    assert table.delete(where=where).deleted == len(FOX)


def test_an_index_of_several_columns_serves_each(table: Table) -> None:
    table.indexes.drop("note", kind="fulltext")
    table.indexes.create(["note", "title"], kind="fulltext")
    assert found(table, col("note").has_words("fox")) == FOX
    assert found(table, col("title").has_words("fox")) == list(range(1, 24, 2))


def test_without_an_index_it_says_how_to_make_one(table: Table, tmp_path: Path) -> None:
    with pytest.raises(BadSearch, match=r"indexes.create\(\['title'\], kind='fulltext'\)"):
        found(table, col("title").has_words("fox"))
    with pytest.raises(BadFilter, match="does not fit column 'n'"):
        found(table, col("n").has_words("fox"))
    pq.write_table(pa.table({"note": NOTES}), tmp_path / "notes.parquet")
    with pytest.raises(BadSearch, match="import it into a store"):
        open_dataset(tmp_path / "notes.parquet").read(where=col("note").has_words("fox"))


@pytest.mark.parametrize("words", ["fox and (", '"fox', "", "  ", "…", "title:fox"])
def test_words_that_cannot_be_read_are_refused(table: Table, words: str) -> None:
    with pytest.raises((BadSearch, BadFilter, UnknownColumn)):
        found(table, col("note").has_words(words))


def test_words_in_groups_nested_too_deep_are_refused(table: Table) -> None:
    nested: Filter = col("note").has_words("fox")
    for _ in range(2_000):
        nested = Not(nested)
    for ids in (None, [1, 2]):
        with pytest.raises(BadFilter, match="nests groups"):
            table.read(where=nested, ids=ids)


def test_they_are_text_json_and_a_dict(table: Table) -> None:
    where = col("note").has_words("it's -dog")
    assert to_text(where) == "note has words 'it''s -dog'"
    assert parse(to_text(where)) == where and from_json(to_json(where)) == where
    assert found(table, {"note": {"$words": "fox"}}) == FOX


def test_the_strategy_names_the_index(table: Table) -> None:
    search = RowSearch(table.snapshot(), col("note").has_words("fox"))
    assert search.strategy.method is Method.INDEX and "full-text" in search.strategy.reason
    assert table.explain(where=col("note").has_words("fox")).index == "full-text index"
