"""Where the table of a race is, so that it can be opened again: by the race, and by one that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamella.core.dataset import Dataset
from lamella.core.datasets import open_dataset
from lamella.core.datasets.options import Ragged
from lamella.core.store.store import Store


@dataclass(frozen=True)
class Source:
    """A table of the store in the folder `path`, or without `table` the files there.

    `ragged` says what is done with rows of a CSV file that do not fit its header, as in `open_dataset`.
    """

    path: str
    table: str | None = None
    ragged: Ragged = "refuse"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Source:
        return cls(**options)

    @property
    def options(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def words(self) -> tuple[str, ...]:
        """How the command line names it."""
        return ("--table", self.path if self.table is None else f"{self.path}:{self.table}")

    @contextmanager
    def opened(self) -> Iterator[Dataset]:
        """Raises what opening it raises: FileProblem, StoreProblem, UnknownTable."""
        if self.table is None:
            yield open_dataset(Path(self.path), ragged=self.ragged)
        else:
            with Store.open(self.path, read_only=True) as store:
                yield store[self.table]
