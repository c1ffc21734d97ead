"""What a benchmark measures, as plain data that can be run, saved, written as a command and run again; and
which child processes it needs, in which order."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from lamella.core.bench.registry import ENTRIES, Entry, entry_named, workload_named, workload_with_options
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import system_names

SMALL_SCALE, PUBLISHED_SCALE = "small", "published"
SCALES = (SMALL_SCALE, PUBLISHED_SCALE)
SEEDS = 2**32


def new_seed() -> int:
    """A random seed for the shuffled order of a benchmark."""
    return random.SystemRandom().randrange(SEEDS)


@dataclass(frozen=True)
class Part:
    """One workload of a benchmark.

    `words` are the command-line options that name it if `--workload` cannot, as for a table of the user's.
    """

    workload: Workload
    rows: tuple[int, ...]
    systems: tuple[str, ...]
    repeats: int
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        workload = self.workload
        options = {
            "workload": workload.id,
            "table_rows": workload.table_rows,
            "options": dict(workload.options),
        }
        return options | {name: getattr(self, name) for name in ("rows", "systems", "repeats", "words")}

    @classmethod
    def from_dict(cls, item: dict[str, Any]) -> Part:
        """The part saved as a dict. Raises UnknownWorkload for a workload that this version does not have."""
        workload = workload_with_options(item["workload"], item["table_rows"], item["options"])
        rows, systems, words = (tuple(item[name]) for name in ("rows", "systems", "words"))
        return cls(workload, rows, systems, item["repeats"], words)


@dataclass(frozen=True)
class Choice:
    """Workloads to run one after the other, and how to run them.

    `limit_seconds` and `limit_bytes` apply to one step of one system at one size. `interpreter` is another
    Python that runs the systems, if any. Without a `folder` the system's temporary one is used. `words` are
    the command-line options that named the parts, if any did.
    """

    parts: tuple[Part, ...]
    fresh: bool = False
    seed: int = field(default_factory=new_seed)
    folder: Path | None = None
    interpreter: str | None = None
    limit_seconds: float | None = None
    limit_bytes: int | None = None
    words: tuple[str, ...] = ()

    @property
    def workloads(self) -> tuple[str, ...]:
        return _distinct(part.workload.id for part in self.parts)

    @property
    def systems(self) -> tuple[str, ...]:
        return _distinct(name for part in self.parts for name in part.systems)

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(sorted({rows for part in self.parts for rows in part.rows}))

    @property
    def repeats(self) -> int:
        """The largest number of repeats of any part."""
        return max(part.repeats for part in self.parts)

    @property
    def title(self) -> str:
        """A title such as "Small benchmark and 2 more: Lamella, SQLite"."""
        first, *more = self.parts
        titles = [entry_named(name).title for name in self.systems]
        more_text = f" and {len(more)} more" if more else ""
        listing = ", ".join(titles) if len(titles) <= MOST_TITLES else f"{len(titles)} systems"
        return f"{first.workload.title}{more_text}: {listing}"

    @property
    def commands(self) -> list[str]:
        """The commands that run this again; several if sizes or systems differ between workloads."""
        return [shlex.join(["lamella", "bench", *words, *self._conditions()]) for words in self._commands()]

    def to_json(self) -> str:
        plain = {name: value for name, value in vars(self).items() if name not in ("parts", "folder")}
        folder = None if self.folder is None else str(self.folder)
        return json.dumps(plain | {"folder": folder, "parts": [part.to_dict() for part in self.parts]})

    @classmethod
    def from_json(cls, text: str) -> Choice:
        """The choice saved as JSON. Raises UnknownWorkload for a workload that this version does not have."""
        item = json.loads(text)
        folder = None if item["folder"] is None else Path(item["folder"])
        parts, words = tuple(map(Part.from_dict, item["parts"])), tuple(item["words"])
        return cls(**(item | {"parts": parts, "words": words, "folder": folder}))

    def _commands(self) -> list[list[str]]:
        """The words of each command. Neighbouring parts that differ only in their workload share one."""
        if self.words:
            return [list(self.words)]
        return [_words(list(parts)) for _, parts in groupby(self.parts, key=_alike)]

    def _conditions(self) -> list[str]:
        options = {
            "--limit": None if self.limit_seconds is None else f"{self.limit_seconds:g}",
            "--limit-memory": None if self.limit_bytes is None else str(self.limit_bytes),
            "--folder": self.folder,
            "--interpreter": self.interpreter,
            "--seed": self.seed,
        }
        words = [str(word) for name, value in options.items() if value is not None for word in (name, value)]
        return [*(["--fresh"] if self.fresh else []), *words]


MOST_TITLES = 4
"""The maximum number of systems that a title names; more are counted."""


def part_of(
    workload: Workload,
    systems: Sequence[str],
    rows: Sequence[int] | None = None,
    repeats: int | None = None,
    scale: str | None = None,
) -> Part:
    """A part whose missing sizes and repeats come from the scale or, without one, from the workload.

    The scale "published" gives the workload's own sizes if there are no published ones.
    """
    sizes = _rows_at(workload, scale) if rows is None else tuple(rows)
    usual = workload.small_repeats if scale == SMALL_SCALE else workload.default_repeats
    scaled = workload.at_small_scale() if scale == SMALL_SCALE and not rows else workload
    return Part(scaled, sizes, tuple(systems), usual if repeats is None else repeats)


def ready_systems(workload: Workload, unready: Collection[str] = ()) -> list[Entry]:
    """The systems that take this workload and have all their packages installed, or the workload's own ones.
    `unready` (see `registry.unready`) names systems to leave out, such as those whose server does not
    respond."""
    if workload.family == "own":
        return [entry_named(name) for name in system_names(workload)]
    able = [entry for entry in ENTRIES.values() if entry.takes(workload.family) and not entry.missing]
    return [entry for entry in able if entry.id not in unready]


def _rows_at(workload: Workload, scale: str | None) -> tuple[int, ...]:
    if scale is None:
        return workload.default_rows
    if scale == SMALL_SCALE:
        return workload.small_rows
    return workload.published_rows or workload.default_rows


def _alike(part: Part) -> tuple[Any, ...]:
    """A key: neighbouring parts with equal keys share a command."""
    return (part.systems, part.words, SMALL_SCALE if _is_small(part) else _size(part))


def _words(parts: Sequence[Part]) -> list[str]:
    first = parts[0]
    words = list(first.words) or ["--workload", ",".join(part.workload.id for part in parts)]
    return [*words, "--systems", ",".join(first.systems), *_amount(parts)]


def _amount(parts: Sequence[Part]) -> list[str]:
    if all(_is_small(part) for part in parts):
        return ["--scale", SMALL_SCALE]
    first = parts[0]
    usual_rows = None if first.words else workload_named(first.workload.id).table_rows
    table_rows = first.workload.table_rows
    table = (
        ["--table-rows", str(table_rows)]
        if table_rows and table_rows != usual_rows and not first.words
        else []
    )
    return ["--rows", ",".join(map(str, first.rows)), *table, "--repeats", str(first.repeats)]


def _is_small(part: Part) -> bool:
    if part.words:
        return False
    small = part_of(workload_named(part.workload.id), part.systems, scale=SMALL_SCALE)
    return _size(small) == _size(part)


def _size(part: Part) -> tuple[Any, ...]:
    return (part.rows, part.repeats, part.workload.table_rows)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Trial:
    """The work of one child process."""

    workload: Workload
    system: str
    rows: int
    repeats: tuple[int, ...]
    steps: tuple[str, ...]

    @property
    def table_rows(self) -> int:
        return self.workload.size(self.rows)


def plan_trials(
    workload: Workload,
    rows: Sequence[int],
    names: Sequence[str],
    repeats: int,
    fresh: bool,
    seed: int | None = None,
    first_repeat: int = 0,
) -> list[Trial]:
    """The trials of a workload: small sizes first, and at each size the systems in a shuffled order, so that
    none is always first.

    With `fresh`, every step of every repeat has its own process, so that all reads are cold, and the systems
    take turns after each repeat. The same seed gives the same order.
    """
    shuffled = random.Random(seed)
    numbers = range(first_repeat, first_repeat + repeats)
    turns = [(repeat,) for repeat in numbers] if fresh else [tuple(numbers)]
    trials: list[Trial] = []
    for size in sorted(set(rows)):
        for turn in turns:
            for name in shuffled.sample(list(names), len(names)):
                trials += _trials(workload, size, name, turn, fresh)
    return trials


def _trials(workload: Workload, rows: int, name: str, turn: tuple[int, ...], fresh: bool) -> list[Trial]:
    parts = [(step,) for step in workload.steps] if fresh else [workload.steps]
    return [Trial(workload, name, rows, turn, steps) for steps in parts]
