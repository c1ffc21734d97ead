"""A race as a file: its samples as JSON or CSV, its plot as a picture."""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from core.bench.diary import write_results
from core.bench.results import Record, write_text
from core.errors import FileProblem
from ui.bench.race_results import RaceResults

FORMATS = {
    ".json": "Samples as JSON (*.json)",
    ".csv": "Samples as CSV (*.csv)",
    ".png": "Picture of the plot (*.png)",
}


def ask_path(parent: QWidget, suffix: str, name: str) -> Path | None:
    """Where to write; None when the user thought better of it."""
    chosen, _ = QFileDialog.getSaveFileName(parent, "Export the race", name + suffix, FORMATS[suffix])
    return Path(chosen).with_suffix(suffix) if chosen else None


def export(path: Path, results: RaceResults, plot: QWidget) -> None:
    """By the suffix of `path`. Raises FileProblem when it cannot be written."""
    match path.suffix:
        case ".json":
            write_results(results.records, results.surroundings, path)
        case ".csv":
            write_text(path, to_csv(results.records))
        case ".png":
            if not plot.grab().save(str(path), "PNG"):
                raise FileProblem(path, "the picture cannot be written", fix="Choose another place")


def to_csv(records: list[Record]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Record)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(record) for record in records)
    return text.getvalue()
