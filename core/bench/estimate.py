"""What a race will take, beforehand: time, memory and room on the disk; what will not fit is refused."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from lamella.core.bench.backends import entry_named
from lamella.core.bench.choice import Choice
from lamella.core.bench.costs import Costs, shipped_costs
from lamella.core.bench.plan import Trial, plan
from lamella.core.bench.ratios import shown_bytes
from lamella.core.errors import LamellaError


@dataclass(frozen=True)
class Estimate:
    """Of a whole race: `memory_bytes` and `disk_bytes` are of its largest child, since one runs at a time.

    `problems` say what does not fit, without a full stop; `fitting_rows` are the sizes that do.
    """

    seconds: float
    memory_bytes: int
    disk_bytes: int
    problems: tuple[str, ...]
    fitting_rows: tuple[int, ...]


def estimate(choice: Choice, costs: Costs | None = None) -> Estimate:
    """Reads how much memory and disk is free now, and no data. `costs` may know of kept runs."""
    known = costs or shipped_costs()
    trials = [trial for trial in planned(choice) if entry_named(trial.backend).takes(trial.workload.family)]
    problems = {trial_key(trial): problem(trial, choice.folder, known) for trial in trials}
    told = [f"{_titled(trial)}: {problems[trial_key(trial)]}" for trial in trials]
    lost = {rows for (_, _, rows), found in problems.items() if found}
    return Estimate(
        seconds=sum(known.seconds(trial) for trial in trials),
        memory_bytes=max(map(known.memory_bytes, trials), default=0),
        disk_bytes=max(map(known.disk_bytes, trials), default=0),
        problems=tuple(dict.fromkeys(line for line in told if not line.endswith(": "))),
        fitting_rows=tuple(rows for rows in choice.rows if rows not in lost),
    )


def refuse_what_does_not_fit(choice: Choice, costs: Costs | None = None) -> Estimate:
    """The estimate. Raises LamellaError, with it, where memory or disk are too small for something."""
    found = estimate(choice, costs)
    if not found.problems:
        return found
    fitting = ", ".join(f"{rows:,}" for rows in found.fitting_rows)
    more = len(found.problems) - SHOWN_PROBLEMS
    told = [*found.problems[:SHOWN_PROBLEMS], *([f"{more:,} more do not fit"] if more > 0 else [])]
    raise LamellaError(
        "This race does not fit on this computer",
        "; ".join(told),
        f"Leave those sizes or systems out: {fitting} rows fit" if fitting else "Race fewer rows",
    )


SHOWN_PROBLEMS = 3


def problem(trial: Trial, folder: Path | None, costs: Costs) -> str:
    """Why a trial cannot be tried here and now; empty when it can."""
    return _memory_problem(trial, costs) or _disk_problem(trial, folder, costs)


def planned(choice: Choice) -> list[Trial]:
    """Every child process, by part."""
    return [trial for trials in planned_parts(choice) for trial in trials]


def planned_parts(choice: Choice, first_repeat: int = 0) -> list[list[Trial]]:
    return [
        plan(
            part.workload,
            part.rows,
            list(dict.fromkeys(part.systems)),
            part.repeats,
            choice.fresh,
            choice.seed,
            first_repeat,
        )
        for part in choice.parts
    ]


def trial_key(trial: Trial) -> tuple[str, str, int]:
    return (trial.workload.id, trial.backend, trial.rows)


def _memory_problem(trial: Trial, costs: Costs) -> str:
    free, needed = psutil.virtual_memory().available, costs.memory_bytes(trial)
    return _lack("memory", trial, needed, free, "is free")


def _disk_problem(trial: Trial, folder: Path | None, costs: Costs) -> str:
    place = folder or Path(tempfile.gettempdir())
    if not place.exists():
        return ""  # the race itself says so
    free, needed = psutil.disk_usage(str(place)).free, costs.disk_bytes(trial)
    return _lack("room on the disk", trial, needed, free, f"is free in {place}")


def _lack(what: str, trial: Trial, needed: int, free: int, where: str) -> str:
    if needed <= free:
        return ""
    rows = f"{trial.table_rows:,} rows"
    return f"Not enough {what}: {rows} need about {shown_bytes(needed)} and {shown_bytes(free)} {where}"


def _titled(trial: Trial) -> str:
    return f"{trial.workload.title}, {entry_named(trial.backend).title}"
