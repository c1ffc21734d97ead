"""A tantivy index of immutable rows, on disk or in memory: building it, and searching it."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise, repeat, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tantivy
from tantivy import (
    DocAddress,
    Document,
    Filter,
    IndexWriter,
    PreTokenizedString,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    TextAnalyzer,
    TextAnalyzerBuilder,
    Token,
    Tokenizer,
)

from lamella.core.arrow.arrays import from_values, take
from lamella.core.errors import StoreProblem
from lamella.core.jobs import Job

LANGUAGES = (
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
)  # fmt: skip
"""The languages with stemmers. Tamil is not one of them: its pulli would end a word here."""

ENGLISH = "english"
FROM_TEXT = "words"
"""The registered name of the analyzer of texts."""


@dataclass(frozen=True)
class WordToken:
    """A word of a text, and its position."""

    word: str
    start: int
    stop: int


def normal(text: str) -> str:
    """Compose accented letters into single characters; otherwise a separate accent would end a word."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def without_dotted_i(text: str) -> str:
    """Prepare a `normal` text for splitting into words, keeping its length: in lower case, a dotted I would
    be an i with an additional dot."""
    return text if text.isascii() else text.replace("İ", "I")


@lru_cache(1)
def analyzer() -> TextAnalyzer:
    """The analyzer of indexed text in any language: sequences of letters and digits, in lower case."""
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase()).build()


def words(text: str) -> list[str]:
    return list(analyzer().analyze(without_dotted_i(normal(text))))


def tokens(text: str) -> list[WordToken]:
    """The words of a text that is already `normal`."""
    tokens = analyzer().pre_tokenize(without_dotted_i(text)).tokens
    return [WordToken(t.text, t.char_offset_from, t.char_offset_to or t.char_offset_from) for t in tokens]


def without_accents(words: Sequence[str]) -> list[str]:
    """Each word without its accents."""
    return _stem_words(words, None)


def meanings(words: Sequence[str], language: str | None) -> list[str]:
    """For each word, a key that is equal for words that a search does not distinguish: the stem, without
    accents."""
    return _stem_words(words, language)


def _stem_words(words: Sequence[str], language: str | None) -> list[str]:
    """One result for each word. Words contain no white space, so they are analysed as one text."""
    stems = list(_mapping(language).analyze(" ".join(words)))
    if len(stems) == len(words):
        return stems
    return ["".join(_mapping(language).analyze(word)) or word for word in words]


@lru_cache(64)
def _mapping(language: str | None) -> TextAnalyzer:
    """The analyzer for words. In most languages stems depend on accents; in English only loan words have
    any."""
    filters = [] if language is None else [Filter.stemmer(language)]
    filters.insert(0 if language == ENGLISH else len(filters), Filter.ascii_fold())
    builder = TextAnalyzerBuilder(Tokenizer.whitespace())
    for filter_ in filters:
        builder = builder.filter(filter_)
    return builder.build()


SCHEMA = pa.schema([("meaning", pa.string()), ("word", pa.string())])
BLOCK = 64
"""The number of words in a block; only the first of each block is kept in memory to find the others."""


class Vocabulary:
    """Words sorted by meaning."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._meanings, self._words = batch.columns

    @classmethod
    def of(cls, words: Sequence[str], language: str | None) -> Vocabulary:
        columns = [from_values(texts, pa.string()) for texts in (meanings(words, language), words)]
        batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
        return cls(batch.sort_by([("meaning", "ascending"), ("word", "ascending")]))

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            return cls(reader.get_batch(0))

    def write(self, path: Path) -> None:
        batch = pa.RecordBatch.from_arrays([self._meanings, self._words], schema=SCHEMA)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
            writer.write_batch(batch)

    def of_meaning(self, meaning: str) -> list[str]:
        """The words with this meaning."""
        words: list[str] = []
        for start in range(BLOCK * max(0, bisect_left(self._firsts, meaning) - 1), len(self._words), BLOCK):
            block = self._meanings.slice(start, BLOCK).to_pylist()
            first, stop = bisect_left(block, meaning), bisect_right(block, meaning)
            words += self._words.slice(start + first, stop - first).to_pylist()
            if stop < len(block):
                break
        return words

    def beginnings(self, beginning: str) -> list[str]:
        """The accented forms of a prefix that occur in words, and the prefix itself."""
        plain, (without, accented) = without_accents([beginning])[0], self._accented_words
        words = {beginning, plain}
        for place in range(bisect_left(without, plain), len(without)):
            if not without[place].startswith(plain):
                break
            words.add(_cut(accented[place], plain))
        return sorted(words)

    @cached_property
    def _firsts(self) -> list[str]:
        """The first meaning of each block."""
        return list(take(self._meanings, np.arange(0, len(self._meanings), BLOCK)).to_pylist())

    @cached_property
    def _accented_words(self) -> tuple[list[str], list[str]]:
        """The words with accents: sorted without their accents, and as they are."""
        words = self._words.filter(pc.invert(pc.string_is_ascii(self._words))).to_pylist()
        pairs = sorted(pair for pair in zip(without_accents(words), words, strict=True) if pair[0] != pair[1])
        return [without for without, _ in pairs], [word for _, word in pairs]


def _cut(word: str, plain: str) -> str:
    """The shortest prefix of a word that, without accents, starts with `plain`."""
    return next(part for end in range(len(word) + 1) if _starts(part := word[:end], plain))


def _starts(part: str, plain: str) -> bool:
    return without_accents([part])[0].startswith(plain) if part else not plain


Texts = Mapping[int, pa.Array | pa.ChunkedArray]
"""A value for each row, by column key: text, a list of texts, or null."""

FILLER = "FILLER"
"""A word that no text has: indexed words are in lower case."""
FEW_ROWS = 1_000
FILLERS = 8
MOST_FILLERS = 10_000
ROWS_A_TURN = 500
LEAST_MEMORY, MOST_MEMORY = 20_000_000, 512_000_000
MOST_OF_TANTIVY = 4_000_000_000
BYTES_A_ROW, BYTES_A_BYTE = 2_000, 40
"""The maximum memory that tantivy may need before it ends a segment; it allocates only what it needs."""
BYTES_A_SEGMENT, MOST_SEGMENTS = 4_000_000, 4
"""The amount of text that is worth a separate segment; every search visits each segment."""
SEGMENTS = "meta.json"
"""The file in which tantivy lists the segments of an index."""


class TooLarge(Exception):
    """The rows do not fit in the intended tantivy segments."""


def field_of(key: int) -> str:
    return f"c{key}"


def write(
    schema: Schema, texts: Texts, rows: int, usual: Mapping[int, float] | None, folder: Path | None, job: Job
) -> tuple[Searcher, tuple[int, ...]]:
    """Build an index of the texts, in memory or in an empty folder; return it, and the first row of each
    segment.

    Raises `TooLarge`, except for a single row. tantivy reports any failure, including a full disk, as
    `ValueError`.
    """
    starts = _starts_of_runs(texts, rows) if folder else (0,)
    runs = [_Run(texts, first, stop) for first, stop in pairwise((*starts, rows))]
    if folder is None or len(runs) == 1:
        index = _index(schema, folder)
        _fill([index], runs, usual, job)
        index.reload()
    else:
        pieces = [folder / str(number) for number in range(len(runs))]
        _fill([_index(schema, piece) for piece in pieces], runs, usual, job)
        _join(pieces, folder)
        index = tantivy.Index.open(str(folder))
    searcher = index.searcher()
    if searcher.num_segments > len(starts):
        raise TooLarge
    return searcher, starts


class _Run:
    """A range of rows that becomes a segment."""

    def __init__(self, texts: Texts, first: int, stop: int) -> None:
        self.texts = {key: column.slice(first, stop - first) for key, column in texts.items()}
        self.rows = stop - first

    def memory(self) -> int:
        """The memory for a segment. A row is never split, so a single row gets all it needs."""
        size = sum(map(_size, self.texts.values()))
        needed = LEAST_MEMORY + max(self.rows * BYTES_A_ROW, size * BYTES_A_BYTE)
        return min(needed, MOST_OF_TANTIVY if self.rows == 1 else MOST_MEMORY)


def _starts_of_runs(texts: Texts, rows: int) -> tuple[int, ...]:
    size = sum(map(_size, texts.values()))
    segments = max(1, min(os.cpu_count() or 1, MOST_SEGMENTS, size // BYTES_A_SEGMENT, rows))
    return tuple(rows * number // segments for number in range(segments))


def _index(schema: Schema, folder: Path | None) -> tantivy.Index:
    if folder:
        folder.mkdir(exist_ok=True)
    index = tantivy.Index(schema, path=str(folder) if folder else None)
    index.register_tokenizer(FROM_TEXT, analyzer())
    return index


def _fill(
    indexes: Sequence[tantivy.Index], runs: Sequence[_Run], usual: Mapping[int, float] | None, job: Job
) -> None:
    """Fill each index with a run, in a thread of tantivy's own; several threads for one index would mix the
    order of rows. This thread passes rows to all of them in turn, since Python's lock allows only one at a
    time."""
    with ExitStack() as ending:
        writers = []
        for index, run in zip(indexes, runs, strict=True):
            writers.append(index.writer(run.memory(), 1))
            ending.callback(writers[-1].wait_merging_threads)
        for _ in zip_longest(*map(_add, writers, runs, repeat(job))):
            pass
        for writer, run in zip(writers, runs, strict=True):
            if usual and run.rows < FEW_ROWS and run.memory() < MOST_OF_TANTIVY:
                _fill_up(writer, run.texts, run.rows, usual)
        with ThreadPoolExecutor(len(writers)) as pool:
            list(pool.map(IndexWriter.commit, writers))


def _join(pieces: Sequence[Path], folder: Path) -> None:
    """Merge indexes. Segments are independent files; an index is defined by its list of them."""
    segments = [json.loads((piece / SEGMENTS).read_bytes()) for piece in pieces]
    for file in _files(pieces, segments):
        file.rename(folder / file.name)
    together = [segment for entry in segments for segment in entry["segments"]]
    (folder / SEGMENTS).write_text(json.dumps({**segments[0], "segments": together}))
    for piece in pieces:
        shutil.rmtree(piece)


def _files(pieces: Sequence[Path], segments: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    for piece, entry in zip(pieces, segments, strict=True):
        for segment in entry["segments"]:
            yield from piece.glob(f"{segment['segment_id'].replace('-', '')}.*")


def _size(column: pa.Array | pa.ChunkedArray) -> int:
    """The size of a column's text in bytes."""
    values = pc.list_flatten(column) if pa.types.is_nested(column.type) else column
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return int(pc.sum(pc.binary_length(values.cast(pa.large_string()))).as_py() or 0)


def _add(writer: IndexWriter, run: _Run, job: Job) -> Iterator[int]:
    """Add some rows at each turn. They are indexed meanwhile, so cells are prepared only then."""
    for first in range(0, run.rows, ROWS_A_TURN):
        count = min(ROWS_A_TURN, run.rows - first)
        for document in _documents({k: column.slice(first, count) for k, column in run.texts.items()}, count):
            writer.add_document(document)
        job.advance(count)
        yield first


def _documents(texts: Texts, rows: int) -> list[Document]:
    """Documents for rows; most cells have a single ASCII text."""
    documents = [Document() for _ in range(rows)]
    for key, column in texts.items():
        name = field_of(key)
        for document, value in zip(documents, column.to_pylist(), strict=True):
            if type(value) is str and value.isascii():
                document.add_text(name, value)
            else:
                for text in texts_of(value):
                    document.add_text(name, without_dotted_i(text))
    return documents


def texts_of(value: Any) -> Sequence[str]:
    """The texts of a cell."""
    if isinstance(value, str):
        return (normal(value),)
    return () if value is None else tuple(normal(text) for text in value if text is not None)


def _fill_up(writer: IndexWriter, texts: Texts, rows: int, usual: Mapping[int, float]) -> None:
    """Add documents that no search finds, to bring the average lengths to the usual ones."""
    total = {key: sum(map(_words, column.to_pylist())) for key, column in texts.items()}
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


def _words(value: Any) -> int:
    return sum(len(words(text)) for text in texts_of(value))


@dataclass(eq=False)
class Part:
    """A part of the index. Rows 0 … `rows`-1 are the searcher's documents, segment by segment; any documents
    after them are fillers. `starts` are the first rows of its segments.

    `lengths` are the average numbers of words in a row, by column key.
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
        """The number of rows in which a column has the word."""
        at = (key, word)
        if at not in self._frequencies:
            self._frequencies[at] = int(self.searcher.doc_freq(field_of(key), word))
        return self._frequencies[at]

    def best(self, query: Query, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows with the highest scores, in descending order, and the scores; ties are in the order of
        rows."""
        most = min(count, self.documents)
        hits = self.searcher.search(query, limit=most, count=False).hits if most else []
        starts = self.starts
        rows = np.array([starts[at.segment_ord] + at.doc for _, at in hits], np.int64)
        scores = np.array([score for score, _ in hits], np.float64)
        if self.documents == self.rows:
            return rows, scores
        real = rows < self.rows
        return rows[real], scores[real]

    def score(self, query: Query, row: int) -> float | None:
        """The score of one row, without visiting others; None if the query does not match it."""
        segment = bisect_right(self.starts, row) - 1
        address = DocAddress(segment, row - self.starts[segment])
        try:
            explanation = json.loads(query.explain(self.searcher, address).to_json())
        except ValueError as error:
            if "does not match" in str(error):
                return None
            raise
        return float(np.float32(explanation["value"]))


@lru_cache(256)
def schema_of(keys: tuple[int, ...]) -> Schema:
    builder = SchemaBuilder()
    for key in keys:
        builder = builder.add_text_field(field_of(key), tokenizer_name=FROM_TEXT, index_option="position")
    return builder.build()


def build(
    texts: Texts,
    rows: int,
    language: str | None,
    usual: Mapping[int, float] | None = None,
    folder: Path | None = None,
    job: Job | None = None,
) -> Part:
    """Build a part of these texts, in memory or in an empty folder. Raises `TooLarge`, except for a single
    row, and `StoreProblem` if writing fails.

    `usual` are the lengths of the texts elsewhere in the table: a small part is filled up to these, so that a
    long text in it counts as long.
    """
    schema = schema_of(tuple(texts))
    try:
        searcher, starts = write(schema, texts, rows, usual, folder, job or Job())
    except ValueError as error:
        where, why = folder or "In memory", str(error)
        raise StoreProblem(
            f"{where}: a full-text index could not be written", why, "Check the disk's space"
        ) from error
    words = {key: [w for w, _ in searcher.terms_with_prefix(field_of(key), "")] for key in texts}
    lengths = {key: _average(searcher, schema, key, words[key]) for key in texts}
    vocabulary = dict.fromkeys(w for key in texts for w in words[key])
    vocabulary.pop(FILLER, None)
    return Part(rows, starts, searcher, schema, Vocabulary.of(list(vocabulary), language), lengths)


def _average(searcher: Searcher, schema: Schema, key: int, words: Sequence[str]) -> float:
    """The average length of texts that tantivy uses for scores, taken from its explanation of a score."""
    if not words:
        return 0.0
    query = Query.term_query(schema, field_of(key), words[0])
    (_, address), *_ = searcher.search(query, limit=1, count=False).hits
    return next(_average_lengths(json.loads(query.explain(searcher, address).to_json())), 0.0)


def _average_lengths(explanation: Mapping[str, Any]) -> Any:
    if str(explanation["description"]).startswith("avgdl"):
        yield float(explanation["value"])
    for detail in explanation.get("details", ()):
        yield from _average_lengths(detail)
