"""Files whose checksums differ: the question when they are opened, and the rows that were shown before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PySide6.QtWidgets import QLabel, QMessageBox

from lamella.core.query.expressions import col
from lamella.core.scan import file_checks
from lamella.core.scan.checksums import header_at
from lamella.core.scan.file_checks import checks
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.window.failures import OPEN_ANYWAY
from tests.core.datasets.test_left_out_columns import encrypted

ROWS = 6_000


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A file in which a number of the last row group was changed."""
    path = tmp_path / "damaged.parquet"
    rows = pa.table({"n": list(range(ROWS)), "s": [f"text {i}" for i in range(ROWS)]})
    pq.write_table(
        rows, path, row_group_size=1_000, write_page_checksum=True, compression="none", use_dictionary=False
    )
    with path.open("r+b") as file:
        at = pq.read_metadata(path).row_group(5).column(0).data_page_offset
        header = header_at(file, at, at + 1_000)
        assert header is not None
        file.seek(at + header.length + 80)
        file.write(b"\x07\x07\x07\x07")
    return path


@pytest.fixture
def as_if_large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(file_checks, "AT_ONCE_BYTES", -1)
    monkeypatch.setattr("lamella.core.datasets.parquet.AT_ONCE_BYTES", -1)
    monkeypatch.setattr("lamella.core.query.find.MOST_CACHED_ROWS", 0)
    yield
    checks.settle()


def labels(tab) -> list[str]:
    return [button.text() for button in tab.messages.buttons]


def test_a_damaged_file_is_opened_only_when_somebody_says_so(window, damaged, settled, qtbot) -> None:
    window.open_paths([damaged])
    qtbot.waitUntil(lambda: window.findChildren(QMessageBox) != [])
    box = window.findChildren(QMessageBox)[0]
    assert "damaged.parquet" in box.text()
    assert "checksum of a page differs" in box.informativeText()
    assert box.defaultButton().text() != OPEN_ANYWAY
    assert window.tabs.dataset_tab is None
    next(button for button in box.buttons() if button.text() == OPEN_ANYWAY).click()
    assert settled().status == "6,000 rows"
    window.commands["refresh"].trigger()
    assert settled().content is not None


def test_what_was_shown_of_a_damaged_file_is_withdrawn(
    window, damaged, settled, qtbot, as_if_large, monkeypatch
) -> None:
    monkeypatch.setattr(file_checks, "DELAY_SECONDS", 60.0)
    window.open_paths([damaged])
    tab = settled()
    tab.set_filter(col("n") >= 0)
    tab.set_filter(col("n") >= 0)
    assert settled().content.view.num_rows > ROWS - 10
    checks.settle()
    qtbot.waitUntil(lambda: tab.grid.grid_model.num_rows == 0, timeout=15_000)
    qtbot.waitUntil(lambda: OPEN_ANYWAY in labels(tab), timeout=15_000)
    assert tab.status == ""
    assert "damaged.parquet is damaged" in tab.messages.label.text()
    tab.messages.buttons[labels(tab).index(OPEN_ANYWAY)].click()
    assert settled().content.view.num_rows > ROWS - 10
    assert not tab.messages.isVisible()


def test_a_damaged_page_says_so_and_the_others_stay(window, damaged, settled, qtbot, as_if_large) -> None:
    window.open_paths([damaged])
    tab = settled()
    tab.grid.scroll_to_row(ROWS - 1)
    qtbot.waitUntil(lambda: OPEN_ANYWAY in labels(tab), timeout=15_000)
    tab.grid.scroll_to_row(0)
    assert tab.grid.grid_model.pages.text(0, 0) == "0"


def test_encrypted_parquet_is_explained_with_what_to_do(qtbot, window, tmp_path):
    path = encrypted(tmp_path / "secret.parquet", pa.table({"n": [1]}), ["n"])
    window.open_paths([path])
    qtbot.waitUntil(lambda: bool(window.findChildren(ErrorDialog)))
    dialog = window.findChildren(ErrorDialog)[-1]
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert "secret.parquet has no column that can be read" in texts
    assert "Column 'n': it is encrypted, and there is no way to pass keys" in texts
    assert any(text.startswith("Write the file again, unencrypted") for text in texts)
    dialog.close()
