"""Files that are read and written whole: no row in them can be found or changed by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from lamella.core.bench.backends.base import TableBackend
from lamella.core.bench.backends.python_rows import names_of
from lamella.core.bench.data import Numbers
from lamella.core.bench.workloads import Workload

BY_ROW_ID = (
    *("get", "update_by_row_id", "update_some_by_row_id", "update_one", "update_cell", "delete_one"),
    *("scatter_updates", "read_updated", "scatter_deletes", "read_deleted"),
)


def cannot(file: str) -> Mapping[str, str]:
    """Why steps are left out; `file` is "A CSV file", say."""
    ids = f"{file} has no row ids, and to change one row is to write all of it anew"
    return dict.fromkeys(BY_ROW_ID, ids) | {"find_indexed": f"{file} has no index"}


class WholeFile(TableBackend):
    """One file. An update by key makes a new one beside it, which then takes its place."""

    file_name: ClassVar[str]

    def __init__(self, folder: Path, workload: Workload) -> None:
        super().__init__(folder, workload)
        self.names = names_of(workload)

    @property
    def columns(self) -> int:
        return len(self.names)

    @property
    def path(self) -> Path:
        return self.folder / self.file_name

    def open(self, writing: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Every call opens the file and closes it."""

    def rewrite(self, write: Callable[[Path], object]) -> None:
        """Have `write` make a new file and put it in the place of the old one."""
        staged = self.path.with_name(f"new-{self.file_name}")
        write(staged)
        staged.replace(self.path)

    def row_ids(self, numbers: Numbers) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])

    def get(self, row_id: int) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])

    def as_row(self, answer: Any) -> NoReturn:
        raise NotImplementedError(self.cannot["get"])
