"""What every test of the window may need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from lamella.ui.tasks import Tasks


@pytest.fixture
def tasks(qapp: QApplication) -> Iterator[Tasks]:
    made = Tasks()
    yield made
    made.shutdown()
