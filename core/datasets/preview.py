"""A preview of a file before it is opened or imported: its columns, first values and reading options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.datasets.base import Checksums, Dataset, Problem, RaggedRows, paths_of, problems_of
from lamella.core.datasets.cached_dataset import CachedDataset
from lamella.core.datasets.formats import open_dataset
from lamella.core.datasets.text.dataset import TextFile
from lamella.core.datasets.text.delimited import DelimitedText, word_for
from lamella.core.datasets.text.files import SeveralTexts
from lamella.core.datasets.text.regional import COMMA, SpelledType
from lamella.core.datasets.text.types import yes_and_no
from lamella.core.datasets.values import ValuesFile
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import NOTE

SHOWN_VALUES, SHOWN_ROWS = 3, 20
MOST_FILES = 64
"""Of several files, this many are searched for values of columns that the first file lacks."""
LEADING_ZEROS = "leading zeros kept"
TYPES = (
    "string", "int64", "float64", "decimal(10, 2)", "bool", "date", "timestamp[us]", "time64[us]",
)  # fmt: skip
"""The types as which a column of text can be read, by the names that the option `types` takes."""


@dataclass(frozen=True)
class ColumnPreview:
    """A column in a preview. `key` is its name in the file, `texts` are its first values as written there.
    `nulls` (a share, 0 to 1) and `misfits` (a count of values that do not fit the chosen type) refer to the
    rows that were read."""

    key: str
    name: str
    kind: pa.DataType
    texts: tuple[str | None, ...]
    note: str = ""
    nulls: float = 0.0
    misfits: int = 0

    @property
    def remark(self) -> str:
        """The most important fact about the column, in a few words."""
        if self.misfits:
            word = word_for(self.kind)
            return f"1 is not a {word}" if self.misfits == 1 else f"{self.misfits:,} are not {word}s"
        if self.note:
            return self.note
        return f"{self.nulls:.1%} null" if self.nulls else ""


@dataclass(frozen=True)
class FilePreview:
    """A preview of a file of `size` bytes. `rows` is exact if `is_counted`, else an estimate. `findings` are
    the reading options of a text in use, whether chosen or detected; `yes_no` are pairs of words that
    `booleans` can name."""

    dataset: Dataset
    size: int
    rows: int
    is_counted: bool
    columns: tuple[ColumnPreview, ...]
    head: pa.Table
    findings: Mapping[str, Any] = field(default_factory=dict)
    yes_no: tuple[tuple[str, str], ...] = ()

    @property
    def is_text(self) -> bool:
        return bool(self.findings)

    @property
    def is_typed(self) -> bool:
        """Whether other types can be chosen for the columns."""
        return takes_types(self.dataset)

    @property
    def problems(self) -> Sequence[Problem]:
        return problems_of(self.dataset)

    def check(self, job: Job) -> FilePreview:
        """Read all rows, and return the preview with their exact number and the problems in all of them."""
        return _describe(self.dataset, count_rows(self.dataset, job))


def preview(
    path: str | Path,
    reading: Mapping[str, Any] | None = None,
    *,
    ragged: RaggedRows = "refuse",
    checksums: Checksums = "verify",
    table: str | None = None,
    job: Job | None = None,
) -> FilePreview:
    """Return a preview of a file opened with the options `reading`. Raises the errors of `open_dataset`."""
    options = {"bad_lines": "set-aside", **(reading or {})}
    dataset = open_dataset(path, ragged=ragged, checksums=checksums, table=table, job=job, **options)
    return _describe(dataset, None)


def is_sheet(dataset: Dataset) -> bool:
    """Whether the dataset is a sheet of a workbook, which can be limited to a range of cells."""
    return isinstance(dataset, CachedDataset) and dataset.file.label == "Excel"


def takes_types(dataset: Dataset) -> bool:
    """Whether the dataset is a file in place whose columns can be read as other types: delimited text, a
    sheet or a table of SQLite."""
    file = dataset.file if isinstance(dataset, CachedDataset) else None
    if isinstance(file, SeveralTexts):
        file = file.files[0]
    return isinstance(file, ValuesFile) or (isinstance(file, TextFile) and bool(file.stored_names))


def unit_of(dataset: Dataset) -> str:
    """Return the unit in which the dataset's problems are numbered: row or line."""
    return "row" if isinstance(dataset, CachedDataset) and isinstance(dataset.file, ValuesFile) else "line"


def count_rows(dataset: Dataset, job: Job) -> int:
    """Count all rows. A text that is not read yet is read to its end, without the cache."""
    from lamella.core.datasets.blocks import TypesWidened

    if not isinstance(dataset, CachedDataset) or dataset.snapshot().complete:
        return dataset.num_rows
    while True:
        rows = 0
        try:
            for batch in dataset.rows_once(
                job, lambda rows, position: job.report(position, dataset.file.size)
            ):
                rows += batch.num_rows
            return rows
        except TypesWidened:  # the next reading begins with the wider types
            continue


def _describe(dataset: Dataset, counted: int | None) -> FilePreview:
    head = dataset.snapshot().num_rows and dataset.head(SHOWN_ROWS)
    sample = head if isinstance(head, pa.Table) else dataset.schema.empty_table()
    snapshot = dataset.snapshot()
    rows = counted if counted is not None else snapshot.num_rows
    is_counted = counted is not None or snapshot.complete
    file = dataset.file if isinstance(dataset, CachedDataset) else None
    if isinstance(file, TextFile) and isinstance(file.text, DelimitedText):
        return _of_text(dataset, file, file.text, rows, is_counted, sample)
    size = file.size if isinstance(file, (TextFile, SeveralTexts)) else _size_of(dataset)
    keys = _keys(file)
    texts, description = _texts_of_files(file.files if isinstance(file, SeveralTexts) else ())
    misfits = getattr(file, "misfits", {})
    columns = tuple(
        ColumnPreview(
            keys.get(f.name, f.name), f.name, f.type, texts.get(f.name) or _first_texts(sample, f.name),
            _note_of(f), misfits=misfits.get(f.name, 0),
        )
        for f in dataset.schema
    )  # fmt: skip
    return FilePreview(dataset, size, rows, is_counted, columns, sample, description)


def _keys(file: object) -> dict[str, str]:
    """The name in the file, or in one of several files, of each column, by its shown name."""
    files = file.files if isinstance(file, SeveralTexts) else [file]
    sources = [item for item in files if isinstance(item, (ValuesFile, TextFile)) and item.names]
    return {
        name: key
        for item in reversed(sources)
        for name, key in zip(item.names or (), item.stored_names, strict=True)
    }


def _texts_of_files(files: Sequence[TextFile]) -> tuple[dict[str, tuple[str | None, ...]], dict[str, Any]]:
    """The first values of each column as written in the file, and the reading options of the first file."""
    texts: dict[str, tuple[str | None, ...]] = {}
    options: dict[str, Any] = {}
    for file in files[:MOST_FILES]:
        if isinstance(file.text, DelimitedText) and not texts.keys() >= set(file.text.dialect.names):
            block, schema, _ = file.begin()
            options = options or _text_options(file, file.text, schema)
            for name, values in zip(file.text.dialect.names, file.text.fields(block), strict=True):
                texts.setdefault(name, tuple(values[:SHOWN_VALUES].to_pylist()))
    return texts, options


def _of_text(
    dataset: Dataset, file: TextFile, text: DelimitedText, rows: int, is_counted: bool, sample: pa.Table
) -> FilePreview:
    block, schema, _ = file.begin()
    if not is_counted and block.data:
        rows = round(file.size * max(sample.num_rows, dataset.num_rows) / max(1, block.progress))
    texts = text.fields(block)
    misfits = dict(file.misfits)
    final = dataset.reading_schema if isinstance(dataset, CachedDataset) else dataset.schema
    columns = tuple(
        _column_of_text(key, name, final.field(name), column, misfits.get(name, 0))
        for key, name, column in zip(text.stored_names, text.dialect.names, texts, strict=True)
    )
    words = (
        yes_and_no(column)
        for column, kind, key in zip(texts, schema.types, text.stored_names, strict=True)
        if pa.types.is_string(kind) and not text.has_chosen_type(key)
    )
    return FilePreview(
        dataset,
        file.size,
        rows,
        is_counted,
        columns,
        sample,
        _text_options(file, text, schema),
        tuple(dict.fromkeys(pair for pair in words if pair is not None)),
    )


def _column_of_text(key: str, name: str, field: pa.Field, texts: pa.Array, misfits: int) -> ColumnPreview:
    note, kind = _note_of(field), field.type
    if not note and pa.types.is_string(kind) and _has_zeros_in_front(texts):
        note = LEADING_ZEROS
    nulls = texts.null_count / len(texts) if len(texts) else 0.0
    return ColumnPreview(key, name, kind, tuple(texts[:SHOWN_VALUES].to_pylist()), note, nulls, misfits)


def _has_zeros_in_front(texts: pa.Array) -> bool:
    return pc.any(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py() is True


def _text_options(file: TextFile, text: DelimitedText, schema: pa.Schema) -> dict[str, Any]:
    spellings = [kind.spelling for kind in schema.types if isinstance(kind, SpelledType)]
    orders = {spelling.order for spelling in spellings if spelling.order not in ("", "iso")}
    commas = [spelling for spelling in spellings if spelling.decimal == COMMA]
    options = text.options
    decimal = options.decimal or (COMMA if commas else ".")
    return {
        "encoding": file.encoding,
        "delimiter": text.dialect.delimiter,
        "quote": text.dialect.quote,
        "header": bool(text.dialect.header),
        "skip_rows": text.skip_lines - text.dialect.header
        if options.skip_rows is None
        else options.skip_rows,
        "decimal": decimal,
        "dates": options.dates or (orders.pop() if len(orders) == 1 else "iso"),
    }


def _note_of(field: pa.Field) -> str:
    return str((field.metadata or {}).get(NOTE, b"").decode())


def _first_texts(rows: pa.Table, name: str) -> tuple[str | None, ...]:
    values = rows.column(name)[:SHOWN_VALUES].to_pylist()
    return tuple(None if value is None else str(value) for value in values)


def _size_of(dataset: Dataset) -> int:
    return sum(path.stat().st_size for path in paths_of(dataset) if path.is_file())
