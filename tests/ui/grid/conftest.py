from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamella.ui.grid.model import GridModel
from lamella.ui.grid.view import GridView
from lamella.ui.tasks import Tasks


@pytest.fixture
def tasks(qapp) -> Iterator[Tasks]:
    queue = Tasks()
    errors: list[Exception] = []
    queue.failed.connect(errors.append)
    yield queue
    queue.shutdown()
    assert errors == []


@pytest.fixture
def grid(qtbot, tasks) -> GridView:
    widget = GridView(tasks)
    qtbot.addWidget(widget)
    widget.resize(800, 400)
    widget.show()
    return widget


@pytest.fixture
def small_window(qtbot, tasks) -> GridView:
    """A grid whose window holds 1,000 rows, so that it has to move soon."""
    model = GridModel(tasks, window=1000)
    widget = GridView(tasks, model=model)
    model.setParent(widget)
    qtbot.addWidget(widget)
    widget.resize(800, 400)
    widget.show()
    return widget


@pytest.fixture
def settle(qtbot):
    """Waits until what is on screen has been read."""

    def wait(grid: GridView) -> None:
        qtbot.waitUntil(lambda: grid.grid_model.pages.is_settled)

    return wait
