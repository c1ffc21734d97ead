"""tantivy by itself, which Lamella's full text stands on: about the least that finding words can cost."""

from __future__ import annotations

import shutil
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tantivy

from lamella.core.bench.systems.base import Question, QuestionBackend, Questions
from lamella.core.bench.workloads import entity_text

TOKENIZERS = {entity_text.STEMS: "en_stem", entity_text.WORDS: "default"}

Best = list[tuple[int, float]]
"""Ids and scores."""


class TantivyText(QuestionBackend):
    id = "tantivy"
    cannot = dict.fromkeys(
        (entity_text.ROWS, entity_text.FILTERED, entity_text.AFTER_COMMIT),
        "Words alone are raced here: a library keeps no tables of rows",
    )
    description = "documents in memory beforehand, as many threads as it chooses; every commit is durable"
    columns = 1

    @classmethod
    def version(cls) -> str:
        return version("tantivy")

    def open(self, writing: bool) -> None:
        self._index = tantivy.Index.open(str(self._words)) if self._words.exists() else None

    def close(self) -> None:
        self._index = None

    def fill(self, rows: int) -> None:
        """The documents wait in a file: what indexes them has a process of its own, if that is wished."""
        self.folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": entity_text.documents(rows)["text"]}), self._documents)

    def questions(self) -> Questions:
        return {
            **{name: self._search(words) for name, words in entity_text.SEARCHES.items()},
            **{name: self._build(tokenizer) for name, tokenizer in TOKENIZERS.items()},
        }

    @property
    def _words(self) -> Path:
        return self.folder / "words"

    @property
    def _documents(self) -> Path:
        return self.folder / "documents.parquet"

    def _search(self, words: entity_text.Words) -> Question:
        return Question(
            partial(self._best, words, entity_text.BEST),
            words.turns(),
            told=lambda *asked: self._told(words, *asked),
        )

    def _build(self, tokenizer: str) -> Question:
        texts: list[str] = []
        words = entity_text.SEARCHES[entity_text.COMMON]

        def ready() -> None:
            shutil.rmtree(self._words, ignore_errors=True)
            self._words.mkdir()
            texts[:] = texts or pq.read_table(self._documents)["text"].to_pylist()

        return Question(
            lambda: self._make(texts, tokenizer),
            before=ready,
            told=lambda _: self._told(words, self._best(words, entity_text.BEST, words.first), words.first),
        )

    def _make(self, texts: list[str], tokenizer: str) -> None:
        built = tantivy.SchemaBuilder().add_integer_field("id", fast=True)
        schema = built.add_text_field("text", tokenizer_name=tokenizer).build()
        self._index = tantivy.Index(schema, path=str(self._words))
        writer = self._index.writer()
        for number, text in enumerate(texts):
            document = tantivy.Document()
            document.add_integer("id", number)
            document.add_text("text", text)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def _best(self, words: entity_text.Words, count: int, number: int) -> Best:
        index = self._index
        assert index is not None, "A search comes after the index was built"
        typed = words.tantivy.format(number, number + 1)
        if words is entity_text.SEARCHES["prefix"]:
            query = tantivy.Query.regex_query(index.schema, "text", typed)
        else:
            query = index.parse_query(typed, ["text"])
        searcher = index.searcher()
        hits = searcher.search(query, limit=count, count=False).hits
        ids: list[Any] = searcher.fast_field_values("id", [address for _, address in hits])
        return [(int(found), score) for found, (score, _) in zip(ids, hits, strict=True)]

    def _told(self, words: entity_text.Words, answer: Best, number: int) -> list[tuple[int, ...]]:
        assert self._index is not None
        matching = self._best(words, max(1, self._index.searcher().num_docs), number)
        return entity_text.compared([found for found, _ in answer], [found for found, _ in matching])
