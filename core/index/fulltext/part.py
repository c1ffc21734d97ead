"""A tantivy index of rows that never change, on disk or in memory, as it is asked."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tantivy import DocAddress, Query, Schema, SchemaBuilder, Searcher

from lamella.core.errors import StoreProblem
from lamella.core.index.fulltext.analysis import FROM_TEXT
from lamella.core.index.fulltext.vocabulary import Vocabulary
from lamella.core.index.fulltext.writing import FILLER, Texts, field_of, write
from lamella.core.jobs import Job


@dataclass(eq=False)
class Part:
    """Rows 0 … `rows`-1 are the searcher's documents, one segment after the other; what comes after them is
    filling. `starts` are the first rows of its segments.

    `lengths` are the words that a row has on average, by column key.
    """

    rows: int
    starts: Sequence[int]
    searcher: Searcher
    schema: Schema
    vocabulary: Vocabulary
    lengths: Mapping[int, float]
    _frequencies: dict[tuple[int, str], int] = field(default_factory=dict)

    @cached_property
    def documents(self) -> int:
        return int(self.searcher.num_docs)

    def frequency(self, key: int, word: str) -> int:
        """In how many rows a column has the word."""
        at = (key, word)
        if at not in self._frequencies:
            self._frequencies[at] = int(self.searcher.doc_freq(field_of(key), word))
        return self._frequencies[at]

    def best(self, query: Query, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows with the highest scores, falling, and the scores; equal ones in the order of rows."""
        wanted = min(count, self.documents)
        hits = self.searcher.search(query, limit=wanted, count=False).hits if wanted else []
        starts = self.starts
        rows = np.array([starts[at.segment_ord] + at.doc for _, at in hits], np.int64)
        scores = np.array([score for score, _ in hits], np.float64)
        if self.documents == self.rows:
            return rows, scores
        real = rows < self.rows
        return rows[real], scores[real]

    def score(self, query: Query, row: int) -> float | None:
        """Of one row, without looking at the others; None where the query does not find it."""
        segment = bisect_right(self.starts, row) - 1
        address = DocAddress(segment, row - self.starts[segment])
        try:
            told = json.loads(query.explain(self.searcher, address).to_json())
        except ValueError as error:
            if "does not match" in str(error):
                return None
            raise
        return float(np.float32(told["value"]))


@lru_cache(256)
def schema_of(keys: tuple[int, ...]) -> Schema:
    built = SchemaBuilder()
    for key in keys:
        built = built.add_text_field(field_of(key), tokenizer_name=FROM_TEXT, index_option="position")
    return built.build()


def build(
    texts: Texts,
    rows: int,
    language: str | None,
    usual: Mapping[int, float] | None = None,
    folder: Path | None = None,
    job: Job | None = None,
) -> Part:
    """A part of these texts, in memory or in an empty folder. Raises `TooLarge`, for several rows alone, and
    `StoreProblem` for what cannot be written.

    `usual` are the lengths of the texts elsewhere in the table: a few rows are filled up to them, so that
    a long text among them counts as one.
    """
    schema = schema_of(tuple(texts))
    try:
        searcher, starts = write(schema, texts, rows, usual, folder, job or Job())
    except ValueError as error:
        where, why = folder or "In memory", str(error)
        raise StoreProblem(
            f"{where}: a full-text index could not be written", why, "Check the disk's space"
        ) from error
    found = {key: [w for w, _ in searcher.terms_with_prefix(field_of(key), "")] for key in texts}
    lengths = {key: _average(searcher, schema, key, found[key]) for key in texts}
    known = dict.fromkeys(w for key in texts for w in found[key])
    known.pop(FILLER, None)
    return Part(rows, starts, searcher, schema, Vocabulary.of(list(known), language), lengths)


def _average(searcher: Searcher, schema: Schema, key: int, found: Sequence[str]) -> float:
    """The length of texts that tantivy scores by, which it tells where it explains a score."""
    if not found:
        return 0.0
    query = Query.term_query(schema, field_of(key), found[0])
    (_, address), *_ = searcher.search(query, limit=1, count=False).hits
    return next(_told(json.loads(query.explain(searcher, address).to_json())), 0.0)


def _told(explanation: Mapping[str, Any]) -> Any:
    if str(explanation["description"]).startswith("avgdl"):
        yield float(explanation["value"])
    for detail in explanation.get("details", ()):
        yield from _told(detail)
