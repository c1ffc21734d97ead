"""The walks through the code that ARCHITECTURE.md describes are the ones that are taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from lamella.core.filters import Predicate
from tests.walk import Walk

PAGE = (Path(__file__).resolve().parents[3] / "ARCHITECTURE.md").read_text(encoding="utf8")


@pytest.fixture
def walk() -> Iterator[Walk]:
    with Walk().installed() as made:
        yield made


def modules_on_page(title: str) -> list[str]:
    """The modules that a walk names, in their order."""
    section = PAGE.partition(f"### {title}\n")[2].partition("\n#")[0]
    return re.findall(r"^\d+\. `([\w.]+)`", section, re.MULTILINE)


def check(title: str, taken: list[str]) -> None:
    """Those on the page are called in that order. Others may come between: the window's threads overlap."""
    print(f"walk: {title}: {len(set(taken))} files")
    described = modules_on_page(title)
    assert described and [module for module in described if module not in taken] == []
    calls = iter(taken)
    assert [module for module in described if module not in calls] == [], f"not in this order: {described}"


def test_a_csv_file_is_opened(walk: Walk, window, settled, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b\n" + "".join(f"{n},row {n}\n" for n in range(1000)))
    walk.begin()
    window.open_paths([file])
    settled()
    check("A CSV file is opened", walk.end())


def test_a_cell_is_edited(walk: Walk, table_tab, go_to, settled) -> None:
    go_to(table_tab, 3, "delay")
    walk.begin()
    QTest.keyClicks(table_tab.grid, "7")
    QTest.keyClick(table_tab.editing.editor, Qt.Key.Key_Return)
    settled()
    check("A cell is edited", walk.end())


def test_a_condition_is_built(walk: Walk, table_tab, settled) -> None:
    walk.begin()
    table_tab.filter_bar.add_filter(Predicate("delay", "gt", (100,)))
    table_tab.filter_bar.flush()
    settled()
    check("A condition is built", walk.end())
