"""What every test of the window may need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from lamella.ui.tasks import Tasks


@pytest.fixture
def tasks(qapp: QApplication) -> Iterator[Tasks]:
    made = Tasks()
    yield made
    made.shutdown()


@pytest.fixture(scope="session", autouse=True)
def cleared_clipboard(qapp: QApplication) -> Iterator[None]:
    """The offscreen platform would free what was copied after Python has ended, which crashes PySide."""
    yield
    QGuiApplication.clipboard().clear()
