"""Runs a race of one workload: one child process per system and size, results as they come.

A system that fails, crashes or answers wrongly is a result and the others go on. Blocking; the
listener is called on the thread that runs the race.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamella.core.bench import several
from lamella.core.bench.choice import Choice, new_seed, part_of
from lamella.core.bench.pause import Pause
from lamella.core.bench.race import Listener
from lamella.core.bench.results import Record
from lamella.core.bench.workloads import Workload, workload_named
from lamella.core.jobs import Job


def run(  # noqa: PLR0913, PLR0917 -- all that can be asked of a race, by keyword
    workload: str | Workload,
    rows: Sequence[int],
    backends: Sequence[str],
    repeats: int | None = None,
    folder: Path | None = None,
    on_event: Listener | None = None,
    job: Job | None = None,
    fresh: bool = False,
    limit_seconds: float | None = None,
    limit_bytes: int | None = None,
    pause: Pause | None = None,
    seed: int | None = None,
    first_repeat: int = 0,
    interpreter: Path | str | None = None,
) -> list[Record]:
    """The samples of a race, those with a wrong answer left out; failures go to `on_event`.

    `folder` chooses the disk: the databases are made in a new folder inside it, which is removed
    whatever happens. A workload given whole may have a `table_rows` of its own. A step that takes more
    than `limit_seconds` or `limit_bytes` of memory is ended, with its child: a failure of the kind "limit".
    The same `seed` shuffles the systems in the same way. Another `interpreter` than ours runs what it can.
    Raises BadInterpreter, UnknownWorkload, UnknownBackend, FileProblem, and Cancelled when the job is told
    to stop, which ends the child process at once.
    """
    asked = workload_named(workload) if isinstance(workload, str) else workload
    choice = Choice(
        parts=(part_of(asked, backends, rows, repeats),),
        fresh=fresh,
        seed=new_seed() if seed is None else seed,
        folder=folder,
        limit_seconds=limit_seconds,
        limit_bytes=limit_bytes,
        interpreter=None if interpreter is None else str(interpreter),
    )
    return several.run(choice, on_event, job, pause, first_repeat=first_repeat)
