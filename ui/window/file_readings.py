"""How files are read in the window: the user's choices for each file, remembered between starts."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lamella.core.datasets import open_dataset
from lamella.core.datasets.base import Checksums, Dataset, RaggedRows
from lamella.core.datasets.options import read_options
from lamella.core.errors import FileProblem, LamellaError, UnknownColumn
from lamella.core.jobs import Job

PASSING = ("version",)
"""Options that hold only while a tab is open: the next tab shows the newest version again."""
OF_COLUMNS = ("types", "names", "text_columns", "row_key")
"""Options that name columns of the file, which may have changed since."""
MOST_READINGS = 500
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileReading:
    """How one file is read. `options` are those of `open_dataset` that the user chose; the others are
    detected. Lines that cannot be read are set aside and counted, so that the rest can be shown."""

    ragged: RaggedRows = "refuse"
    checksums: Checksums = "verify"
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, path: str, table: str | None, job: Job) -> Dataset:
        """Open the file. Choices for columns that it no longer has are ignored. Raises `FileProblem` and
        `Cancelled`."""
        options = dict(self.options)
        while True:
            try:
                return self._open(path, table, job, options)
            except UnknownColumn as error:
                fewer_options = _without(options, error.name)
                if fewer_options == options:
                    raise
                log.warning("%s: a choice for reading it is ignored: %s", path, error)
                options = fewer_options

    def _open(self, path: str, table: str | None, job: Job, options: Mapping[str, Any]) -> Dataset:
        new_options = {"bad_lines": "set-aside", **options}
        return open_dataset(
            path, ragged=self.ragged, checksums=self.checksums, table=table, job=job, **new_options
        )


def _without(options: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The options without those for one column: its name, or a pair that begins with it."""
    return {
        name: tuple(each for each in value if (each if isinstance(each, str) else each[0]) != column)
        if name in OF_COLUMNS
        else value
        for name, value in options.items()
    }


class FileReadings:
    """Readings by the keys of tabs. Options are saved in a file of the user's; the rest lasts as long as the
    window."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readings: dict[tuple[str, ...], FileReading] = {}
        for name, options in _load(path).items():
            self._readings[tuple(name.split("\0"))] = FileReading(options=options)

    def of(self, key: tuple[str, ...]) -> FileReading:
        return self._readings.get(key, FileReading())

    def put(self, key: tuple[str, ...], reading: FileReading) -> None:
        """Remember a reading. If the file cannot be written, opening goes on and the choice is lost."""
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
        newest = dict(list(lasting.items())[-MOST_READINGS:])
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            from lamella.core.transfer.exporting import draft_of

            with draft_of(self._path) as draft:
                draft.write_text(json.dumps(newest, indent=1), "utf-8")
        except (OSError, FileProblem) as error:
            log.warning("Choices for reading files could not be saved: %s", error)


def _load(path: Path) -> dict[str, dict[str, Any]]:
    """Load the saved options. Entries that are invalid, or of a later version, are ignored."""
    try:
        saved = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read; the choices saved in it are lost: %s", path, error)
        return {}
    readings = {}
    for name, options in saved.items() if isinstance(saved, dict) else ():
        try:
            readings[name] = read_options(options)
        except (LamellaError, AttributeError, TypeError) as error:
            log.warning("%s: the choices saved for %s are ignored: %s", path, name, error)
    return readings


def with_options(reading: FileReading, options: Mapping[str, Any]) -> FileReading:
    return replace(reading, options=dict(options))
