"""The dialog that creates an empty store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QLineEdit, QWidget

from lamella.core.jobs import Job
from lamella.core.store.destination import Destination, destination, folder_name_problem, free_name
from lamella.core.store.store import Store
from lamella.ui.stores.store_dialogs import FolderDialog, FolderField
from lamella.ui.tasks import Tasks


class NewStoreDialog(FolderDialog):
    """Asks for the name of a store and where its folder is to be, and creates it. It closes by itself;
    `finished_work` has the folder."""

    def __init__(self, tasks: Tasks, parent: QWidget | None = None, near: Path | None = None) -> None:
        super().__init__("New store", "Create", tasks, parent)
        near = near or Path.home()
        self.name = QLineEdit(accessibleName="Name of the store")
        self.folder = FolderField("Folder that the store is in", str(near), tasks, near)
        self.form.addRow("Name", self.name)
        self.form.addRow("In the folder", self.folder)
        self.name.textChanged.connect(self._follow)
        self.folder.changed.connect(self._follow)
        self._show(None)
        self.accept_button.setEnabled(False)
        self.name.setFocus()
        tasks.read(lambda job: free_name(near / "New store"), self._propose, self._fail,
                   owner=self, quiet=True, may_be_endless=True)  # fmt: skip

    def _propose(self, folder: Path) -> None:
        if not self.name.text():
            self.name.setText(folder.name)
            self.name.selectAll()

    @property
    def target(self) -> Path | None:
        folder, name = self.folder.path, self.name.text().strip()
        return None if folder is None or folder_name_problem(name) else folder / name

    def look(self) -> Callable[[], Destination] | None:
        target = self.target
        return None if target is None else lambda: destination(target)

    def _show(self, answer: Destination | None) -> bool:
        target, name = self.target, self.name.text().strip()
        why_not = folder_name_problem(name) if name else ""
        if answer is not None and answer.has_store:
            why_not = f"{answer.path} already holds a store. Open it, or choose another name."
        elif answer is not None and answer.is_occupied:
            why_not = f"{answer.path} already exists, and is not an empty folder. Choose another name."
        elif answer is not None:
            why_not = answer.problem
        about = "A store is a folder of its own, with all its tables."
        self.say(about if target is None else f"{about}\n→ {target}")
        self.reason.say(why_not)
        return answer is not None and not why_not

    def work(self) -> Callable[[Job], Path]:
        target = self.target
        assert target is not None

        def create(job: Job) -> Path:
            with Store.open(target) as store:
                return store.path

        return create

    def outcome_of(self, result: Path) -> str:
        return f"Created {result}."

    def _finish(self, result: Path) -> None:
        super()._finish(result)
        self.accept()
