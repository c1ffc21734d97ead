"""Screens of files on their way in and out, of the window's own pages, and of the benchmark."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QSize

from lamella import resources
from lamella.app.tour import Tour, dialog_of
from lamella.ui.bench.saved_runs import ResultsBrowser
from lamella.ui.dialogs.export_dialog import ExportDialog
from lamella.ui.dialogs.open_import import ImportDialog
from tests.screens.stage import Screen, after, close_tab, command, opened, plain, popups, quiet

HELP_MARGIN = 60
BENCHMARK_ROWS = (1, 10, 100, 1000)
MANY_SAMPLES = 20
GERMAN = "Datum;Betrag;Ort\n01.02.2025;1.234,50;Köln\n02.02.2025;12,00;Bonn\nheute;3,00;Ulm\n"


def importing(tour: Tour) -> None:
    plain(tour)
    tour.window.opening.import_paths([resources.sample("planes"), resources.sample("airports")])
    tour.wait("the files are recognised", dialog_of(tour, ImportDialog).import_button.isEnabled)
    quiet(tour)


def import_text(tour: Tour) -> None:
    plain(tour)
    tour.window.opening.import_paths([text_file(tour)])
    quiet(tour)


def text_file(tour: Tour) -> Path:
    path = Path(tour.window.library.stores[-1].path).parent / "umsatz.csv"
    path.write_text(GERMAN, encoding="utf-8")
    return path


def reading(tour: Tour) -> None:
    opened(tour, text_file(tour))
    tour.window.commands["read_differently"].trigger()
    quiet(tour)


def damaged_file(tour: Tour) -> None:
    plain(tour)
    path = text_file(tour).with_name("damaged.parquet")
    path.write_bytes(b"PAR1 this is no Parquet file PAR1")
    tour.window.open_paths([path])
    quiet(tour)


def missing_file(tour: Tour) -> None:
    plain(tour)
    tour.window.open_paths([text_file(tour).with_name("gone.parquet")])
    quiet(tour)


def export(format_id: str) -> Screen:
    def show(tour: Tour) -> None:
        command(tour, "export")
        dialog_of(tour, ExportDialog).choose_format(format_id)
        quiet(tour)

    return Screen(f"export-{format_id}", show)


# ----------------------------------------------------------------- pages of the window


def settings(tour: Tour) -> None:
    tour.window.commands["settings"].trigger()
    quiet(tour)


def help_page(page: str) -> Screen:
    def show(tour: Tour) -> None:
        tour.window.help.show(page)
        tour.wait("the help is there", lambda: tour.window.help.viewer is not None)
        viewer = tour.window.help.viewer
        assert viewer is not None
        margin = QSize(HELP_MARGIN, HELP_MARGIN)
        viewer.move(tour.window.mapToGlobal(QPoint(HELP_MARGIN, HELP_MARGIN)))
        viewer.resize(tour.window.size() - 2 * margin)

    return Screen(f"help-{Path(page).stem}", show)


# ------------------------------------------------------------------------- benchmark


def benchmark_setup(tour: Tour) -> None:
    plain(tour)
    if tour.window.benchmark is None:
        tour.window.commands["benchmark"].trigger()
    else:
        tour.window.show_benchmark()
    quiet(tour)


def benchmark(tour: Tour) -> None:
    benchmark_setup(tour)
    panel = tour.window.benchmark
    assert panel is not None
    if "Saved as run" not in panel.status:
        panel.controls.size_choice.choose(BENCHMARK_ROWS)
        panel.controls.repeats.setValue(2)
        panel.bar.start.click()
        tour.wait("the benchmark is saved", lambda: not panel.running and "Saved as run" in panel.status)
    quiet(tour)


def benchmark_running(tour: Tour) -> None:
    """Show a benchmark in the middle of a run, which Stop ends."""
    benchmark_setup(tour)
    panel = tour.window.benchmark
    assert panel is not None
    panel.controls.size_choice.choose(BENCHMARK_ROWS)
    panel.controls.repeats.setValue(5)
    panel.bar.start.click()
    tour.wait("some samples are there", lambda: len(panel.results.records) > MANY_SAMPLES)


def stop_benchmark(tour: Tour) -> None:
    panel = tour.window.benchmark
    assert panel is not None
    panel.bar.stop.click()
    tour.wait("the benchmark has stopped", lambda: not panel.running)
    quiet(tour)


def saved_runs(tour: Tour) -> None:
    tour.window.commands["saved_runs"].trigger()
    quiet(tour)


def compared_runs(tour: Tour) -> None:
    saved_runs(tour)
    browser = next(popup for popup in popups(tour.window) if isinstance(popup, ResultsBrowser))
    tour.wait("the runs are listed", lambda: len(browser.table.runs_model.runs) > 1)
    browser.table.choose([0, len(browser.table.runs_model.runs) - 1])
    quiet(tour)


SCREENS = (
    Screen("import", importing),
    Screen("import-text", import_text),
    Screen("reading", reading),
    Screen("file-damaged", damaged_file),
    Screen("file-missing", missing_file),
    export("csv"),
    export("parquet"),
    export("delta"),
    export("excel"),
    Screen("settings", settings, close_tab),
    help_page("guide.md"),
    help_page("charts.md"),
    help_page("shortcuts.md"),
    Screen("about", after("about")),
    Screen("benchmark-setup", benchmark_setup),
    Screen("benchmark", benchmark),
    Screen("benchmark-running", benchmark_running, stop_benchmark),
    Screen("benchmark-runs", saved_runs),
    Screen("benchmark-compared", compared_runs),
)
