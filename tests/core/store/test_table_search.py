"""Searches by words: which rows are found, and in which order, throughout the changes of a store."""

# ruff: noqa: F811 -- pytest hands fixtures over by their names

from __future__ import annotations

from math import log

import pyarrow as pa
import pytest

from lamella import Highlight, Store, col
from lamella.core.errors import BadData, BadFilter, BadSearch, Cancelled, UnknownColumn, UnknownName
from lamella.core.index.fulltext import part
from lamella.core.index.fulltext import part as writing
from lamella.core.store import Table
from tests.core.store.searched_books import BOOKS, Stopped, books, ids, index_folders, placed, store  # noqa: F401


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("run", [0, 4]),
        ("RUNNING", [0, 4]),
        ("apple fox", [0, 1]),
        ("apple and good", [1]),
        ("run -pear", [0]),
        ("run not fox", [4]),
        ("not run", [1, 2, 3, 5]),
        ("+tea coffee", [2, 5]),
        ("cafe", [2]),
        ("CAFÉ", [2]),
        ("caf*", [2]),
        ("café*", [2]),
        ("run*", [0, 4]),
        ("runs*", [0]),
        ("pare~1", [1]),
        ("pera~1", [4]),
        ("aple~1", [1]),
        ("title:run", [0]),
        ("body:(run or tea)", [0, 2, 4]),
        ('"lazy dog"', [0]),
        ('"dog lazy"', []),
        ('"fox runs"', [0]),
        ('title:"fox runs"', []),
        ("tags:fox", [0]),
        ('tags:"big red"', [0]),
        ('tags:"red fox"', []),
        ("tags:times", []),
        ("zebra", []),
    ],
)
def test_rows_are_found_wherever_they_are(placed: Table, text: str, rows: list[int]) -> None:
    assert sorted(ids(placed, text)) == rows


def test_an_answer_has_id_score_and_the_columns_asked_for(books: Table) -> None:
    match = books.search("run", columns=["n"])
    assert match.column_names == ["_id", "_score", "n"]
    assert match.column("n").to_pylist() == [0, 4]
    assert books.search("run").column_names == ["_id", "_score", "title", "body", "n", "tags"]


def test_a_word_in_a_heavier_column_counts_more(store: Store) -> None:
    table = store.create_table("t", {"a": ["fox", "dog"], "b": ["dog", "fox"]})
    table.indexes.create(["a", "b"], kind="fulltext", weights={"b": 3})
    match = table.search("fox", columns=["_id"])
    assert match.column("_id").to_pylist() == [1, 0]
    first, second = match.column("_score").to_pylist()
    assert first == pytest.approx(3 * second)


def test_scores_are_bm25(store: Store) -> None:
    texts = ["fox", "fox fox dog", "dog dog dog dog cat", "cat fox dog cat", "bird"] * 3
    table = store.create_table("t", {"text": texts})
    table.indexes.create("text", kind="fulltext", language=None)
    table.maintenance.flush()
    match = table.search("fox cat", columns=["text"], limit=None)
    words = [text.split() for text in texts]
    usual = sum(map(len, words)) / len(words)

    def score(word: str, text: list[str]) -> float:
        having, often = sum(word in text_words for text_words in words), text.count(word)
        rare = log(1 + (len(words) - having + 0.5) / (having + 0.5))
        return rare * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * len(text) / usual))

    for text, actual_score in zip(
        match.column("text").to_pylist(), match.column("_score").to_pylist(), strict=True
    ):
        assert actual_score == pytest.approx(
            score("fox", text.split()) + score("cat", text.split()), rel=1e-5
        )


def test_equal_scores_come_in_the_order_of_ids_and_pages_follow_each_other(store: Store) -> None:
    table = store.create_table("t", {"text": ["fox", "a fox here", "dog"] * 40})
    table.indexes.create("text", kind="fulltext")
    whole = ids(table, "fox")
    scores = table.search("fox", limit=None).column("_score").to_pylist()
    assert sorted(zip(scores, whole, strict=True), key=lambda hit: (-hit[0], hit[1])) == list(
        zip(scores, whole, strict=True)
    )
    pages = [
        table.search("fox", limit=7, offset=first).column("_id").to_pylist() for first in range(0, 90, 7)
    ]
    assert [row for page in pages for row in page] == whole


def test_a_condition_chooses_rows_before_any_are_counted(store: Store) -> None:
    table = store.create_table("t", {"text": ["fox"] * 500 + ["a fox in the wood"], "n": list(range(501))})
    table.indexes.create("text", kind="fulltext")
    assert table.search("fox", where="n >= 499", limit=2).column("_id").to_pylist() == [499, 500]
    assert table.search("fox", where=col("n") == 500, limit=1).column("_id").to_pylist() == [500]
    assert ids(table, "fox", where="n < 0") == []


@pytest.mark.parametrize("place", ["pending", "flushed", "compacted"])
def test_the_best_rows_may_be_gone_and_ids_have_gaps(store: Store, place: str) -> None:
    texts = ["fox"] * 300 + ["a fox here"] * 300
    table = store.create_table("t", {"text": texts, "n": list(range(600))})
    table.indexes.create("text", kind="fulltext")
    table.maintenance.flush()
    table.delete(ids=[*range(1, 200), *range(300, 320)])
    table.update([{"_id": 250, "text": "dog"}, {"_id": 400, "text": "fox"}])
    table.insert([{"text": "fox", "n": 600}])
    if place != "pending":
        table.maintenance.flush()
    if place == "compacted":
        table.maintenance.compact()
    right = [0, *range(200, 250), *range(251, 300), 400, 600, *range(320, 400), *range(401, 600)]
    for limit in (1, 5, 102, 150, 1_000):
        for columns in ([], ["n"]):
            match = table.search("fox", columns=columns, limit=limit)
            assert sorted(match["_id"].to_pylist()[:102]) == sorted(right[:102][:limit])
            assert sorted(match["_id"].to_pylist()) == sorted(right[:limit])
            assert not columns or match["n"].equals(match["_id"])


@pytest.mark.slow(except_every=4)
@pytest.mark.parametrize(
    "text", ["w1", "w1 w2", '"w1 w2"', "not w1", "+w1 -w4 w5", "w1 (w2 and w3)", "w1*", "nothing", "+w1 -w2*"]
)
def test_a_condition_that_few_rows_meet_changes_no_score(store: Store, text: str) -> None:
    texts = [f"w{i % 2} w{i % 3} w{i % 5} w{i % 7}" for i in range(1_000)]
    table = store.create_table("t", {"text": texts[:900], "n": list(range(900))})
    table.indexes.create("text", kind="fulltext", weights={"text": 2})
    table.maintenance.flush()
    table.insert({"text": texts[900:], "n": list(range(900, 1_000))})
    table.update([{"_id": i, "text": "w1 w2"} for i in range(100, 120)])
    table.delete(ids=[110, 905])
    whole = {row["_id"]: row["_score"] for row in table.search(text, limit=None, columns=[]).to_pylist()}
    for where, rows in [("n >= 100 and n < 130", range(100, 130)), ("n >= 895 and n < 910", range(895, 910))]:
        match = table.search(text, where=where, limit=None, columns=[]).to_pylist()
        assert [row["_id"] for row in match] == sorted(
            set(whole) & set(rows), key=lambda row: (-whole[row], row)
        )
        assert [row["_score"] for row in match] == pytest.approx([whole[row["_id"]] for row in match])
        best = table.search(text, where=where, limit=3, columns=[]).to_pylist()
        assert best == match[:3]


def test_a_pending_row_scores_like_its_twin_in_a_file(store: Store) -> None:
    texts = [f"word{i % 50} " * (1 + i % 7) + "fox" for i in range(2_000)] + ["a fox and a long line of dogs"]
    table = store.create_table("t", {"text": texts})
    table.indexes.create("text", kind="fulltext")
    table.insert([{"text": texts[-1]}])
    twin = len(texts)
    for _ in ("pending", "in a file of its own"):
        match = table.search("long line dogs", columns=["_id"])
        assert set(match.column("_id").to_pylist()) == {2_000, twin}
        first, second = match.column("_score").to_pylist()
        assert first == pytest.approx(second, rel=0.01)
        table.maintenance.flush()


def test_changes_undo_and_earlier_versions_are_searched_as_they_were(books: Table) -> None:
    books.maintenance.flush()
    before = books.version
    books.update([{"_id": 1, "title": "Slow fox"}])
    books.insert([{"title": "foxes"}])
    books.delete(ids=[0])
    assert sorted(ids(books, "fox")) == [1, 6]
    assert ids(books, "fox", as_of=before) == [0]
    books.history.undo()
    assert sorted(ids(books, "fox")) == [0, 1, 6]
    books.history.restore(before)
    assert ids(books, "fox") == [0]
    assert sorted(ids(books, "red")) == [1]


def test_pending_rows_are_looked_at_again_only_where_they_changed(
    books: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    real = part.build

    def watched(texts: writing.Texts, rows: int, *arguments: object, **named: object) -> part.Part:
        built.append(rows)
        return real(texts, rows, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("lamella.core.index.fulltext.open_parts.build", watched)
    assert ids(books, "tags:fox") == [0]
    assert built == [6]
    for change, expected in [
        ({"_id": 1, "tags": ["fox"]}, [0, 1]),
        ({"_id": 1, "tags": None}, [0]),
        ({"_id": 2, "tags": ["fox", None]}, [0, 2]),
    ]:
        books.update([change])
        assert sorted(ids(books, "tags:fox")) == expected
    assert built == [6, 1, 1, 1]
    assert ids(books, "title:tea") == [5]
    for change, expected in [({"_id": 3, "title": "tea"}, [3, 5]), ({"_id": 5, "title": None}, [3])]:
        books.update([change])
        assert sorted(ids(books, "title:tea")) == expected
    assert built == [6, 1, 1, 1, 6, 1, 1]


def test_columns_keep_their_index_by_another_name_and_lose_it_when_dropped(books: Table) -> None:
    books.columns.rename("title", "heading")
    assert ids(books, "heading:cafe") == [2]
    version = books.version
    books.columns.drop("body")
    assert [index.columns for index in books.indexes] == [("tags",)]
    with pytest.raises(UnknownColumn, match="has no column 'body'"):
        ids(books, "body:tea")
    assert ids(books, "body:tea", as_of=version) == [2]


def test_a_cast_column_keeps_its_index_as_long_as_it_holds_words(books: Table) -> None:
    books.maintenance.flush()
    version = books.version
    books.columns.cast("title", pa.dictionary(pa.int32(), pa.string()))
    assert sorted(ids(books, "title:apple")) == [1]
    assert books.indexes[-1].options["weights"] == [2.0, 1.0]
    books.columns.add("code", "string", default="12")
    books.indexes.create("code", kind="fulltext")
    assert len(ids(books, "code:12")) == 6
    books.columns.cast("code", "int64")
    with pytest.raises(UnknownColumn):
        ids(books, "code:12")
    assert ids(books, "title:apple", as_of=version) == [1]


def test_a_version_before_a_column_came_is_searched_by_the_others(books: Table) -> None:
    version = books.version
    books.columns.add("more", "string", default="zebra")
    books.indexes.create(["title", "more"], kind="fulltext")
    assert len(ids(books, "more:zebra")) == 6
    assert ids(books, "cafe", as_of=version, on=["title", "body"]) == [2]
    books.indexes.drop(["title", "body"], kind="fulltext")
    assert ids(books, "title:cafe", as_of=version) == [2]


def test_a_search_sees_the_transaction_it_is_in(books: Table) -> None:
    with pytest.raises(RuntimeError), books.store.transaction():
        books.insert([{"title": "zebra"}])
        assert ids(books, "zebra") == [6]
        raise RuntimeError
    assert ids(books, "zebra") == []


def test_snippets_show_where_the_words_are(books: Table) -> None:
    match = books.search("run tree* pera~1", columns=["n"], highlight=True)
    assert match.column_names == ["_id", "_score", "n", "_snippet_title", "_snippet_body"]
    by_row = {row["n"]: row for row in match.to_pylist()}
    assert by_row[4]["_snippet_title"] == "Green **pear** **trees**"
    assert by_row[4]["_snippet_body"] == "Pears in the **tree** **run** wild"
    assert by_row[0]["_snippet_title"] == "The **Running** Fox"
    match = books.search('"lazy dog" -x', highlight="body")
    assert match.column("_snippet_body").to_pylist() == ["A fox runs over the **lazy** **dogs**"]


def test_a_snippet_of_a_long_text_shows_the_piece_with_most_of_the_words(store: Store) -> None:
    text = "fox " + "filling words " * 50 + "a <fox> met dogs " + "filling words " * 50
    table = store.create_table("t", {"text": [text], "other": ["dog"]})
    table.indexes.create("text", kind="fulltext")
    how = Highlight(before="<b>", after="</b>", length=60, escape=True)
    (snippet,) = table.search("fox dog", highlight=how).column("_snippet_text").to_pylist()
    assert "&lt;<b>fox</b>&gt; met <b>dogs</b>" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    plain = (
        snippet.replace("<b>", "").replace("</b>", "").replace("&lt;", "<").replace("&gt;", ">").strip("…")
    )
    assert plain in text
    assert len(plain) <= 60


@pytest.mark.slow
def test_a_snippet_of_a_text_that_is_full_of_the_words_shows_the_first_of_the_best_pieces(
    store: Store,
) -> None:
    text = "fox " * 3 + "dog in a wood " + "the fox and " * 20_000
    table = store.create_table("t", {"text": [text]})
    table.indexes.create("text", kind="fulltext")
    how = Highlight(before="<", after=">", length=19)
    (snippet,) = table.search("fox dog", highlight=how).column("_snippet_text").to_pylist()
    assert snippet == "<fox> <fox> <fox> <dog> in…"
    (snippet,) = table.search('"wood the fox" fox dog', highlight=how).column("_snippet_text").to_pylist()
    assert snippet == "<fox> <fox> <fox> <dog> in…"
    (snippet,) = table.search('"wood the fox and the fox"', highlight=how).column("_snippet_text").to_pylist()
    assert snippet == "…<wood> <the> <fox> <and> <the> <fox>…"
    with pytest.raises(Cancelled):
        table.search("fox dog", highlight=how, job=Stopped(8))


@pytest.mark.parametrize(
    "how",
    [Highlight(length="a"), Highlight(before=None), Highlight(columns=(1,))],  # type: ignore[arg-type]
)
def test_snippets_that_cannot_look_so_are_refused(books: Table, how: Highlight) -> None:
    with pytest.raises(BadData, match="books: highlight"):
        books.search("fox", highlight=how)


def test_what_became_of_an_index_is_told(store: Store) -> None:
    table = store.create_table("t", {"a": ["fox"], "b": ["tea"], "n": [1]})
    table.indexes.create(["a", "b"], kind="fulltext")
    with pytest.raises(BadSearch, match=r"'n' is not a column of text.*indexes.create\(\['a', 'b'\]"):
        table.search("fox", on="n")
    table.columns.drop("b")
    with pytest.raises(BadSearch, match=r"(?i)a column of its index was dropped.*indexes.create\(\['a'\]"):
        table.search("fox")


def test_without_an_index_the_way_to_one_is_told(store: Store) -> None:
    table = store.create_table("t", {"n": [1], "text": ["fox"]})
    with pytest.raises(BadSearch, match=r"indexes.create\(\['text'\], kind='fulltext'\)"):
        table.search("fox")
    table.indexes.create("text", kind="fulltext")
    with pytest.raises(BadSearch, match="no full-text index on n"):
        table.search("fox", on="n")
    assert ids(table, "fox", on="text") == [0]
    table.indexes.drop("text", kind="fulltext")
    with pytest.raises(BadSearch):
        table.search("fox")
    assert index_folders(store) == []


def test_arguments_that_mean_nothing_are_refused(books: Table) -> None:
    with pytest.raises(BadData, match="limit"):
        books.search("fox", limit=-1)
    with pytest.raises(BadData, match="search text"):
        books.search(5)  # type: ignore[arg-type]
    with pytest.raises(UnknownColumn, match="zz"):
        books.search("fox", columns=["zz"])
    with pytest.raises(UnknownColumn, match="Did you mean 'title'"):
        books.search("fox", highlight="titel")
    with pytest.raises((BadFilter, UnknownColumn)):
        books.search("fox", where="zz > 1")
    assert books.search("fox", limit=0).num_rows == 0


def test_indexes_that_cannot_be_are_refused(store: Store) -> None:
    table = store.create_table("t", {"n": [1], "text": ["fox"]})
    with pytest.raises(BadData, match="contains no words"):
        table.indexes.create(["text", "n"], kind="fulltext")
    with pytest.raises(BadData, match="kind of an index None is not text"):
        table.indexes.create("text", kind=None)  # type: ignore[arg-type]
    with pytest.raises(BadData, match="needs a column"):
        table.indexes.create([], kind="fulltext")
    with pytest.raises(BadData, match="english"):
        table.indexes.create("text", kind="fulltext", language="englsh")
    with pytest.raises(UnknownName, match="weights"):
        table.indexes.create("text", kind="fulltext", weight=2)
    with pytest.raises(UnknownColumn, match="text"):
        table.indexes.create("text", kind="fulltext", weights={"txt": 2})
    with pytest.raises(BadData, match="above 0"):
        table.indexes.create("text", kind="fulltext", weights={"text": 0})
    assert not table.indexes


def test_a_language_brings_its_own_words_together(store: Store) -> None:
    table = store.create_table("t", {"text": ["les chansons mangées", "chanson", "manger"]})
    table.indexes.create("text", kind="fulltext", language="french")
    assert sorted(ids(table, "chanson")) == [0, 1]
    assert sorted(ids(table, "mange")) == [0, 2]
    table.indexes.create(["text"], kind="sorted")
    table.indexes.drop("text", kind="fulltext")
    table.indexes.create("text", kind="fulltext", language=None)
    assert ids(table, "chanson") == [1]


@pytest.mark.parametrize("language", ["turkish", "english", None])
def test_a_dotted_capital_i_is_an_i(store: Store, language: str | None) -> None:
    table = store.create_table("t", {"text": ["in İstanbul today", "istanbul"]})
    table.indexes.create("text", kind="fulltext", language=language)
    for text in ("istanbul", "İstanbul", "İSTANBUL", "ist*", "İst*", "istanbol~"):
        assert sorted(ids(table, text)) == [0, 1]
    snippets = table.search("istanbul", highlight=True).column("_snippet_text").to_pylist()
    assert sorted(snippets) == ["**istanbul**", "in **İstanbul** today"]


def test_letters_of_any_script_make_words(store: Store) -> None:
    table = store.create_table(
        "t", {"text": ["Straße", "naïve café", "日本 語", "e\u0301tude", "МОСКВА 2024"]}
    )
    table.indexes.create("text", kind="fulltext")
    for _ in ("pending", "flushed"):
        for text, row in [("strasse", 0), ("STRASSE*", 0), ("naive cafe", 1), ("日本", 2), ("ÉTUDES", 3)]:
            assert ids(table, text) == [row]
        assert ids(table, "москва and 2024") == [4]
        table.maintenance.flush()
