"""Stores as a whole: their page, upkeep that says first what it frees, backups and moves."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from lamella import Store
from lamella.core.jobs import Job, Progress
from lamella.core.phrases import size_text
from lamella.core.store.store import StoreMaintenance
from lamella.ui import theme
from lamella.ui.dialogs.error_dialog import ErrorDialog
from lamella.ui.dialogs.new_table import NewTableDialog
from lamella.ui.main_window import MainWindow
from lamella.ui.stores.new_store import NewStoreDialog
from lamella.ui.stores.sizes_tree import HISTORY, NAME, NOW
from lamella.ui.stores.store_dialogs import BackupDialog, MoveDialog, RestoreDialog
from lamella.ui.stores.store_page import StorePage
from lamella.ui.stores.upkeep_dialogs import (
    MOST_PLANS,
    CompactDialog,
    ExpireDialog,
    SalvageDialog,
    VacuumDialog,
    VerifyDialog,
)
from lamella.ui.window.dataset_tab import DatasetTab
from lamella.ui.window.store_actions import BACKUP_RUNS
from tests.mounts import filled, seen_read_only, small_disk
from tests.property.damage import flip_bit
from tests.ui.fake_memory import FakeMemory
from tests.ui.window.store_orders import ROWS, carry_out, create_orders, press

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.qt_log_ignore("does not support (raise|grabbing|propagateSizeHints)", extend=True)


@pytest.fixture
def orders(store: Store) -> None:
    create_orders(store)


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow, orders: None) -> StorePage:
    window.commands["store_page"].trigger()
    qtbot.waitUntil(lambda: window.store_actions.current_page is not None)
    store_page = window.store_actions.current_page
    assert store_page is not None
    qtbot.waitUntil(lambda: store_page.sizes is not None and not store_page.is_busy)
    return store_page


def test_the_page_shows_sizes_by_table_column_and_version(
    qtbot: QtBot, page: StorePage, window: MainWindow, store: Store
) -> None:
    tree = page.tree
    assert [tree.topLevelItem(n).text(NAME) for n in range(2)] == ["orders", "kinds"]
    orders = tree.topLevelItem(0)
    assert "KB" in orders.text(NOW) and "KB" in orders.text(HISTORY)
    columns, versions = orders.child(0), orders.child(1)
    assert {columns.child(n).text(NAME) for n in range(3)} == {"_id", "n", "text"}
    assert versions.text(NAME) == "Versions · 3" and versions.child(0).text(NAME).startswith("3 · ")
    assert "frees" in versions.child(2).text(HISTORY)
    assert str(store.path) == page.path.text() and "format 3" in page.facts.text()
    assert "never verified" in page.facts.text() and "Earlier versions take" in page.freed_label.text()
    assert window.status.text.text() == page.status
    for line in (orders, columns):
        line.setExpanded(True)
    page.measure()
    qtbot.waitUntil(lambda: not page.is_busy)
    orders = tree.topLevelItem(0)
    assert orders.isExpanded() and orders.child(0).isExpanded() and not orders.child(1).isExpanded()
    tree.setCurrentItem(orders)
    tree.opened.emit("kinds")


def test_opened_lines_stay_open_and_sizes_stay_in_sight_in_another_look(
    qtbot: QtBot, page: StorePage, window: MainWindow
) -> None:
    tree, look = page.tree, theme.current()
    tree.topLevelItem(0).setExpanded(True)
    tree.topLevelItem(0).child(1).setExpanded(True)
    look.set_mode("dark" if not look.dark else "light")
    look.set_text_scale(1.5)
    orders = tree.topLevelItem(0)
    opened = [orders.isExpanded(), orders.child(0).isExpanded(), orders.child(1).isExpanded()]
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: tree.horizontalScrollBar().maximum() == 0)
    look.set_text_scale(1.0)
    assert opened == [True, False, True]


def test_compacting_says_first_what_it_does_and_then_what_became_of_the_same_files(
    qtbot: QtBot, page: StorePage, store: Store
) -> None:
    store["orders"].update([{"_id": row, "n": 0} for row in range(0, ROWS, 3)])
    store["orders"].maintenance.expire(keep_versions=1)
    store.maintenance.vacuum()
    dialog = press(qtbot, page, "compact", CompactDialog)
    data, changes = [next(store.path.glob(f"data/orders-*/*{kind}")) for kind in (".parquet", ".cells")]
    size = size_text(data.stat().st_size + changes.stat().st_size)
    assert f"• orders: 2 files of {size} are rewritten" in dialog.about.text().replace("\u200b", "")
    assert dialog.focusWidget() is dialog.accept_button  # so that Enter begins, and does not cancel
    assert dialog.accept_button.text() in ("Compact 1 table", "Compact 2 tables")
    assert store["orders"].maintenance.compaction_plan().is_needed
    assert f"orders: 2 files of {size} became 1 file of " in carry_out(qtbot, dialog)
    assert not store["orders"].maintenance.compaction_plan().is_needed
    again = press(qtbot, page, "compact", CompactDialog)
    assert "Nothing to do" in again.about.text() and not again.accept_button.isEnabled()
    again.reject()


def test_compacting_many_tables_shows_its_progress_and_fits_on_the_screen(
    qtbot: QtBot, page: StorePage, store: Store
) -> None:
    for number in range(40):
        store.create_table(f"small {number}", {"n": [1]})
    dialog = press(qtbot, page, "compact", CompactDialog)
    reports = list[Progress]()
    done = dialog.work()(Job(reports.append))
    first = reports[0]
    assert (first.done, first.text.partition(": ")[2]) == (0, f"1 of {len(done.compactions)} tables")
    outcome = dialog.outcome_of(done).splitlines()
    assert len(outcome) == MOST_PLANS + 2 and outcome[0].startswith("• orders: ")
    assert outcome[-2] == f"• and {len(done.compactions) - MOST_PLANS} more tables"
    dialog.reject()


def test_versions_expire_and_their_room_is_freed(qtbot: QtBot, page: StorePage, store: Store) -> None:
    dialog = press(qtbot, page, "expire", ExpireDialog)
    qtbot.waitUntil(lambda: dialog.accept_button.text() == "Expire 1 version" and dialog.keep.value() == 2)  # type: ignore[attr-defined]
    assert "This cannot be undone" in dialog.about.text()
    qtbot.waitUntil(dialog.keep.hasFocus)  # type: ignore[attr-defined]
    planned = store["orders"].maintenance.expire(keep_versions=2, dry_run=True)
    assert planned.bytes > 0
    qtbot.keyClick(dialog.keep, Qt.Key.Key_Return)  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: dialog.outcome.isVisible() and not dialog.is_working)
    text = dialog.outcome.text()
    dialog.reject()
    assert text.startswith("Expired versions: 1.") and "Freed " in text
    assert [commit.version for commit in store["orders"].history.commits()] == [2, 3]


def test_a_vacuum_says_what_it_would_free(qtbot: QtBot, page: StorePage, store: Store) -> None:
    store.maintenance.vacuum()
    nothing = press(qtbot, page, "vacuum", VacuumDialog)
    assert "There is nothing to remove" in nothing.about.text() and not nothing.accept_button.isEnabled()
    nothing.reject()
    stray = next((store.path / "data").glob("orders-*")) / f"{'0' * 32}.parquet"
    stray.write_bytes(b"x" * 5_000)
    dialog = press(qtbot, page, "vacuum", VacuumDialog)
    assert dialog.accept_button.text() == "Free 5 KB" and stray.exists()
    assert carry_out(qtbot, dialog) == "Freed 5 KB."
    assert not stray.exists()


def test_a_vacuum_that_is_stopped_says_so_and_offers_the_rest(
    qtbot: QtBot, page: StorePage, window: MainWindow, store: Store
) -> None:
    store["orders"].maintenance.expire(keep_versions=1)
    dialog = press(qtbot, page, "vacuum", VacuumDialog)
    offer = dialog.accept_button.text()
    writer = threading.Event()
    window.tasks.write(lambda job: writer.wait())
    dialog.accept_button.click()
    with qtbot.waitSignal(dialog.stopped_work):
        dialog.cancel_button.click()
        writer.set()
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    assert offer.startswith("Free ") and dialog.accept_button.text() == offer
    assert dialog.reason.text().startswith("Stopped; files that are already removed")
    assert carry_out(qtbot, dialog) == offer.replace("Free", "Freed") + "."


def test_versions_that_have_expired_are_reported_although_the_vacuum_was_stopped(
    qtbot: QtBot, page: StorePage, store: Store
) -> None:
    dialog = press(qtbot, page, "expire", ExpireDialog)
    qtbot.waitUntil(dialog.accept_button.isEnabled)

    def stop(progress: Progress) -> None:
        if progress.text.endswith("files"):
            job.cancel()

    job = Job(stop)
    done = dialog.work()(job)
    assert (
        dialog.outcome_of(done) == "Expired versions: 1. The vacuum was stopped; another one frees the rest."
    )
    dialog.reject()


def test_verifying_lists_what_is_damaged_and_offers_a_way_out(
    qtbot: QtBot, page: StorePage, store: Store, memory: FakeMemory
) -> None:
    well = press(qtbot, page, "verify", VerifyDialog)
    assert "All is well: 2 tables" in carry_out(qtbot, well)
    assert "all was well" in page.facts.text()
    file = next((store.path / "data").glob("orders-*/*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    (file.parent / f"{'0' * 32}.parquet").write_bytes(b"x")
    dialog = press(qtbot, page, "verify", VerifyDialog)
    qtbot.mouseClick(dialog.accept_button, LEFT)
    qtbot.waitUntil(dialog.outcome.isVisible)
    assert dialog.problems.count() == 2  # type: ignore[attr-defined]
    assert "restore a backup" in dialog.outcome.text() and "Vacuum removes files" in dialog.outcome.text()
    buttons = {button.text(): button for button in dialog.findChildren(QPushButton)}
    qtbot.mouseClick(buttons["Restore a backup…"], LEFT)
    qtbot.waitUntil(lambda: bool(page.window().findChildren(RestoreDialog)))
    page.window().findChildren(RestoreDialog)[-1].reject()
    assert "2 problems" in page.facts.text()


def test_the_readable_rows_of_a_damaged_table_are_copied_and_the_others_are_counted(
    qtbot: QtBot, page: StorePage, store: Store, window: MainWindow
) -> None:
    orders = store["orders"]
    orders.maintenance.compact(ROWS // 4)
    orders.maintenance.expire(keep_versions=1)
    store.maintenance.vacuum()
    (file,) = (store.path / "data").glob("orders-*/*.parquet")
    flip_bit(file, 2_000)
    verification = press(qtbot, page, "verify", VerifyDialog)
    qtbot.mouseClick(verification.accept_button, LEFT)
    qtbot.waitUntil(verification.outcome.isVisible)
    assert "copy the rows that can still be read into a new table" in verification.outcome.text()
    buttons = {button.text(): button for button in verification.findChildren(QPushButton)}
    qtbot.mouseClick(buttons["Copy readable rows…"], LEFT)
    qtbot.waitUntil(lambda: bool(page.window().findChildren(SalvageDialog)))
    dialog = page.window().findChildren(SalvageDialog)[-1]
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    assert "• orders: 45,000 rows can be read, 15,000 cannot" in dialog.about.text()
    assert dialog.accept_button.text() == "Copy 45,000 rows"
    assert carry_out(qtbot, dialog) == "Copied 45,000 rows into 'orders_readable'. Undo takes the copy back."
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None and window.tabs.dataset_tab.table is not None)
    tab = window.tabs.dataset_tab
    assert tab is not None and tab.table is not None and tab.table.name == "orders_readable"
    qtbot.waitUntil(lambda: tab.grid is not None and tab.grid.model().rowCount() == 45_000)


def test_closing_the_dialog_stops_the_look_for_readable_rows(
    qtbot: QtBot, window: MainWindow, store: Store, orders: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(self: object, tables: list[str], job: Job) -> None:
        while True:
            job.check()

    monkeypatch.setattr(StoreMaintenance, "find_salvage", endless)
    dialog = SalvageDialog(store, ["orders"], window.tasks, window)
    dialog.open()
    dialog.reject()
    qtbot.waitUntil(lambda: not window.tasks.running)


def test_tabs_that_were_not_looked_at_yet_are_shown_instead_of_others_beside_them(
    qtbot: QtBot, page: StorePage, window: MainWindow, store: Store
) -> None:
    window.diagrams.show(store.path)
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    window.consoles.open()
    items = [window.workspace.item_of(tab) for tab in window.tabs.widgets]
    for _ in items:
        window.tabs.close_at(0)
    for item in items:
        window.workspace.add_pending(item)  # type: ignore[arg-type]
    window.store_actions.show_page(store.path)
    qtbot.waitUntil(lambda: window.store_actions.current_page is not None)
    window.consoles.show()
    qtbot.waitUntil(lambda: window.consoles.current is not None)
    window.diagrams.show(store.path)
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    assert len(window.tabs.widgets) == len(items) and not window.tabs.pending_tabs


def test_a_backup_is_made_and_restored_and_opened(
    qtbot: QtBot, page: StorePage, window: MainWindow, tmp_path: Path
) -> None:
    dialog = press(qtbot, page, "backup", BackupDialog)
    assert isinstance(dialog, BackupDialog)
    dialog.folder.field.setText(str(tmp_path / "safe"))
    qtbot.waitUntil(
        lambda: "It takes up to" in dialog.about.text() and "are free there" in dialog.about.text()
    )
    assert "copied" in carry_out(qtbot, dialog)
    again = press(qtbot, page, "backup", BackupDialog)
    assert isinstance(again, BackupDialog)
    again.folder.field.setText(str(page.store.path))
    qtbot.waitUntil(again.accept_button.isEnabled)
    assert "already a backup" not in again.about.text(), "it is a store, but no backup"
    again.folder.field.setText(str(tmp_path / "safe"))
    qtbot.waitUntil(lambda: "already a backup" in again.about.text())
    assert "there were no new files" in carry_out(qtbot, again)
    restoring = window.store_actions.restore()
    assert isinstance(restoring, RestoreDialog)
    for field in (restoring.backup, restoring.folder):
        qtbot.waitUntil(lambda field=field: field.height() >= field.sizeHint().height())
    restoring.backup.field.setText(str(tmp_path / "nowhere"))
    qtbot.waitUntil(lambda: "There is no store" in restoring.reason.text())
    assert not restoring.accept_button.isEnabled()
    restoring.backup.field.setText(str(tmp_path / "safe"))
    restoring.folder.field.setText(str(tmp_path / "safe"))
    qtbot.waitUntil(lambda: "already exists" in restoring.reason.text())
    assert not restoring.accept_button.isEnabled()
    restoring.folder.field.setText(str(tmp_path / "back"))
    qtbot.waitUntil(restoring.accept_button.isEnabled)
    assert "It takes up to" in restoring.about.text() and "are free there" in restoring.about.text()
    assert carry_out(qtbot, restoring).startswith("Restored to")
    qtbot.waitUntil(lambda: any(store.path == tmp_path / "back" for store in window.library.stores))
    qtbot.waitUntil(lambda: window.store_actions.current_page is not page)
    store_page = window.store_actions.current_page
    qtbot.waitUntil(
        lambda: store_page is not None and store_page.sizes is not None and not store_page.is_busy
    )
    assert store_page is not None and store_page.store["orders"].num_rows == ROWS


def test_rows_are_edited_while_a_backup_runs_and_the_store_stays_open_for_it(
    qtbot: QtBot, page: StorePage, window: MainWindow, store: Store, tmp_path: Path
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    back_up = store.backup

    def slowly(*arguments: object) -> object:
        begun.set()
        may_go_on.wait()
        return back_up(*arguments)

    with patch.object(Store, "backup", lambda self, *arguments: slowly(*arguments)):
        dialog = press(qtbot, page, "backup", BackupDialog)
        assert isinstance(dialog, BackupDialog) and not dialog.isModal()
        dialog.folder.field.setText(str(tmp_path / "safe"))
        qtbot.waitUntil(dialog.accept_button.isEnabled)
        qtbot.mouseClick(dialog.accept_button, LEFT)
        qtbot.waitUntil(begun.is_set)
        with qtbot.waitSignal(window.tasks.finished):
            window.tasks.write(lambda job: store["orders"].delete([0]), text="Deleting")
        assert dialog.is_working and store["orders"].num_rows == ROWS - 1
        assert window.store_actions.act(store, "backup") is dialog
        assert window.store_actions.act(store, "move") is None
        window.store_actions.close(store)
        assert store in window.library.stores and dialog.reason.text() == BACKUP_RUNS
        may_go_on.set()
        qtbot.waitUntil(lambda: "copied" in dialog.outcome.text())
        assert dialog.reason.text() == "", "there is nothing to wait for any more"
    window.store_actions.close(store)
    assert store not in window.library.stores


@pytest.mark.slow
def test_a_backup_and_a_restore_on_a_full_disk_say_so_and_leave_nothing(
    qtbot: QtBot, page: StorePage, window: MainWindow, store: Store, tmp_path: Path
) -> None:
    store.backup(tmp_path / "safe")
    with small_disk(400) as disk, filled(disk, leave=8_192):
        dialog = press(qtbot, page, "backup", BackupDialog)
        assert isinstance(dialog, BackupDialog)
        dialog.folder.field.setText(str(disk / "full"))
        qtbot.waitUntil(lambda: "may not have enough space" in dialog.reason.text())
        restoring = window.store_actions.restore()
        assert isinstance(restoring, RestoreDialog)
        restoring.backup.field.setText(str(tmp_path / "safe"))
        restoring.folder.field.setText(str(disk / "back"))
        for each in (dialog, restoring):
            qtbot.waitUntil(each.accept_button.isEnabled)
            qtbot.mouseClick(each.accept_button, LEFT)
            qtbot.waitUntil(lambda e=each: not e.is_working and "space" in e.reason.text().lower())
            assert each.accept_button.isEnabled(), "to be tried in another folder"
            each.reject()
        assert not (disk / "back").exists() and len(window.library.stores) == 1
    assert not store.maintenance.verify().problems


def test_a_store_that_cannot_be_written_is_opened_read_only_and_says_so(
    qtbot: QtBot, window: MainWindow, settled: Callable[[], DatasetTab], tmp_path: Path
) -> None:
    with Store.open(tmp_path / "shop") as made:
        made.create_table("orders", {"n": [1, 2]}).insert([{"n": 3}])
    with seen_read_only(tmp_path / "shop") as place:
        window.open_paths([place])
        qtbot.waitUntil(lambda: any(store.path == place for store in window.library.stores))
        window.opening.open_key((str(place), "orders"))
        tab = settled()
        assert tab.view is not None and tab.view.num_rows == 3
        assert tab.standing.text == f"Table in {place.name}, read-only"
        for command in ("undo", "change", "delete_rows"):
            assert not window.commands[command].isEnabled(), command
        tab.grid.setFocus()
        tab.grid.go_to(0, tab.grid.first_place())
        qtbot.keyClicks(tab.grid, "5")
        assert "cannot be written: make a table of these rows" in tab.messages.label.text()
        window.store_actions.close(next(store for store in window.library.stores if store.path == place))
        qtbot.waitUntil(lambda: not window.tasks.running)


def test_what_is_opened_from_the_page_of_a_store_is_about_this_store(
    qtbot: QtBot, page: StorePage, window: MainWindow, tmp_path: Path
) -> None:
    other = Store.open(tmp_path / "another")
    window.library.add_store(other)
    window.store_actions.show_page(other.path)
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    assert window.diagrams.current is not None and window.diagrams.current.store is other
    window.commands["sql"].trigger()
    console = window.consoles.current
    assert console is not None and console.names.current is not None
    assert console.names.current.store is other


def test_upkeep_on_a_full_disk_loses_nothing_and_says_what_to_free(
    qtbot: QtBot, page: StorePage, window: MainWindow
) -> None:
    with small_disk(6_000) as disk:
        full = Store.open(disk / "full")
        table = full.create_table("orders", pa.table({"n": [i * 7919 % 99_991 for i in range(40_000)]}))
        table.update_where("n < 50000", {"$inc": {"n": 1}})
        window.library.add_store(full)
        window.store_actions.show_page(full.path)
        qtbot.waitUntil(lambda: window.store_actions.current_page not in (None, page))
        store_page = window.store_actions.current_page
        assert store_page is not None
        qtbot.waitUntil(lambda: store_page.sizes is not None and not store_page.is_busy)
        before = table.read().to_pydict()
        with filled(disk, leave=8_192):
            dialog = press(qtbot, store_page, "compact", CompactDialog)
            qtbot.mouseClick(dialog.accept_button, LEFT)
            qtbot.waitUntil(lambda: not dialog.is_working and "space" in dialog.reason.text().lower())
            assert "check the free space" in dialog.reason.text()
            assert dialog.accept_button.isEnabled() and table.read().to_pydict() == before
            dialog.reject()
            assert not list((full.path / "tmp").iterdir())
        carry_out(qtbot, press(qtbot, store_page, "compact", CompactDialog))  # now there is room
        stray = next((full.path / "data").glob("orders-*")) / f"{'0' * 32}.parquet"
        stray.write_bytes(b"x" * 200_000)
        with filled(disk):
            vacuum = press(qtbot, store_page, "vacuum", VacuumDialog)
            assert carry_out(qtbot, vacuum) == "Freed 200 KB."
        assert not stray.exists() and table.read().to_pydict() == before
        assert not full.maintenance.verify().problems
        window.store_actions.close(full)
        qtbot.waitUntil(lambda: not window.tasks.running)


def test_a_store_whose_catalog_is_damaged_says_what_to_do(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "shop") as shop:
        shop.create_table("t", {"n": list(range(5_000))})
    (tmp_path / "shop" / "catalog.sqlite").write_bytes(b"")
    window.store_actions.open(tmp_path / "shop")
    qtbot.waitUntil(lambda: bool(window.findChildren(ErrorDialog)))
    dialog = window.findChildren(ErrorDialog)[-1]
    texts = " ".join(label.text().replace("\u200b", "") for label in dialog.findChildren(QLabel))
    assert "the catalog is empty, although there are data files beside it" in texts
    assert "Restore a backup" in texts and len(window.library.stores) == 1
    dialog.close()


def test_a_move_says_first_where_to_and_what_stands_in_its_way(
    qtbot: QtBot, page: StorePage, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    dialog = press(qtbot, page, "move", MoveDialog)
    assert isinstance(dialog, MoveDialog)
    name, field = store.path.name, dialog.folder.field

    def says() -> str:
        return dialog.about.text().replace("\u200b", "")

    field.setText("archive")
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    assert f"→ {tmp_path / 'archive' / name}" in says()
    (tmp_path / "archive" / name).mkdir(parents=True)
    field.setText(str(tmp_path / "archive"))
    qtbot.waitUntil(dialog.accept_button.isEnabled)  # an empty folder is not in the way
    (tmp_path / "archive" / name / "notes").touch()
    field.setText(f"{tmp_path / 'archive'}/")
    qtbot.waitUntil(lambda: f"{name} already exists" in dialog.reason.text().replace("\u200b", ""))
    assert "→" not in says() and not dialog.accept_button.isEnabled()
    field.setText(str(store.path / "data"))
    assert "into itself" in dialog.reason.text() and not dialog.accept_button.isEnabled()
    with small_disk(400) as disk, filled(disk, leave=8_192):
        field.setText(str(disk))
        qtbot.waitUntil(lambda: "It takes up to" in says() and "are free there" in says())
        assert "another disk" in says() and "may not have enough space" in dialog.reason.text()
        field.setFocus()
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert dialog.is_working
        qtbot.waitUntil(lambda: not dialog.is_working)
        assert "space" in dialog.reason.text() and "backup" not in dialog.reason.text()
        assert field.hasFocus(), "another folder can be typed at once"
    field.setText(str(tmp_path / "new"))
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert dialog.is_working and dialog.progress.isVisible()
    assert dialog.height() >= dialog.layout().totalHeightForWidth(dialog.width())
    qtbot.waitUntil(dialog.outcome.isVisible)
    assert dialog.cancel_button.hasFocus() and dialog.cancel_button.isDefault()
    qtbot.keyClick(dialog.cancel_button, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.store.path == tmp_path / "new" / name and not page.is_busy)


def test_a_store_is_made_opened_and_closed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, settled: Callable[[], DatasetTab]
) -> None:
    stores = window.store_actions
    window.commands["new_store"].trigger()
    (dialog,) = window.findChildren(NewStoreDialog)
    dialog.folder.field.setText(str(tmp_path))
    qtbot.waitUntil(lambda: dialog.name.text() == "New store")
    qtbot.keyClicks(dialog.name, "new")  # the proposal is selected
    qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(window.library.stores) == 2 and stores.current_page is not None)
    page = stores.current_page
    assert page is not None
    qtbot.waitUntil(lambda: page.sizes is not None and not page.is_busy)
    assert "no tables yet. Import… and New table…" in page.freed_label.text()
    window.commands["new_table"].trigger()
    qtbot.waitUntil(lambda: bool(window.findChildren(NewTableDialog)))
    (table_dialog,) = window.findChildren(NewTableDialog)
    assert table_dialog.store.currentText() == "new"
    table_dialog.reject()
    new_store = window.library.stores[1]
    new_store.create_table("t", {"n": [1]})
    window.opening.open_key((str(new_store.path), "t"))
    settled()
    stores.close(new_store)
    qtbot.waitUntil(lambda: not window.tasks.writing)
    assert [store.path for store in window.library.stores] == [window.library.home.path]
    assert not window.tabs.widgets
    stores.open(tmp_path / "new")
    qtbot.waitUntil(lambda: len(window.library.stores) == 2)
    qtbot.waitUntil(lambda: stores.current_page is not None and stores.current_page.sizes is not None)
    shutil.rmtree(tmp_path / "new" / "data" / "nothing", ignore_errors=True)


def test_in_front_of_a_sql_result_the_commands_are_for_the_store_of_imports(
    qtbot: QtBot, window: MainWindow, store: Store
) -> None:
    window.commands["sql"].trigger()
    console = window.consoles.current
    assert console is not None
    console.editor.setPlainText("select 1 as one")
    console.run()
    qtbot.waitUntil(lambda: window.tabs.dataset_tab is not None)
    window.commands["store_page"].trigger()
    qtbot.waitUntil(lambda: window.store_actions.current_page is not None)
    assert window.store_actions.current_page.store is store  # type: ignore[union-attr]
    window.tabs.show_tab(console)
    window.commands["relations"].trigger()
    qtbot.waitUntil(lambda: window.diagrams.current is not None)
    assert window.diagrams.current.store is store  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: not window.tasks.running)


def test_the_menu_of_a_store_in_the_sidebar(
    qtbot: QtBot, window: MainWindow, store: Store, orders: None
) -> None:
    window.library.refresh()
    qtbot.waitUntil(lambda: window.sidebar.tree.topLevelItem(0).child(0).childCount() == 2)
    item = window.sidebar.tree.topLevelItem(0).child(0)
    window.sidebar.tree.menu_requested.emit(item, QPoint(5, 5))
    menu = window.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
    texts = [action.text() for action in menu.actions() if action.text()]
    menu.close()
    assert texts[:4] == ["Properties", "Relations diagram", "Verify…", "Back up…"]
    assert "Rename…" in texts and "Move…" in texts and "Close the store" not in texts
