"""A tantivy index of rows that never change, on disk or in memory, and how it is filled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from tantivy import (
    DocAddress,
    Document,
    Index,
    IndexWriter,
    PreTokenizedString,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    Token,
)

from core.errors import StoreProblem
from core.index.fulltext.analysis import FROM_TEXT, analyzer, indexed, normal, words
from core.index.fulltext.vocabulary import Vocabulary
from core.jobs import Job

Texts = Mapping[int, Sequence[Any]]
"""By column key a value for each row: text, a list of texts, or None."""

FILLER = "FILLER"
"""A word that no text holds: what is indexed is in lower case."""
FEW_ROWS = 1_000
FILLERS = 8
MOST_FILLERS = 10_000
ROWS_A_REPORT = 1_000
LEAST_MEMORY, MOST_MEMORY = 20_000_000, 512_000_000
MOST_OF_TANTIVY = 4_000_000_000
BYTES_A_ROW, BYTES_A_LETTER = 2_000, 40
"""What tantivy may need at most before it ends a segment; it takes what it needs."""


class TooLarge(Exception):
    """The rows do not fit one segment of tantivy's."""


@dataclass(eq=False)
class Part:
    """Rows 0 … `rows`-1 are the searcher's documents of these numbers; what comes after them is filling.

    `lengths` are the words that a row has on average, by column key.
    """

    rows: int
    searcher: Searcher
    schema: Schema
    vocabulary: Vocabulary
    lengths: Mapping[int, float]
    _frequencies: dict[tuple[int, str], int] = field(default_factory=dict)

    @property
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
        rows = np.fromiter((address.doc for _, address in hits), np.int64, len(hits))
        scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
        real = rows < self.rows
        return (rows, scores) if real.all() else (rows[real], scores[real])

    def score(self, query: Query, row: int) -> float | None:
        """Of one row, without looking at the others; None where the query does not find it."""
        try:
            told = json.loads(query.explain(self.searcher, DocAddress(0, row)).to_json())
        except ValueError as error:
            if "does not match" in str(error):
                return None
            raise
        return float(np.float32(told["value"]))


def field_of(key: int) -> str:
    return f"c{key}"


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
    schema, memory = schema_of(tuple(texts)), _memory(texts, rows)
    filled = usual if rows < FEW_ROWS and memory < MOST_OF_TANTIVY else None
    try:
        searcher = _written(schema, memory, texts, rows, filled, folder, job or Job())
    except ValueError as error:
        where, why = folder or "In memory", str(error)
        raise StoreProblem(
            f"{where}: a full-text index could not be written", why, "Check the disk's space"
        ) from error
    if searcher.num_segments > 1:
        raise TooLarge
    found = {key: [w for w, _ in searcher.terms_with_prefix(field_of(key), "")] for key in texts}
    lengths = {key: _average(searcher, schema, key, found[key]) for key in texts}
    known = dict.fromkeys(w for key in texts for w in found[key])
    known.pop(FILLER, None)
    return Part(rows, searcher, schema, Vocabulary.of(list(known), language), lengths)


def _written(
    schema: Schema,
    memory: int,
    texts: Texts,
    rows: int,
    usual: Mapping[int, float] | None,
    folder: Path | None,
    job: Job,
) -> Searcher:
    """tantivy tells of whatever fails, a full disk too, as a `ValueError`."""
    index = Index(schema, path=str(folder) if folder else None)
    index.register_tokenizer(FROM_TEXT, analyzer())
    writer = index.writer(memory, 1)
    try:
        _add(writer, texts, rows, job)
        if usual:
            _fill_up(writer, texts, rows, usual)
        writer.commit()
    finally:
        writer.wait_merging_threads()
    index.reload()
    return index.searcher()


def _memory(texts: Texts, rows: int) -> int:
    """A row is never cut in two, so one that is alone gets all it needs."""
    letters = sum(map(_letters, texts.values()))
    needed = LEAST_MEMORY + max(rows * BYTES_A_ROW, letters * BYTES_A_LETTER)
    return min(needed, MOST_OF_TANTIVY if rows == 1 else MOST_MEMORY)


def _letters(column: Sequence[Any]) -> int:
    return sum(len(v) if type(v) is str else sum(map(len, texts_of(v))) for v in column)


def _add(writer: IndexWriter, texts: Texts, rows: int, job: Job) -> None:
    """tantivy indexes on a thread of its own meanwhile, so each cell is prepared when its turn comes."""
    fields = [field_of(key) for key in texts]
    columns = [map(_cell, texts[key]) for key in texts]
    for row, values in enumerate(zip(range(rows), *columns, strict=True)):
        if row % ROWS_A_REPORT == 0:
            job.check()
        document = Document()
        for name, value in zip(fields, values[1:], strict=True):
            for text in value:
                document.add_text(name, text)
        writer.add_document(document)


def _cell(value: Any) -> Sequence[str]:
    """The texts that a cell holds; most hold one that is plain."""
    plain = type(value) is str and value.isascii()
    return (value,) if plain else tuple(map(indexed, texts_of(value)))


def texts_of(value: Any) -> Sequence[str]:
    """The texts that a cell holds."""
    if isinstance(value, str):
        return (normal(value),)
    return () if value is None else tuple(normal(text) for text in value if text is not None)


def _fill_up(writer: IndexWriter, texts: Texts, rows: int, usual: Mapping[int, float]) -> None:
    """Documents that no search finds, which bring the average lengths to what is usual."""
    total = {key: sum(len(words(text)) for value in texts[key] for text in texts_of(value)) for key in texts}
    needed = [int(total[key] / usual[key]) + 1 - rows for key in texts if usual.get(key)]
    count = min(MOST_FILLERS, max([FILLERS, *needed]))
    filler = Document()
    for key in texts:
        missing = round(usual.get(key, 0.0) * (rows + count)) - total[key]
        if missing > 0:
            tokens = [Token(FILLER, place, 0, 0) for place in range(missing)]
            filler.add_pre_tokenized_text(field_of(key), PreTokenizedString("", tokens))
    for document in (filler, *repeat(Document(), count - 1)):
        writer.add_document(document)


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
