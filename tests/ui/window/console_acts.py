"""What tests of the SQL console do in it, and read from it."""

from __future__ import annotations

from lamella.ui.sql.console import SqlConsole
from lamella.ui.sql.result_tab import ResultTab


def done(qtbot, console: SqlConsole) -> None:
    def ready() -> bool:
        tabs = [page for page in console.results.pages if isinstance(page, ResultTab)]
        are_loaded = all(tab.content is not None and not tab.loader.running for tab in tabs)
        return not console.runner.running and not console.tasks.running and are_loaded

    qtbot.waitUntil(ready, timeout=15_000)


def rows(console: SqlConsole, place: int | None = None) -> list[dict]:
    page = console.results.current if place is None else console.results.pages[place]
    assert isinstance(page, ResultTab)
    return page.view.page(0, 10).to_pylist()


def message(console: SqlConsole) -> str:
    return "" if console.results.messages.isHidden() else console.results.messages.label.text()


def press(console: SqlConsole, label: str) -> None:
    next(b for b in console.results.messages.buttons if b.text() == label).click()
