"""How files are read in the window: what was chosen for each, remembered from one start to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, Ragged
from lamella.core.datasets.options import read_options
from lamella.core.errors import FileProblem, LamellaError, UnknownColumn
from lamella.core.jobs import Job

OF_COLUMNS = ("types", "names", "text_columns")
"""Options that name columns of the file, which may be another one by now."""
MOST_REMEMBERED = 500


@dataclass(frozen=True)
class FileReading:
    """`options` are those of `open_dataset` that were chosen, the others are found out. Lines that cannot be
    read are set aside and counted: one of them is no reason to show nothing."""

    ragged: Ragged = "refuse"
    checksums: Checksums = "verify"
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, path: str, table: str | None, job: Job) -> Dataset:
        """Raises `FileProblem` and `Cancelled`. Columns that the file no longer has count for nothing."""
        try:
            return self._open(path, table, job, self.options)
        except UnknownColumn:
            others = {name: value for name, value in self.options.items() if name not in OF_COLUMNS}
            return self._open(path, table, job, others)

    def _open(self, path: str, table: str | None, job: Job, options: Mapping[str, Any]) -> Dataset:
        chosen = {"bad_lines": "set-aside", **options}
        return open_dataset(
            path, ragged=self.ragged, checksums=self.checksums, table=table, job=job, **chosen
        )


class FileReadings:
    """By the keys of tabs. Options last, in a file of the user's; the rest as long as the window is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readings: dict[tuple[str, ...], FileReading] = {}
        for name, options in _load(path).items():
            self._readings[tuple(name.split("\0"))] = FileReading(options=options)

    def of(self, key: tuple[str, ...]) -> FileReading:
        return self._readings.get(key, FileReading())

    def put(self, key: tuple[str, ...], reading: FileReading) -> None:
        """Remember a choice. A file that cannot be written costs the memory of it, not the opening."""
        before = self.of(key)
        self._readings.pop(key, None)
        if reading != FileReading():
            self._readings[key] = reading
        if reading.options != before.options:
            self._save()

    def _save(self) -> None:
        lasting = {"\0".join(key): dict(r.options) for key, r in self._readings.items() if r.options}
        newest = dict(list(lasting.items())[-MOST_REMEMBERED:])
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            from lamella.core.transfer.exporting import published

            with published(self._path) as draft:
                draft.write_text(json.dumps(newest, indent=1), "utf-8")
        except (OSError, FileProblem):
            return


def _load(path: Path) -> dict[str, dict[str, Any]]:
    """What somebody else wrote there, or a later version, counts for nothing where it does not fit."""
    try:
        saved = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    known = {}
    for name, options in saved.items() if isinstance(saved, dict) else ():
        try:
            known[name] = read_options(options)
        except (LamellaError, AttributeError, TypeError):
            continue
    return known


def with_options(reading: FileReading, options: Mapping[str, Any]) -> FileReading:
    return replace(reading, options=dict(options))
