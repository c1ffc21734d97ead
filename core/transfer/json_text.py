"""Writes JSON: one object per line, or one array of objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lamella.core.jobs import Job
from lamella.core.transfer.text_columns import join_texts, json_of, naming_column, scalar_text
from lamella.core.transfer.writer import Output, Rows, Values, made_in_order, pieces


def write_lines(path: Path, rows: Rows, values: Values, job: Job) -> None:
    make = _objects(rows.schema, "", "\n", values["nulls"])
    with Output(path) as output:
        for text in made_in_order(pieces(rows.tables), make):
            output.write(text)


def write_array(path: Path, rows: Rows, values: Values, job: Job) -> None:
    between = ",\n " if values["indent"] else ","
    make = _objects(rows.schema, between, "", values["nulls"])
    first = True
    with Output(path) as output:
        output.write(b"[\n " if values["indent"] else b"[")
        for text in made_in_order(pieces(rows.tables), make):
            output.write(memoryview(text)[len(between) :] if first else text)
            first = False
        output.write(b"\n]\n" if values["indent"] else b"]\n")


def _objects(
    schema: pa.Schema, before: str, after: str, nulls: bool
) -> Callable[[pa.RecordBatch], pa.Buffer]:
    """Return a function that makes the objects of a batch. Without `nulls`, keys of cells without a value are
    left out."""
    keys = [json.dumps(name, ensure_ascii=False) + ": " for name in schema.names]

    def make(batch: pa.RecordBatch) -> pa.Buffer:
        parts: list[pa.Array | str] = [before + "{"]
        nonempty: pa.Array | None = None  # whether an object has a key already
        for number, (key, values) in enumerate(zip(keys, batch.columns, strict=True)):
            with naming_column(schema.names[number]):
                texts = json_of(values)
            if nulls:
                parts += [f"{', ' if number else ''}{key}", texts]
                continue
            present = pc.is_valid(values)
            begin = (
                key if nonempty is None else pc.if_else(nonempty, scalar_text(", " + key), scalar_text(key))
            )
            parts.append(pc.if_else(present, join_texts(begin, texts), scalar_text("")))
            nonempty = present if nonempty is None else pc.or_(nonempty, present)
        return join_texts(*parts, "}" + after).buffers()[2]

    return make
