from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
)

from lamella import Store
from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Dataset
from lamella.core.errors import DamagedFile, FileProblem
from lamella.core.jobs import Job
from lamella.core.scan.snapshot import NOTE, Snapshot
from lamella.core.store.importing import import_file
from lamella.core.transfer import generate as make_data
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.dialogs.file_dialog import FileDialog
from lamella.ui.dialogs.file_import import FileImportDialog
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.window import library
from tests.conftest import PATIENCE_SECONDS


def titles(window: MainWindow) -> list[str]:
    return [window.tabs.tabs.tabText(place) for place in range(window.tabs.tabs.count())]


def test_a_file_opens_in_a_tab_and_is_remembered(window, file_tab, file, memory, cell_text) -> None:
    assert titles(window) == ["flights.parquet"]
    assert file_tab.status == "1,000 rows"
    assert cell_text(file_tab, 0, "delay") == "-50" and cell_text(file_tab, 2, "carrier") is None
    assert memory.recent == [file]
    assert [entry.text for entry in window.sidebar.entries("file")] == ["flights.parquet"]
    assert window.windowTitle().startswith("flights.parquet")


@pytest.mark.slow
def test_tabs_of_several_files_stand_as_they_were_dropped_whichever_is_there_first(
    qtbot, window, file, settled, monkeypatch, tmp_path
) -> None:
    second = file.rename(tmp_path / "second.parquet")
    first = Path(shutil.copy(second, tmp_path / "first.parquet"))
    go_on, open_file = threading.Event(), library.open_file

    def late(key, *arguments):
        if key[0] == str(first):
            assert go_on.wait(PATIENCE_SECONDS)
        return open_file(key, *arguments)

    monkeypatch.setattr(library, "open_file", late)
    window.open_paths([first, second])
    qtbot.waitUntil(lambda: titles(window) == ["second.parquet"])
    go_on.set()
    qtbot.waitUntil(lambda: titles(window) == ["first.parquet", "second.parquet"])
    assert settled().name == "second.parquet"
    window.tabs.tabs.setCurrentIndex(0)
    assert settled().view.num_rows == 1000 and settled().name == "first.parquet"


@pytest.mark.slow
def test_an_ampersand_in_a_name_is_shown(window, file, settled) -> None:
    named = file.with_name("rides & fares.parquet")
    named.write_bytes(file.read_bytes())
    window.open_paths([named])
    settled()
    assert titles(window)[-1] == "rides && fares.parquet", "Qt shows the second one"
    assert window.windowTitle().startswith("rides & fares.parquet")


def test_opening_it_again_comes_back_to_its_tab(window, file_tab, file) -> None:
    window.show_benchmark()
    window.open_paths([file])
    assert titles(window) == ["flights.parquet", "Benchmark"]
    assert window.tabs.dataset_tab is file_tab


def test_a_closed_tab_can_be_had_back(window, file_tab, settled) -> None:
    window.commands["close_tab"].trigger()
    assert titles(window) == [] and window.tabs.currentIndex() == 0
    assert not window.commands["filter"].isEnabled()
    window.commands["reopen_tab"].trigger()
    assert settled().status == "1,000 rows"


@pytest.mark.slow
def test_the_benchmark_tab_can_be_closed_and_opened_again(window, qtbot) -> None:
    window.commands["benchmark"].trigger()
    window.commands["close_tab"].trigger()
    qtbot.waitUntil(lambda: window.benchmark is None)
    window.commands["benchmark"].trigger()
    assert titles(window) == ["Benchmark"]


@pytest.mark.slow
def test_a_benchmark_is_opened_with_the_keyboard_on_start(window, qtbot) -> None:
    window.activateWindow()
    window.commands["benchmark"].trigger()
    panel = window.tabs.current
    qtbot.waitUntil(panel.bar.start.hasFocus)


def test_a_broken_file_says_so_and_the_window_goes_on(window, tmp_path, file, qtbot, settled) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(file.read_bytes()[:-100])
    window.open_paths([broken])
    qtbot.waitUntil(lambda: window.findChildren(ErrorDialog) != [])
    dialog = window.findChildren(ErrorDialog)[0]
    assert "broken.parquet" in dialog.accessibleName()
    assert "broken.parquet" in dialog.details
    dialog.close()
    window.open_paths([file])
    assert settled().status == "1,000 rows"
    assert titles(window) == ["flights.parquet"]


def test_tables_stand_under_their_store_and_open(window, table, qtbot, settled) -> None:
    window.library.refresh()
    qtbot.waitUntil(lambda: [e.text for e in window.sidebar.entries("table")] == ["flights"])
    window.sidebar.opened.emit(window.sidebar.entries("table")[0])
    tab = settled()
    assert tab.table is table
    assert tab.grid.isColumnHidden(tab.grid.grid_model.names.index("_id"))


@pytest.mark.slow
def test_a_table_that_cannot_be_counted_is_logged(
    window, store, table, rows, qtbot, monkeypatch, caplog
) -> None:
    """The other entries show their numbers of rows."""
    store.create_table("broken", rows)
    count = type(table).num_rows.fget

    def num_rows(self) -> int:
        if self.name == "broken":
            raise DamagedFile("part.parquet", "has no footer", "It was cut", "Restore a backup")
        return count(self)

    monkeypatch.setattr(type(table), "num_rows", property(num_rows))
    counts = []
    window.library.counted.connect(counts.append)
    window.library.refresh()
    qtbot.waitUntil(lambda: any("'broken'" in record.getMessage() for record in caplog.records))
    (said,) = {record.getMessage() for record in caplog.records if record.name == "lamella.ui.window.library"}
    assert "has no footer" in said
    qtbot.waitUntil(lambda: bool(counts) and counts[-1] == {(str(store.path), "flights"): 1000})


def test_a_folder_that_is_a_store_opens_as_one(window, tmp_path, rows, qtbot) -> None:
    with Store.open(tmp_path / "other") as second_store:
        second_store.create_table("trips", rows)
    window.open_paths([tmp_path / "other"])
    qtbot.waitUntil(lambda: [e.text for e in window.sidebar.entries("table")] == ["trips"])


@pytest.mark.slow
def test_a_store_dropped_on_the_import_half_opens_as_one(window, tmp_path, rows, file, qtbot) -> None:
    with Store.open(tmp_path / "other") as second_store:
        second_store.create_table("trips", rows)
    window.overlay.import_requested.emit([tmp_path / "other", file])
    qtbot.waitUntil(lambda: [e.text for e in window.sidebar.entries("table")] == ["trips"])
    (dialog,) = window.findChildren(FileImportDialog)
    assert "flights.parquet" in dialog.title.text()
    dialog.close()


def test_a_store_chosen_with_open_folder_opens_as_one(window, tmp_path, rows, qtbot) -> None:
    with Store.open(tmp_path / "other") as second_store:
        second_store.create_table("trips", rows)
    window.commands["open_folder"].trigger()
    (dialog,) = window.findChildren(FileDialog)
    dialog.fileSelected.emit(str(tmp_path / "other"))
    dialog.close()
    qtbot.waitUntil(lambda: [e.text for e in window.sidebar.entries("table")] == ["trips"])


@pytest.mark.slow
def test_a_text_file_grows_until_it_is_whole(window, tmp_path, qtbot, settled) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("n,text\n" + "".join(f"{i},row {i}\n" for i in range(400_000)))
    texts: list[str] = []
    window.open_paths([path])
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    window.tabs.dataset_tab.changed.connect(lambda: texts.append(window.tabs.dataset_tab.status))
    qtbot.waitUntil(lambda: window.tabs.dataset_tab.status == "400,000 rows", timeout=15_000)
    tab = settled()
    tab.grid.go_to(399_999)
    tab = settled()
    assert tab.grid.grid_model.pages.text(399_999, 0) == "399999"
    assert all("so far" in text or "counting" in text or text == "400,000 rows" for text in texts)


class Stumbling(Dataset):
    """A text file whose second snapshot fails, while its rows arrive."""

    def __init__(self, path: Path) -> None:
        self.name, self._file = path.name, open_dataset(path)
        self._looks, self.looked_again = 0, threading.Event()

    def snapshot(self) -> Snapshot:
        self._looks += 1
        if self._looks == 2:
            raise FileProblem(self.name, "could not be read for a moment")
        if self._looks > 2:
            self.looked_again.set()
        return self._file.snapshot()

    def fill(self, job: Job) -> None:
        """Wait for another snapshot before the file is read."""
        while not self.looked_again.wait(0.01):
            job.report(1)
        self._file.fill(job)


@pytest.mark.slow
def test_rows_go_on_coming_in_after_a_failed_look(window, tmp_path, qtbot) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("n,text\n" + "".join(f"{i},row {i}\n" for i in range(400_000)))
    file = Stumbling(path)
    window.library.opened.emit(file, (str(path),))
    tab = window.tabs.dataset_tab
    qtbot.waitUntil(lambda: "could not be read" in tab.messages.label.text())
    qtbot.waitUntil(file.looked_again.is_set)
    qtbot.waitUntil(lambda: tab.status == "400,000 rows", timeout=15_000)


@pytest.mark.slow
def test_a_file_with_no_rows_says_so(window, tmp_path, rows, settled) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows.slice(0, 0), tmp_path / "empty.parquet")
    window.open_paths([tmp_path / "empty.parquet"])
    tab = settled()
    assert tab.status == "0 rows"
    assert tab.pane.nothing.text() == "No rows" and tab.pane.nothing.isVisible()


@pytest.mark.slow
def test_every_control_has_a_name_for_screen_readers(window, file_tab) -> None:
    window.show_benchmark()
    kinds = (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView)
    controls = [
        w for kind in kinds for w in window.findChildren(kind) if not w.objectName().startswith("qt_")
    ]
    nameless = [
        w
        for w in controls
        if not w.accessibleName() and not (isinstance(w, QAbstractButton) and w.text()) and not inner(w)
    ]
    assert [f"{type(w).__name__} in {type(w.parent()).__name__}" for w in nameless] == []


def inner(widget) -> bool:
    """Parts of Qt's own controls, which are accessible through their controls."""
    if isinstance(widget, QHeaderView):
        return True
    names = ("QComboBox", "QTabBar", "QAbstractSpinBox", "QSpinBox", "QComboBoxPrivateContainer")
    parents = []
    parent = widget.parent()
    while parent is not None:
        parents.append(type(parent).__name__)
        parent = parent.parent()
    return any(name in names for name in parents[:2])


@pytest.mark.slow
def test_made_data_opens(window, tmp_path: Path, settled) -> None:
    make_data.make("mixed", 5000, tmp_path / "mixed.parquet")
    window.open_paths([tmp_path / "mixed.parquet"])
    assert settled().status == "5,000 rows"


def test_a_table_of_a_store_that_is_not_open_is_told(window, tmp_path, qtbot) -> None:
    with qtbot.waitSignal(window.library.failed) as failed:
        window.opening.open_key((str(tmp_path / "elsewhere"), "trips"))
    assert "trips" in str(failed.args[0]) and "elsewhere" in str(failed.args[0])
    for dialog in window.findChildren(ErrorDialog):
        dialog.close()


def test_a_note_on_a_column_is_shown_in_its_header(window, settled, tmp_path: Path) -> None:
    file = tmp_path / "versions.csv"
    file.write_text("name,version,price\nx,1.10,2.50\ny,1.100,3.75\n")
    window.open_paths([file])
    grid = settled().grid

    def tip(name: str) -> str:
        place = grid.grid_model.names.index(name)
        return grid.grid_model.headerData(place, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)

    said = " ".join(tip("version").split())
    assert said.startswith("version float64 Some of these numbers are written with trailing zeros")
    assert "1.10 beside 1.100" in said
    assert "lamella import --text-columns" in said and "open_dataset(…, text_columns=[…])" in said
    assert tip("price") == "price\nfloat64"
    header = grid.horizontalHeader()
    wider = header.wanted_width(1) - header.fontMetrics().horizontalAdvance("version")
    assert wider > header.wanted_width(2) - header.fontMetrics().horizontalAdvance("price")
    header.resizeSection(1, 200)
    header.resizeSection(2, 200)
    assert sign_drawn(header, 1) and not sign_drawn(header, 2)


def sign_drawn(header, column: int) -> bool:
    """Whether something is drawn at the right end of a column's header."""
    left, width = header.sectionViewportPosition(column), header.sectionSize(column)
    picture = header.grab().toImage()
    scale = picture.devicePixelRatio()
    ground = picture.pixel(int((left + width - 3) * scale), int(4 * scale))
    places = [
        (x, y) for x in range(left + width - 20, left + width - 8) for y in range(4, header.height() - 4)
    ]
    return any(picture.pixel(int(x * scale), int(y * scale)) != ground for x, y in places)


def test_an_imported_column_keeps_its_note(tmp_path: Path) -> None:
    file = tmp_path / "versions.csv"
    file.write_text("version\n1.10\n1.100\n")
    with Store.open(tmp_path / "store") as store:
        table = import_file(file, store, "versions")
        assert NOTE in table.snapshot().schema.field("version").metadata
        assert table.read().schema.field("version").metadata is None


@pytest.mark.slow
def test_a_name_in_a_tooltip_is_not_taken_for_html(window, settled, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("<b>bold</b>,a\u202eb\n1,2\n")
    window.open_paths([file])
    model = settled().grid.grid_model
    tips = [model.headerData(n, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) for n in (0, 1)]
    assert "&lt;b&gt;bold" in tips[0]
    assert tips[1] == "a\\u202eb\nint64"


@pytest.mark.slow
def test_names_and_messages_show_marks_that_turn_text_round(window, settled, qtbot, tmp_path: Path) -> None:
    file = tmp_path / "a\u202egnp.csv"
    file.write_text("a\nx\n")
    window.open_paths([file])
    tab = settled()
    assert titles(window) == ["a\\u202egnp.csv"] and "\u202e" not in window.windowTitle()
    tab.messages.say("a\u202e\x1b")
    assert tab.messages.label.text() == "a\\u202e␛"
    dialog = ErrorDialog(FileProblem(file, "could not be <b>read</b>"), window)
    qtbot.addWidget(dialog)
    labels = [label for label in dialog.findChildren(QLabel) if label.text()]
    assert any("a\\u202egnp.csv could not be <b>read</b>" in label.text() for label in labels)
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in labels)
    assert "\u202e" not in dialog.details


@pytest.mark.slow
def test_the_start_page_lists_recent_files_and_opens_them(window, file, memory, settled, qtbot) -> None:
    assert window.tabs.currentWidget() is window.start
    window.open_paths([file])
    settled()
    window.tabs.close_at(0)
    assert window.tabs.currentWidget() is window.start
    (row,) = window.start.recent
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    assert settled().key == (str(file),)


@pytest.mark.slow
def test_the_start_page_asks_for_the_sample_and_shows_the_benchmark(window, qtbot) -> None:
    with qtbot.waitSignal(window.sample_requested) as signal:
        window.commands["open_sample"].trigger()
    assert signal.args == [None]
    qtbot.mouseClick(window.start.tries["benchmark"], Qt.MouseButton.LeftButton)
    assert window.tabs.current is window.benchmark


def test_an_import_proposes_the_store_in_front(window, store, tmp_path, file, qtbot) -> None:
    with Store.open(tmp_path / "Shop") as shop:
        window.library.add_store(shop)
        window.store_actions.show_page(shop.path)
        qtbot.waitUntil(lambda: window.store_actions.current_page is not None)
        assert window.overlay.import_zone.title.text() == "Import into Shop"
        window.opening.import_paths([file])
        qtbot.waitUntil(lambda: window.findChild(FileImportDialog) is not None)
        dialog = window.findChild(FileImportDialog)
        assert dialog.store_box.currentText() == "Shop"
        dialog.reject()
        window.commands["new_table"].trigger()
        dialog = window.findChild(NewTableDialog)
        assert dialog.store.currentText() == "Shop"
        dialog.reject()
        window.tabs.close_at(0)
        assert window.overlay.import_zone.title.text() == f"Import into {store.name}"
