"""Fills tantivy's indexes with texts, a segment for each core where there is much to index.

A segment has its rows in their order, and an index has its segments in the order of their rows.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise, repeat, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tantivy import Document, Index, IndexWriter, PreTokenizedString, Schema, Searcher, Token

from lamella.core.index.fulltext.analysis import FROM_TEXT, analyzer, indexed, normal, words
from lamella.core.jobs import Job

Texts = Mapping[int, pa.Array | pa.ChunkedArray]
"""By column key a value for each row: text, a list of texts, or null."""

FILLER = "FILLER"
"""A word that no text holds: what is indexed is in lower case."""
FEW_ROWS = 1_000
FILLERS = 8
MOST_FILLERS = 10_000
ROWS_A_TURN = 500
LEAST_MEMORY, MOST_MEMORY = 20_000_000, 512_000_000
MOST_OF_TANTIVY = 4_000_000_000
BYTES_A_ROW, BYTES_A_BYTE = 2_000, 40
"""What tantivy may need at most before it ends a segment; it takes what it needs."""
BYTES_A_SEGMENT, MOST_SEGMENTS = 4_000_000, 4
"""So much text is worth a segment of its own; every search looks at each."""
SEGMENTS = "meta.json"
"""What tantivy calls its list of an index's segments."""


class TooLarge(Exception):
    """The rows do not fit the segments of tantivy's that they were to have."""


def field_of(key: int) -> str:
    return f"c{key}"


def write(
    schema: Schema, texts: Texts, rows: int, usual: Mapping[int, float] | None, folder: Path | None, job: Job
) -> tuple[Searcher, tuple[int, ...]]:
    """An index of the texts, in memory or in an empty folder, and the first row of each of its segments.

    Raises `TooLarge`, for several rows alone. tantivy tells of whatever fails, a full disk too, as a
    `ValueError`.
    """
    starts = _starts(texts, rows) if folder else (0,)
    runs = [_Run(texts, first, stop) for first, stop in pairwise((*starts, rows))]
    if folder is None or len(runs) == 1:
        index = _index(schema, folder)
        _fill([index], runs, usual, job)
        index.reload()
    else:
        pieces = [folder / str(number) for number in range(len(runs))]
        _fill([_index(schema, piece) for piece in pieces], runs, usual, job)
        _join(pieces, folder)
        index = Index.open(str(folder))
    searcher = index.searcher()
    if searcher.num_segments > len(starts):
        raise TooLarge
    return searcher, starts


class _Run:
    """Some of the rows, which become a segment."""

    def __init__(self, texts: Texts, first: int, stop: int) -> None:
        self.texts = {key: column.slice(first, stop - first) for key, column in texts.items()}
        self.rows = stop - first

    def memory(self) -> int:
        """A row is never cut in two, so one that is alone gets all it needs."""
        size = sum(map(_size, self.texts.values()))
        needed = LEAST_MEMORY + max(self.rows * BYTES_A_ROW, size * BYTES_A_BYTE)
        return min(needed, MOST_OF_TANTIVY if self.rows == 1 else MOST_MEMORY)


def _starts(texts: Texts, rows: int) -> tuple[int, ...]:
    size = sum(map(_size, texts.values()))
    segments = max(1, min(os.cpu_count() or 1, MOST_SEGMENTS, size // BYTES_A_SEGMENT, rows))
    return tuple(rows * number // segments for number in range(segments))


def _index(schema: Schema, folder: Path | None) -> Index:
    if folder:
        folder.mkdir(exist_ok=True)
    index = Index(schema, path=str(folder) if folder else None)
    index.register_tokenizer(FROM_TEXT, analyzer())
    return index


def _fill(
    indexes: Sequence[Index], runs: Sequence[_Run], usual: Mapping[int, float] | None, job: Job
) -> None:
    """Each index with a run, on a thread of tantivy's own: several for one index would take rows as they
    come. This thread hands rows to all of them in turns, for Python's lock lets one do so at a time."""
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
    """Segments are files that know nothing of each other; the list of them says which an index has."""
    told = [json.loads((piece / SEGMENTS).read_bytes()) for piece in pieces]
    for file in _files(pieces, told):
        file.rename(folder / file.name)
    together = [segment for one in told for segment in one["segments"]]
    (folder / SEGMENTS).write_text(json.dumps({**told[0], "segments": together}))
    for piece in pieces:
        shutil.rmtree(piece)


def _files(pieces: Sequence[Path], told: Sequence[Mapping[str, Any]]) -> Iterator[Path]:
    for piece, one in zip(pieces, told, strict=True):
        for segment in one["segments"]:
            yield from piece.glob(f"{segment['segment_id'].replace('-', '')}.*")


def _size(column: pa.Array | pa.ChunkedArray) -> int:
    """Bytes of text."""
    values = pc.list_flatten(column) if pa.types.is_nested(column.type) else column
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return int(pc.sum(pc.binary_length(values.cast(pa.large_string()))).as_py() or 0)


def _add(writer: IndexWriter, run: _Run, job: Job) -> Iterator[int]:
    """Some rows at each turn. They are indexed meanwhile, so cells are prepared when their turn comes."""
    for first in range(0, run.rows, ROWS_A_TURN):
        job.check()
        count = min(ROWS_A_TURN, run.rows - first)
        for document in _documents({k: column.slice(first, count) for k, column in run.texts.items()}, count):
            writer.add_document(document)
        yield first


def _documents(texts: Texts, rows: int) -> list[Document]:
    """Most cells hold one text that is plain."""
    documents = [Document() for _ in range(rows)]
    for key, column in texts.items():
        name = field_of(key)
        for document, value in zip(documents, column.to_pylist(), strict=True):
            if type(value) is str and value.isascii():
                document.add_text(name, value)
            else:
                for text in texts_of(value):
                    document.add_text(name, indexed(text))
    return documents


def texts_of(value: Any) -> Sequence[str]:
    """The texts that a cell holds."""
    if isinstance(value, str):
        return (normal(value),)
    return () if value is None else tuple(normal(text) for text in value if text is not None)


def _fill_up(writer: IndexWriter, texts: Texts, rows: int, usual: Mapping[int, float]) -> None:
    """Documents that no search finds, which bring the average lengths to what is usual."""
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
