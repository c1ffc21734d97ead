"""Exporting a benchmark to a file: its report, its samples or its picture."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path

from PySide6.QtCore import QPoint, QSize
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtWidgets import QWidget

from lamella.core.bench.results.console import write_results
from lamella.core.bench.results.figures import in_order
from lamella.core.bench.results.markdown import markdown_report
from lamella.core.bench.results.matrix import ABSENT, Cell, Matrix
from lamella.core.bench.results.records import Record, to_saved_names, write_text
from lamella.core.bench.results.results_file import write_results_file
from lamella.core.bench.results.run import SavedRun, by_system
from lamella.core.errors import FileProblem, LamellaError
from lamella.ui import theme
from lamella.ui.bench.benchmark_results import BenchmarkResults, Display, panels, samples_of
from lamella.ui.bench.multiples import USUAL_LINE, Multiples
from lamella.ui.bench.overview import Overview, matrix_height, paint_matrix
from lamella.ui.bench.series import Panel
from lamella.ui.dialogs.file_dialog import ask_new_file
from lamella.ui.tasks import Tasks
from lamella.ui.widgets.message_bar import MessageBar
from lamella.ui.widgets.plotting import pixels_of, svg_of

FORMATS = {
    ".md": "Report as Markdown, with its plots beside it (*.md)",
    ".results": "Results file, which opens on any computer (*.results)",
    ".json": "Samples as JSON (*.json)",
    ".csv": "Samples as CSV (*.csv)",
    ".png": "Picture of what is shown, PNG (*.png)",
    ".svg": "Picture of what is shown, SVG (*.svg)",
}
TITLE = "Lamella: a benchmark"
DRAWING_WIDTH, PLOT_WIDTH, PLOT_HEIGHT = 1200, 240, 200
"""The size of a drawing of all plots, and of one plot, in pixels at the default text size."""


def ask_path(parent: QWidget, suffix: str, name: str, then: Callable[[Path], None]) -> None:
    """Ask where to write."""
    ask_new_file(
        parent,
        "Export the benchmark",
        lambda path: then(path.with_suffix(suffix)),
        name + suffix,
        FORMATS[suffix],
    )


def export_telling(path: Path, run: SavedRun, picture: QWidget, news: MessageBar, tasks: Tasks) -> None:
    """Write off the GUI thread, and report the result in `news`."""
    drawing = draw(path.suffix, picture)

    def fail(error: Exception) -> None:
        if isinstance(error, LamellaError):
            news.say(str(error), kind="message-danger")
        else:
            tasks.failed.emit(error)

    tasks.read(
        lambda job: write(path, run, drawing),
        lambda _: news.say(f"Written: {path}", kind="message-success"),
        fail,
        owner=news,
        text=f"Writing {path.name}",
    )


def draw(suffix: str, picture: QWidget) -> str | QImage | None:
    """What a file of this kind needs from the window: plots as SVG, or pixels."""
    if suffix in (".md", ".svg"):
        return _drawing(picture)
    return (
        pixels_of(picture.size(), lambda painter: picture.render(painter, QPoint(0, 0)))
        if suffix == ".png"
        else None
    )


def write(path: Path, run: SavedRun, drawing: str | QImage | None) -> None:
    """Write in the format of the suffix of `path`; the plots of a report are a file beside it. Raises
    FileProblem if a file cannot be written."""
    match path.suffix, drawing:
        case ".md", str():
            plots = path.with_name(f"{path.stem}-plots.svg")
            write_text(plots, drawing)
            write_text(path, markdown_report(run, plots.name))
        case ".results", _:
            write_results_file(run, path)
        case ".json", _:
            write_results(run.records, by_system(run.surroundings), path)
        case ".csv", _:
            write_text(path, to_csv(run.records))
        case ".svg", str():
            write_text(path, drawing)
        case ".png", QImage():
            if not QImageWriter(str(path), b"PNG").write(drawing):
                raise FileProblem(path, "the picture cannot be written", fix="Choose another place")


def to_csv(records: Sequence[Record]) -> str:
    """One line per sample; its latencies are in one cell, separated by spaces."""
    text = StringIO()
    names = [field.name for field in fields(Record) if field.name != "figures"]
    writer = csv.DictWriter(
        text, list(to_saved_names(dict.fromkeys(names))), extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    for record in records:
        latencies = " ".join(map(str, record.latencies))
        writer.writerow(to_saved_names(vars(record)) | {"latencies": latencies})
    return text.getvalue()


def _drawing(picture: QWidget) -> str:
    if isinstance(picture, Overview):
        plots = picture.multiples
        return drawing_of(plots.panels, plots.frames.sizes, picture.matrix.cells.matrix, plots.log)
    return svg_of(TITLE, picture.size(), lambda painter: picture.render(painter, QPoint(0, 0)))


def write_overview(path: Path, results: BenchmarkResults) -> None:
    """Draw all plots of a workload, and its matrix at the largest size, as they are shown first. Raises
    FileProblem."""
    display = Display("", statistic="median", samples=next(iter(samples_of(results.workload))))
    rows = max(results.tally.rows, default=0)
    matrix = results.matrices.matrix(
        rows, display.statistic, display.samples, results.failures, results.unsupported_steps
    )
    write_text(path, drawing_of(panels(results, display), results.sizes, matrix))


def drawing_of(panels: Sequence[Panel], sizes: tuple[int, ...], matrix: Matrix, log: bool = True) -> str:
    """An SVG of all plots and the whole matrix, which serves as the legend."""
    matrix = _with_drawn_rivals(matrix, panels)
    scale = theme.current().line_height() / USUAL_LINE
    across = max(1, min(len(panels), int(DRAWING_WIDTH / (PLOT_WIDTH * scale))))
    height = round(math.ceil(len(panels) / across) * PLOT_HEIGHT * scale)
    plots = Multiples()
    plots.frames.sizes = sizes
    plots.resize(DRAWING_WIDTH, height)
    plots.show_panels(panels, log)
    plots.mark(matrix.rows, 0)

    def paint(painter: QPainter) -> None:
        plots.paint(painter)
        painter.translate(0, height + theme.M)
        paint_matrix(painter, matrix, DRAWING_WIDTH)

    size = QSize(DRAWING_WIDTH, height + theme.M + matrix_height(matrix, DRAWING_WIDTH))
    drawing = svg_of(TITLE, size, paint)
    plots.deleteLater()
    return drawing


def _with_drawn_rivals(matrix: Matrix, panels: Sequence[Panel]) -> Matrix:
    """The matrix with a line for each system that has a line on a plot or a figure, and for no other."""
    systems = {line.system for panel in panels for line in panel.series if not line.is_published}
    present = {rival for (rival, _), cell in matrix.cells.items() if cell.outcome != ABSENT}
    rivals = in_order((systems | present) - {matrix.subject})
    cells = {(name, column): Cell(column, name, ABSENT) for name in rivals for column in matrix.columns}
    return replace(matrix, rivals=tuple(rivals), cells=cells | dict(matrix.cells))
