"""Column cards are between the header and the rows, follow the filter, and create filters."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from lamella import col
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query import cards as core_cards
from lamella.core.query.steps import Compute
from lamella.core.scan.snapshot import SortKey
from lamella.ui import theme
from lamella.ui.cards import loader as loading
from lamella.ui.cards import strip as strips
from lamella.ui.cards.strip import CardStrip
from lamella.ui.cards.words import texts_of

CONTROL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.AltModifier,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("column_cards")


@pytest.fixture
def wait_for_cards(qtbot, settled):
    """The current tab, once its cards are shown."""

    def wait():
        tab = settled()
        qtbot.waitUntil(lambda: tab.grid.cards.loader.is_settled and not tab.grid.cards._soon.isActive())
        return tab

    return wait


def column_of(tab, name: str) -> int:
    return tab.grid.grid_model.names.index(name)


def bar_point(tab, name: str, place: int) -> QPoint:
    strip: CardStrip = tab.grid.cards
    column = column_of(tab, name)
    rect = strip.card_rect(column)
    bar = strip.card_painter.places(rect.width()).bar(place, len(strip.bars_of(column)))
    return rect.topLeft() + bar.center()


def row_point(tab, name: str, place: int) -> QPoint:
    rect = tab.grid.cards.card_rect(column_of(tab, name))
    return rect.topLeft() + tab.grid.cards.card_painter.places(rect.width()).row(place).center()


def click(tab, point: QPoint, modifier=Qt.KeyboardModifier.NoModifier) -> None:
    QTest.mouseClick(tab.grid.cards, Qt.MouseButton.LeftButton, modifier, point)


def drag(tab, start: QPoint, end: QPoint) -> None:
    QTest.mousePress(tab.grid.cards, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(tab.grid.cards, (start + end) / 2)
    QTest.mouseMove(tab.grid.cards, end)


def release(tab, point: QPoint) -> None:
    QTest.mouseRelease(tab.grid.cards, Qt.MouseButton.LeftButton, pos=point)


def test_cards_stand_between_header_and_rows(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    grid, cards = tab.grid, tab.grid.cards
    header, view = grid.column_header.geometry(), grid.viewport().geometry()
    assert cards.isVisible() and cards.height() == cards.wanted_height >= 64
    assert (header.bottom() + 1, cards.geometry().bottom() + 1) == (cards.y(), view.top())
    assert (cards.x(), cards.width()) == (view.x(), view.width()) == (header.x(), header.width())
    assert grid.row_header.y() == view.top()
    for column in range(3):
        assert cards.card_rect(column).left() == grid.horizontalHeader().sectionViewportPosition(column)
    cards.set_shown(False)
    assert not cards.isVisible()
    assert grid.viewport().geometry().top() == grid.column_header.geometry().bottom() + 1
    cards.set_shown(True)
    assert grid.viewport().geometry() == view


@pytest.mark.slow
def test_cards_follow_columns(file_tab, wait_for_cards, qtbot) -> None:
    tab = wait_for_cards()
    grid, header = tab.grid, tab.grid.column_header
    header.resizeSection(0, 1500)
    qtbot.waitUntil(lambda: grid.horizontalScrollBar().maximum() > 120)
    grid.horizontalScrollBar().setValue(120)
    assert grid.cards.card_rect(0).left() == -120 and grid.cards.card_rect(1).left() == 1380
    header.moveSection(0, 2)
    assert grid.cards.column_at(5) == header.logicalIndexAt(5)
    grid.setColumnHidden(column_of(tab, "carrier"), True)
    grid.horizontalScrollBar().setValue(0)
    assert grid.cards.column_at(5) == column_of(tab, "note")


def test_a_card_has_figures_of_all_rows_and_of_those_filtered(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    face = tab.grid.cards.loader.face("delay")
    assert (
        face.card.figures.rows,
        face.card.figures.min,
        face.card.figures.max,
        face.card.matching_figures,
    ) == (1000, -50, 449, None)
    assert face.texts.captions[0] == "−50 – 449"
    assert tab.grid.cards.loader.face("carrier").texts.missing == "25% null"
    tab.set_filter(col("delay") >= 400)
    tab = wait_for_cards()
    face = tab.grid.cards.loader.face("delay")
    assert (face.card.figures.rows, face.card.matching_figures.rows, face.texts.captions[0]) == (
        1000,
        100,
        "400 – 449",
    )


@pytest.mark.slow
def test_columns_that_are_computed_leave_the_others_their_cards_of_all_rows(file_tab, wait_for_cards) -> None:
    """Computed columns have cards of all rows, too; one that replaces a column has a card of its values."""
    file_tab.set_filter(col("delay") >= 400)
    wait_for_cards().add_step(Compute((("hours", col("delay") / 100), ("carrier", col("delay") % 10))))
    tab = wait_for_cards()
    cards = {name: tab.grid.cards.loader.face(name).card for name in ("delay", "hours", "carrier")}
    assert [(card.figures.rows, card.matching_figures.rows) for card in cards.values()] == [(1000, 100)] * 3
    assert (
        cards["hours"].figures.min,
        cards["hours"].matching_figures.min,
        cards["hours"].matching_figures.max,
    ) == (-0.5, 4.0, 4.49)
    assert (cards["carrier"].matching_figures.min, cards["carrier"].matching_figures.max) == (0, 9)
    tab.add_step(Compute((("hours", col("delay") / 10),)))
    assert wait_for_cards().grid.cards.loader.face("hours").card.matching_figures.max == 44.9


@pytest.mark.slow
def test_a_computed_column_in_the_place_of_one_that_is_filtered_has_a_card(file_tab, wait_for_cards) -> None:
    file_tab.set_filter(col("delay") >= 400)
    wait_for_cards().add_step(Compute((("delay", col("delay") * 2),)))
    card = wait_for_cards().grid.cards.loader.face("delay").card
    assert (card.figures.rows, card.figures.min, card.figures.max, card.matching_figures) == (
        100,
        800,
        898,
        None,
    )


@pytest.mark.slow
def test_the_accent_is_for_filtered_rows(file_tab, wait_for_cards) -> None:
    def colors() -> set[str]:
        image = tab.grid.cards.grab().toImage()
        return {
            image.pixelColor(x, y).name() for x in range(image.width()) for y in range(0, image.height(), 2)
        }

    tab = wait_for_cards()
    tab.grid.setColumnWidth(column_of(tab, "carrier"), 200)
    theme.current().set_mode("light")
    grey = theme.current().color("card").name()
    met = QColor(theme.current().color("card_met"))
    assert grey in colors() and met.name() not in colors()
    tab.set_filter(col("delay") >= 400)
    tab = wait_for_cards()
    assert met.name() in colors()  # inside the bars of values


@pytest.mark.slow
def test_brushing_bars_filters_a_range_and_again_another(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    bars = tab.grid.cards.bars_of(column_of(tab, "delay"))
    drag(tab, bar_point(tab, "delay", 4), bar_point(tab, "delay", 2))
    assert tab.grid.cards.note_of(0).startswith(str(bars.edges[1]))
    release(tab, bar_point(tab, "delay", 2))
    tab = wait_for_cards()
    assert tab.where == col("delay").between(bars.edges[1], bars.edges[4] - 1)
    assert tab.view.num_rows == sum(bars.counts[2:5])
    bars = tab.grid.cards.bars_of(column_of(tab, "delay"))
    click(tab, bar_point(tab, "delay", 0))
    tab = wait_for_cards()
    assert tab.where == (col("delay") <= bars.edges[0] - 1)
    last = len(tab.grid.cards.bars_of(column_of(tab, "delay"))) - 1
    drag(tab, bar_point(tab, "delay", last), bar_point(tab, "delay", last) + QPoint(500, 0))
    release(tab, bar_point(tab, "delay", last))
    assert str(wait_for_cards().where).count("gte") == 1


def test_escape_ends_a_brush(file_tab, wait_for_cards, qtbot) -> None:
    tab = wait_for_cards()
    with qtbot.assertNotEmitted(tab.grid.cards.filter_requested):
        drag(tab, bar_point(tab, "delay", 2), bar_point(tab, "delay", 5))
        QTest.keyClick(tab.grid.cards, Qt.Key.Key_Escape)
        release(tab, bar_point(tab, "delay", 5))
    assert tab.grid.cards.note_of(0) == ""


def test_a_value_and_what_is_null_filter_by_a_click(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    assert [value.value for value in tab.grid.cards.card_of(1).top] == ["", "AA", "UA"]
    click(tab, row_point(tab, "carrier", 1))
    tab = wait_for_cards()
    assert tab.where == (col("carrier") == "AA") and tab.view.num_rows == 250
    tab.set_filter(None)
    tab = wait_for_cards()
    rect = tab.grid.cards.card_rect(1)
    missing = tab.grid.cards.card_painter.missing_rect(tab.grid.cards.face_of(1), rect.width())
    click(tab, rect.topLeft() + missing.center())
    assert wait_for_cards().where == col("carrier").is_null()


@pytest.mark.slow
def test_control_click_makes_a_list(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    for place in (1, 0, 2, 0):
        click(tab, row_point(tab, "carrier", place), CONTROL)
    assert tab.where is None
    QTest.keyRelease(tab.grid.cards, Qt.Key.Key_Control)
    tab = wait_for_cards()
    assert tab.where == col("carrier").is_in(["AA", "UA"])
    tab.set_filter((col("carrier") == "AA") & (col("delay") > 0))
    tab = wait_for_cards()
    click(tab, row_point(tab, "carrier", 0), CONTROL)
    QTest.keyRelease(tab.grid.cards, Qt.Key.Key_Control)
    assert wait_for_cards().where == (col("delay") > 0) & (col("carrier") == "AA")


def test_the_keyboard_reaches_cards_and_filters(file_tab, wait_for_cards, go_to) -> None:
    tab = wait_for_cards()
    go_to(tab, 5, "delay")
    cards = tab.grid.cards
    QTest.keyClick(tab.grid, Qt.Key.Key_Up, ALT)
    assert cards.hasFocus() and "Card of delay: " in cards.accessibleName()
    assert "1,000 rows" in cards.accessibleName()
    QTest.keyClick(cards, Qt.Key.Key_Down)
    QTest.keyClick(cards, Qt.Key.Key_Down, SHIFT)
    bars = cards.bars_of(0)
    assert f"below {bars.edges[1]}: {sum(bars.counts[:2])} rows" in cards.accessibleName()
    QTest.keyClick(cards, Qt.Key.Key_Escape)
    QTest.keyClick(cards, Qt.Key.Key_Right)
    QTest.keyClick(cards, Qt.Key.Key_Down)
    assert "Card of carrier: empty: 250 rows, 25%" in cards.accessibleName()
    QTest.keyClick(cards, Qt.Key.Key_Return)
    tab = wait_for_cards()
    assert tab.where == (col("carrier") == "")
    QTest.keyClick(cards, Qt.Key.Key_Down, ALT)
    assert tab.grid.hasFocus()


@pytest.mark.slow
def test_a_tip_has_exact_counts(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    cards, bars = tab.grid.cards, tab.grid.cards.bars_of(0)
    tip = cards.tip(0, cards.mark_at(bar_point(tab, "delay", 1)))
    assert tip.splitlines()[0] == f"{bars.edges[0]} – {bars.edges[1] - 1}: {bars.counts[1]} rows".replace(
        "-", "−"
    )
    assert "delay · int32" in tip and "1,000 rows · ≈ 500 different values" in tip
    assert cards.tip(1, cards.mark_at(row_point(tab, "carrier", 1))).startswith("AA: 250 rows, 25%\n")


@pytest.mark.slow
def test_a_sample_comes_first_where_there_are_many_rows(
    window, file: Path, wait_for_cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (loading, strips):
        monkeypatch.setattr(module, "LARGE_ROWS", 100)
    monkeypatch.setattr(core_cards, "SAMPLE_BLOCKS", 2)
    monkeypatch.setattr(core_cards, "BLOCK_ROWS", 10)
    begun: list[bool] = []
    ask = loading.CardLoader._ask
    monkeypatch.setattr(
        loading.CardLoader, "_ask", lambda self, request: (begun.append(request.sampled), ask(self, request))
    )
    window.open_paths([file])
    tab = wait_for_cards()
    assert begun == [True, True, False, True, False, False], "one exact card is begun beside the samples"
    assert tab.grid.cards.loader.face("delay").card.figures.rows == 1000
    sampled = core_cards.cached_card(tab.view.snapshot, "delay", sampled=True)
    assert "From a sample of 20 rows" in texts_of(sampled).summary


def test_after_an_edit_exact_cards_stay_until_the_next_exact_ones(
    window, table, table_tab, wait_for_cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (loading, strips):
        monkeypatch.setattr(module, "LARGE_ROWS", 100)
    tab = wait_for_cards()
    begun: list[bool] = []
    ask = loading.CardLoader._ask
    monkeypatch.setattr(
        loading.CardLoader, "_ask", lambda self, request: (begun.append(request.sampled), ask(self, request))
    )
    table.update([{"_id": 0, "delay": 99_999}])
    tab.reload()
    wait_for_cards()
    assert begun and not any(begun)
    assert tab.grid.cards.loader.face("delay").card.figures.max == 99_999


def test_a_card_that_cannot_be_made_says_why(window, file: Path, wait_for_cards, monkeypatch) -> None:
    card_of = loading.card_of

    def broken(snapshot, name, *arguments):
        if name == "carrier":
            raise LamellaError("carrier cannot be read")
        return card_of(snapshot, name, *arguments)

    monkeypatch.setattr(loading, "card_of", broken)
    window.open_paths([file])
    tab = wait_for_cards()
    assert tab.grid.cards.tip(1, None) == "carrier cannot be read."
    assert tab.grid.cards.loader.face("note").card is not None
    tab.grid.cards.grab()


@pytest.fixture
def wide_file(tmp_path: Path) -> Path:
    pq.write_table(pa.table({f"c{n}": [n, n + 1, None] for n in range(500)}), tmp_path / "wide.parquet")
    return tmp_path / "wide.parquet"


@pytest.mark.slow
def test_two_at_a_time_and_none_that_was_scrolled_away(
    window, wide_file: Path, settled, qtbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    cancelled: list[str] = []
    go_on = threading.Event()

    def slow(snapshot, name: str, where, job: Job, sampled: bool):
        begun.append(name)
        while not go_on.wait(0.005):
            if job.cancelled:
                cancelled.append(name)
            job.check()
        return card_of(snapshot, name, where, job, sampled)

    card_of = loading.card_of
    monkeypatch.setattr(loading, "card_of", slow)
    window.open_paths([wide_file])
    tab = settled()
    qtbot.waitUntil(lambda: len(begun) == 2)
    assert begun == ["c0", "c1"]
    bar = tab.grid.horizontalScrollBar()
    bar.setValue(bar.maximum() // 2)
    qtbot.waitUntil(lambda: sorted(cancelled) == ["c0", "c1"] and len(begun) == 4)
    names = tab.grid.grid_model.names
    visible = [names[c] for c in tab.grid.columns_between(0, tab.grid.viewport().width() - 1)]
    assert begun[2:] == visible[:2]
    go_on.set()
    qtbot.waitUntil(lambda: tab.grid.cards.loader.is_settled)
    assert set(begun[2:]) <= {names[c] for c in tab.grid.visible_columns()}


def test_cards_leave_the_machine_to_rows_that_are_read(
    file_tab, settled, wait_for_cards, monkeypatch: pytest.MonkeyPatch, qtbot
) -> None:
    begun, card = threading.Event(), loading.card_of

    def endless(snapshot, name, where, job: Job, sampled):
        begun.set()
        while True:
            job.check()

    monkeypatch.setattr(loading, "card_of", endless)
    file_tab.set_filter(col("delay") > 10)
    tab = settled()
    qtbot.waitUntil(lambda: begun.is_set() and tab.grid.cards.loader.running)  # other rows may interrupt them
    tab.set_sort([SortKey("delay")])
    assert not tab.grid.cards.loader.running
    tab.grid.cards.follow_columns()  # and nothing else starts them
    monkeypatch.setattr(loading, "card_of", card)
    wait_for_cards()
    assert tab.grid.cards.loader.num_exact > 0 and tab.sort == (SortKey("delay"),)


@pytest.mark.slow
def test_cards_go_on_where_rows_could_not_be_read(
    file_tab, wait_for_cards, monkeypatch: pytest.MonkeyPatch, qtbot
) -> None:
    wait_for_cards()
    cards = file_tab.grid.cards
    cards.wait_for_rows()
    assert cards.loader.num_exact == 0
    file_tab.loader.failed.emit(LamellaError("The disk is gone"))
    qtbot.waitUntil(lambda: cards.loader.num_exact > 0)


@pytest.mark.slow
def test_rows_in_another_order_keep_their_cards(
    file_tab, wait_for_cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = wait_for_cards()
    before = tab.grid.cards.loader.face("delay")
    monkeypatch.setattr(loading, "card_of", None)
    tab.set_sort([SortKey("delay", True)])
    assert wait_for_cards().grid.cards.loader.face("delay") is before


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("columns", [{}, {"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}])
def test_no_rows_or_no_columns_have_no_figures(window, tmp_path: Path, wait_for_cards, columns) -> None:
    pq.write_table(pa.table(columns), tmp_path / "none.parquet")
    window.open_paths([tmp_path / "none.parquet"])
    cards = wait_for_cards().grid.cards
    cards.grab()
    QTest.keyClick(wait_for_cards().grid, Qt.Key.Key_Up, ALT)
    QTest.keyClick(cards, Qt.Key.Key_Down)
    QTest.keyClick(cards, Qt.Key.Key_Return)
    QTest.mouseClick(cards, Qt.MouseButton.LeftButton, pos=QPoint(20, 30))
    assert [cards.loader.face(name).texts.captions for name in columns] == [("no rows",)] * len(columns)


@pytest.mark.slow
def test_cards_grow_with_the_text(file_tab, wait_for_cards) -> None:
    tab = wait_for_cards()
    before = tab.grid.cards.height()
    theme.current().set_text_scale(1.5)
    try:
        cards = tab.grid.cards
        assert cards.height() == cards.wanted_height > 1.3 * before
        assert cards.geometry().bottom() + 1 == tab.grid.viewport().y()
    finally:
        theme.current().set_text_scale(1.0)


@pytest.mark.slow
def test_changed_rows_have_new_cards(window, table_tab, wait_for_cards, cell_text) -> None:
    tab = wait_for_cards()
    assert tab.grid.cards.loader.face("delay").card.figures.max == 449
    tab.table.update([{"_id": 1, "delay": 5000}])
    tab.reload()
    assert wait_for_cards().grid.cards.loader.face("delay").card.figures.max == 5000
