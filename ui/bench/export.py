"""A benchmark as a file: its report, its samples, its picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path

from PySide6.QtCore import QBuffer, QPoint, QRect
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QWidget

from lamella.core.bench.results.console import write_results
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.records import Record, to_saved, write_text
from lamella.core.bench.results.results_file import write_results_file
from lamella.core.bench.results.run import SavedRun, by_system
from lamella.core.errors import FileProblem, LamellaError
from lamella.ui import theme
from lamella.ui.widgets.message_bar import MessageBar

FORMATS = {
    ".md": "Report as Markdown, with its plots beside it (*.md)",
    ".results": "Results file, which opens on any computer (*.results)",
    ".json": "Samples as JSON (*.json)",
    ".csv": "Samples as CSV (*.csv)",
    ".png": "Picture of what is shown, PNG (*.png)",
    ".svg": "Picture of what is shown, SVG (*.svg)",
}
DOTS_PER_POINT = 2
"""Of a PNG, so that it is sharp in print."""


def ask_path(parent: QWidget, suffix: str, name: str) -> Path | None:
    """Where to write; None when the user thought better of it."""
    chosen, _ = QFileDialog.getSaveFileName(parent, "Export the benchmark", name + suffix, FORMATS[suffix])
    return Path(chosen).with_suffix(suffix) if chosen else None


def export_telling(path: Path, run: SavedRun, picture: QWidget, news: MessageBar) -> None:
    """As `export`; how it went is said in `news`."""
    try:
        export(path, run, picture)
    except LamellaError as error:
        news.say(str(error), kind="message-danger")
    else:
        news.say(f"Written: {path}", kind="message-success")


def export(path: Path, run: SavedRun, picture: QWidget) -> None:
    """By the suffix of `path`; the plots of a report are a file beside it. Raises FileProblem when one cannot
    be written."""
    match path.suffix:
        case ".md":
            plots = path.with_name(f"{path.stem}-plots.svg")
            _write_svg(plots, picture)
            write_text(path, markdown_report(run, plots.name))
        case ".results":
            write_results_file(run, path)
        case ".json":
            write_results(run.records, by_system(run.surroundings), path)
        case ".csv":
            write_text(path, to_csv(run.records))
        case ".png":
            _write_png(path, picture)
        case ".svg":
            _write_svg(path, picture)


def to_csv(records: Sequence[Record]) -> str:
    """A line a sample; its latencies stand in one cell, with spaces between."""
    text = StringIO()
    names = [field.name for field in fields(Record) if field.name != "figures"]
    writer = csv.DictWriter(
        text, list(to_saved(dict.fromkeys(names))), extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    for record in records:
        latencies = " ".join(map(str, record.latencies))
        writer.writerow(to_saved(asdict(record)) | {"latencies": latencies})
    return text.getvalue()


def _write_png(path: Path, picture: QWidget) -> None:
    image = QPixmap(picture.size() * DOTS_PER_POINT)
    image.setDevicePixelRatio(DOTS_PER_POINT)
    image.fill(theme.current().color("surface"))
    picture.render(image)
    if not image.save(str(path), "PNG"):
        raise FileProblem(path, "the picture cannot be written", fix="Choose another place")


def _write_svg(path: Path, picture: QWidget) -> None:
    whole = QRect(QPoint(0, 0), picture.size())
    held = QBuffer()
    drawing = QSvgGenerator()
    drawing.setOutputDevice(held)
    drawing.setResolution(picture.logicalDpiX())
    drawing.setSize(whole.size())
    drawing.setViewBox(whole)
    drawing.setTitle("Lamella: a benchmark")
    painter = QPainter(drawing)
    painter.fillRect(whole, theme.current().color("surface"))
    picture.render(painter, QPoint(0, 0))
    painter.end()
    write_text(path, held.data().data().decode("utf-8"))
