"""How files are read in the window: what was chosen for each, remembered from one start to the next."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, Ragged
from lamella.core.datasets.options import read_options
from lamella.core.errors import FileProblem, LamellaError, UnknownColumn
from lamella.core.jobs import Job

PASSING = ("version",)
"""Options that hold while a tab is open: the next one shows the newest version again."""
OF_COLUMNS = ("types", "names", "text_columns", "row_key")
"""Options that name columns of the file, which may be another one by now."""
MOST_REMEMBERED = 500
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileReading:
    """`options` are those of `open_dataset` that were chosen, the others are found out. Lines that cannot be
    read are set aside and counted: one of them is no reason to show nothing."""

    ragged: Ragged = "refuse"
    checksums: Checksums = "verify"
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, path: str, table: str | None, job: Job) -> Dataset:
        """Raises `FileProblem` and `Cancelled`. What was chosen for columns that the file no longer has
        counts for nothing."""
        options = dict(self.options)
        while True:
            try:
                return self._open(path, table, job, options)
            except UnknownColumn as error:
                left = _without(options, error.name)
                if left == options:
                    raise
                log.warning("%s: what was chosen for it is left out: %s", path, error)
                options = left

    def _open(self, path: str, table: str | None, job: Job, options: Mapping[str, Any]) -> Dataset:
        chosen = {"bad_lines": "set-aside", **options}
        return open_dataset(
            path, ragged=self.ragged, checksums=self.checksums, table=table, job=job, **chosen
        )


def _without(options: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Without what is chosen for one column: its name, or a pair that begins with it."""
    return {
        name: tuple(each for each in value if (each if isinstance(each, str) else each[0]) != column)
        if name in OF_COLUMNS
        else value
        for name, value in options.items()
    }


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
        lasting = {name: value for name, value in reading.options.items() if name not in PASSING}
        reading = replace(reading, options=lasting)
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
        except (OSError, FileProblem) as error:
            log.warning("How files are read is not remembered: %s", error)


def _load(path: Path) -> dict[str, dict[str, Any]]:
    """What somebody else wrote there, or a later version, counts for nothing where it does not fit."""
    try:
        saved = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s is not read, and what it remembers is lost: %s", path, error)
        return {}
    known = {}
    for name, options in saved.items() if isinstance(saved, dict) else ():
        try:
            known[name] = read_options(options)
        except (LamellaError, AttributeError, TypeError) as error:
            log.warning("%s: what is remembered for %s is not used: %s", path, name, error)
    return known


def with_options(reading: FileReading, options: Mapping[str, Any]) -> FileReading:
    return replace(reading, options=dict(options))
