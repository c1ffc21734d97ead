"""tantivy by itself, the library below Lamella's full text: about the lowest possible cost of a search."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tantivy

from lamella.core.bench.workloads import entity_text

Best = list[tuple[int, float]]
"""The ids and scores of the best documents."""


class TantivyText(entity_text.TextSystem):
    id = "tantivy"
    syntax = "tantivy"
    tokenizers = {entity_text.STEMS: "en_stem", entity_text.WORDS: "default"}  # noqa: RUF012
    cannot = dict.fromkeys(
        (entity_text.ROWS, entity_text.FILTERED, entity_text.AFTER_COMMIT),
        "Only searches for words are measured: a library has no tables with rows",
    )
    description = "documents in memory before timing, default threads; every commit is durable"
    columns = 1

    @classmethod
    def version(cls) -> str:
        return version("tantivy")

    def open(self, writing: bool) -> None:
        self._texts: list[str] = []
        self._index: tantivy.Index | None = (
            tantivy.Index.open(str(self._words)) if self._words.exists() else None
        )

    def close(self) -> None:
        self._index = None

    def fill(self, rows: int) -> None:
        """Save the documents to a file, since a separate process may index them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": entity_text.documents(rows)["text"]}), self._documents)

    @property
    def _words(self) -> Path:
        return self.folder / "words"

    @property
    def _documents(self) -> Path:
        return self.folder / "documents.parquet"

    def drop(self) -> None:
        shutil.rmtree(self._words, ignore_errors=True)
        self._words.mkdir()
        self._texts = self._texts or pq.read_table(self._documents)["text"].to_pylist()

    def build(self, tokenizer: str) -> None:
        built = tantivy.SchemaBuilder().add_integer_field("id", fast=True)
        schema = built.add_text_field("text", tokenizer_name=tokenizer).build()
        self._index = tantivy.Index(schema, path=str(self._words))
        writer = self._index.writer()
        for number, text in enumerate(self._texts):
            document = tantivy.Document()
            document.add_integer("id", number)
            document.add_text("text", text)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def best(self, asks: str, text: str) -> Best:
        return self._best_documents(asks, text, entity_text.BEST)

    def matching(self, asks: str, text: str) -> list[int]:
        assert self._index is not None
        return self.ids(self._best_documents(asks, text, max(1, self._index.searcher().num_docs)))

    def ids(self, answer: Best) -> list[int]:
        return [row_id for row_id, _ in answer]

    def _best_documents(self, asks: str, text: str, count: int) -> Best:
        index = self._index
        assert index is not None, "The index has to be built before a search"
        if asks == "prefix":
            query = tantivy.Query.regex_query(index.schema, "text", text)
        else:
            query = index.parse_query(text, ["text"])
        searcher = index.searcher()
        hits = searcher.search(query, limit=count, count=False).hits
        ids: list[Any] = searcher.fast_field_values("id", [address for _, address in hits])
        return [(int(row_id), score) for row_id, (score, _) in zip(ids, hits, strict=True)]
