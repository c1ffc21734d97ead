"""A column of text read as numbers or dates, from its header's menu."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

from lamella.core.arrow.arrays import from_values
from lamella.core.datasets.text.conversions import conversion, looks_like
from tests.core.datasets.workbooks import workbook

TEXTS = {
    "amount": ["1.234,50", "89,90", "k. A.", "5,5", "6,6"],
    "day": ["31.12.2025", "01.01.2026", "02.01.2026", "03.01.2026", "04.01.2026"],
    "plz": ["01067", "80331", "04109", "50667", "10115"],
    "name": ["a", "b", "c", "d", "e"],
}


@pytest.mark.parametrize(
    ("values", "goal", "said"),
    [
        (
            TEXTS["amount"],
            "numbers",
            "4 of 5 values are numbers, '1.234,50' read as 1234.5; 1 is not, and becomes null: 'k. A.'",
        ),
        (TEXTS["day"], "dates", "All 5 values are dates, '31.12.2025' read as 2025-12-31"),
        (
            ["01/02/2025", "03/04/2025"],
            "dates",
            "All 2 values are dates; '01/02/2025' is 2025-02-01 with the day first, 2025-01-02 with the "
            "month first",
        ),
        (["1/2/12", "10/22/12"], "dates", "All 2 values are dates, '1/2/12' read as 2012-01-02"),
        (["22.10.12", "1.2.12"], "dates", "All 2 values are dates, '22.10.12' read as 2012-10-22"),
        (["Oct 22, 2012"] * 2, "dates", "All 2 values are dates, 'Oct 22, 2012' read as 2012-10-22"),
        (
            ["2012/10/22 4:05 PM"] * 2,
            "dates",
            "All 2 values are dates, '2012/10/22 4:05 PM' read as 2012-10-22 16:05:00",
        ),
        (["12 €", "13,5 €", None], "numbers", "All 2 values are numbers, '12 €' read as 12"),
        (["1.234 €", "5 €"], "numbers", "All 2 values are numbers, '1.234 €' read as 1.234"),
        (["5 %", "6"], "numbers", "All 2 values are numbers, '5 %' read as 5"),
        (["1", "2"], "numbers", "All 2 values are numbers"),
        (TEXTS["plz"], None, ""),
        (TEXTS["name"], None, ""),
        ([None, None], None, ""),
        (["1.234,50", "x", "y", "z"], None, ""),
        (["12345678901234567890", "12345678901234567891"], None, ""),
    ],
)
def test_what_a_column_looks_like(values: list[str | None], goal: str | None, said: str) -> None:
    texts = from_values(values, pa.string())
    assert looks_like(texts) == goal
    if goal is not None:
        assert str(conversion([texts, texts.slice(0, 0)], goal)) == said


def test_a_value_far_down_decides_which_part_of_a_date_comes_first() -> None:
    first = from_values(["1/2/12"] * 3_000, pa.string())
    actual = conversion([first, from_values(["10/22/12"], pa.string())], "dates")
    assert (actual.failing, actual.other, actual.kind.spelling.order) == (0, None, "month-first")


def test_whole_numbers_are_integers_unless_a_fraction_comes_late() -> None:
    first, second = from_values(["1", "2"], pa.string()), from_values(["1.5", None], pa.string())
    assert conversion([first], "numbers").kind.storage_type == pa.int64()
    assert conversion([first, second], "numbers").kind.storage_type == pa.float64()


def test_whole_numbers_that_a_double_cannot_hold_become_integers_or_null() -> None:
    long = from_values(["9007199254740993", "x", "1"], pa.string())
    actual = conversion([long], "numbers")
    assert (actual.kind.storage_type, actual.failing) == (pa.int64(), 1)
    longer = from_values(["1", "2", "12345678901234567890", "9007199254740992.5"], pa.string())
    actual = conversion([longer], "numbers")
    assert (actual.kind.storage_type, actual.examples) == (pa.float64(), ("12345678901234567890",))


def entry(qtbot, window, tab, name: str) -> str:
    """The entries of the menu of the column's header."""
    column = tab.grid.grid_model.names.index(name)
    tab.grid.column_header.menu_requested.emit(column, QPoint(10, 10))
    menu = next(menu for menu in window.findChildren(QMenu) if menu.isVisible())
    (action,) = [a for a in menu.actions() if a.text() == "" and not a.isSeparator()]
    qtbot.waitUntil(lambda: "(" in action.text() and action.isVisible())
    text = action.text()
    action.trigger()
    menu.close()
    return text


def test_a_column_of_a_table_is_read_as_numbers_and_undo_brings_it_back(
    window, store, settled, qtbot
) -> None:
    table = store.create_table("sales", {**TEXTS, "n": [1, 2, 3, 4, 5]})
    window.opening.open_key((str(store.path), "sales"))
    tab = settled()
    assert entry(qtbot, window, tab, "amount") == "Read as numbers… (1 would be null)"
    qtbot.waitUntil(tab.messages.isVisible)
    assert tab.messages.label.text().startswith("amount: 4 of 5 values are numbers, '1.234,50' read as")
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: table.schema.field("amount").type == pa.float64())
    assert table.read(["amount"])["amount"].to_pylist() == [1234.5, 89.9, None, 5.5, 6.6]
    table.history.undo()
    assert table.read(["amount"])["amount"].to_pylist() == TEXTS["amount"]


def test_a_column_of_a_text_file_is_read_as_dates_in_place(window, settled, qtbot, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("d;n\n" + "".join(f"{day};1\n" for day in [*TEXTS["day"], "k. A."]))
    window.open_paths([path])
    tab = settled()
    assert tab.view.schema.field("d").type == pa.string()
    assert entry(qtbot, window, tab, "d") == "Read as dates… (1 would be null)"
    qtbot.waitUntil(lambda: bool(tab.messages.buttons))
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: tab.view.schema.field("d").type == pa.date32())
    assert "d: 1 value is not a date, and null: 'k. A.' in line 7" in tab.messages.label.text()
    assert tab.messages.isVisible() and tab.messages.buttons
    assert path.read_text().endswith("k. A.;1\n")


@pytest.mark.parametrize(
    ("order", "days"),
    [("Day first", [(2, 1), (4, 3)]), ("Month first", [(1, 2), (3, 4)])],
)
def test_which_part_of_dates_in_doubt_comes_first_is_asked(
    window, settled, qtbot, tmp_path: Path, order: str, days: list[tuple[int, int]]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("d;n\n01/02/2025;1\n03/04/2025;1\n")
    window.open_paths([path])
    tab = settled()
    assert entry(qtbot, window, tab, "d") == "Read as dates… (all convert)"
    qtbot.waitUntil(lambda: bool(tab.messages.buttons))
    assert "2025-02-01 with the day first, 2025-01-02 with the month first" in tab.messages.label.text()
    next(button for button in tab.messages.buttons if button.text() == order).click()
    qtbot.waitUntil(lambda: tab.view.schema.field("d").type == pa.date32())
    assert tab.dataset.read(["d"])["d"].to_pylist() == [dt.date(2025, *day) for day in days]


def test_a_chart_of_texts_that_look_like_dates_offers_to_read_them(window, store, settled, qtbot) -> None:
    days = ["1/2/12", "10/22/12", "10/23/12"]
    store.create_table("visits", {"n": [1, 2, 3], "day": days, "city": ["Rome", "Oslo", "Bern"]})
    window.opening.open_key((str(store.path), "visits"))
    tab = settled()
    tab.charting.draw(["city"])
    qtbot.waitUntil(lambda: tab.charting.view.data is not None)
    tab.charting.draw(["day"])
    qtbot.waitUntil(lambda: [button.text() for button in tab.messages.buttons] == ["Read as dates…"])
    assert "day is text that looks like dates" in tab.messages.label.text()
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: [button.text() for button in tab.messages.buttons] == ["Read as dates"])
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: tab.view.schema.field("day").type == pa.date32())
    qtbot.waitUntil(lambda: bool(tab.charting.view.data) and tab.charting.view.data.x.form == "moments")


def a_workbook(folder: Path) -> Path:
    rows = [["Statement"], ["day", "amount"], *zip(TEXTS["day"], TEXTS["amount"], strict=True)]
    return workbook(folder / "bank.xlsx", {"May": rows})


def a_database(folder: Path) -> Path:
    path = folder / "bank.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookings (day TEXT, amount)")
        rows = zip(TEXTS["day"], TEXTS["amount"], strict=True)
        connection.executemany("INSERT INTO bookings VALUES (?, ?)", rows)
    return path


def a_folder_of_texts(folder: Path) -> Path:
    (folder / "bank").mkdir()
    for number, (day, amount) in enumerate(zip(TEXTS["day"], TEXTS["amount"], strict=True)):
        sign = ";" if number else "\t"
        (folder / "bank" / f"{number}.csv").write_text(f"day{sign}amount\n{day}{sign}{amount}\n")
    return folder / "bank"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "place"),
    [(a_workbook, "row 5"), (a_database, "row 3"), (a_folder_of_texts, "line 2 of 2.csv")],
)
def test_columns_of_other_files_are_read_in_place(
    window, settled, qtbot, tmp_path: Path, make: Callable[[Path], Path], place: str
) -> None:
    path = make(tmp_path)
    window.open_paths([path])
    tab = settled()
    if tab.view.schema.field("day").type == pa.string():  # a text is read so as it is
        assert entry(qtbot, window, tab, "day") == "Read as dates… (all convert)"
        qtbot.waitUntil(lambda: bool(tab.messages.buttons))
        tab.messages.buttons[0].click()
        qtbot.waitUntil(lambda: tab.view.schema.field("day").type == pa.date32())
    assert entry(qtbot, window, tab, "amount") == "Read as numbers… (1 would be null)"
    qtbot.waitUntil(lambda: any(b.text() == "Read as numbers" for b in tab.messages.buttons))
    tab.messages.buttons[0].click()
    qtbot.waitUntil(lambda: tab.view.schema.field("amount").type == pa.float64())
    assert f"amount: 1 value is not a number, and null: 'k. A.' in {place}" in tab.messages.label.text()
    assert tab.messages.isVisible()
    rows = tab.dataset.read()
    assert rows["amount"].to_pylist() == [1234.5, 89.9, None, 5.5, 6.6]
    assert rows["day"].to_pylist()[0] == dt.date(2025, 12, 31)
    window.commands["close_tab"].trigger()
    window.open_paths([path])
    again = settled()
    assert again.view.schema.types == rows.schema.types


@pytest.mark.slow
def test_a_column_that_looks_like_nothing_has_no_entry(window, store, settled, qtbot) -> None:
    store.create_table("sales", TEXTS)
    window.opening.open_key((str(store.path), "sales"))
    tab = settled()
    with qtbot.waitSignal(
        window.tasks.finished, check_params_cb=lambda handle: handle.text == "Looking at plz"
    ):
        tab.grid.column_header.menu_requested.emit(tab.grid.grid_model.names.index("plz"), QPoint(10, 10))
    menu = next(menu for menu in window.findChildren(QMenu) if menu.isVisible())
    assert not [action for action in menu.actions() if action.text().startswith("Read as")]
    menu.close()
