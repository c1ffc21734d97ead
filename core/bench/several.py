"""Races of one workload or several, one after the other, with one job and one listener.

Blocking; the listener is called on the thread that runs the race.
"""

from __future__ import annotations

from collections.abc import Sequence

from lamella.core.bench import backends
from lamella.core.bench.choice import Choice, Part
from lamella.core.bench.clock import Clock
from lamella.core.bench.costs import Costs, shipped_costs
from lamella.core.bench.estimate import planned_parts, problem
from lamella.core.bench.families import family_of
from lamella.core.bench.interpreters import examined
from lamella.core.bench.limits import Limits, most_memory
from lamella.core.bench.pause import Pause
from lamella.core.bench.place import race_folder
from lamella.core.bench.plan import Trial
from lamella.core.bench.race import Conditions, Listener, Race
from lamella.core.bench.results import Record
from lamella.core.errors import LamellaError
from lamella.core.jobs import Job


def run(
    choice: Choice,
    on_event: Listener | None = None,
    job: Job | None = None,
    pause: Pause | None = None,
    costs: Costs | None = None,
    first_repeat: int = 0,
) -> list[Record]:
    """The samples of all workloads, those with a wrong answer left out; failures go to `on_event`.

    Progress of the job is of the whole, by `costs`: what is known of kept runs beside what is shipped.
    `first_repeat` numbers the repeats of a race that adds some to an earlier one. Raises UnknownBackend and
    LamellaError before anything starts, FileProblem, and Cancelled when the job is told to stop, which ends
    the child process at once: what was measured until then the listener has heard. Without a limit of memory
    it is nine tenths of what is free.
    """
    job, known = job or Job(), costs or shipped_costs()
    check(choice)
    planned = planned_parts(choice, first_repeat)
    under = Conditions(
        job=job,
        clock=_clock(job, planned, known),
        listener=on_event or (lambda message: None),
        problem=lambda trial: problem(trial, choice.folder, known),
        limits=Limits(choice.limit_seconds, choice.limit_bytes or most_memory()),
        pause=pause or Pause(),
        interpreter=examined(choice.interpreter),
    )
    records: list[Record] = []
    with race_folder(choice.folder) as place:
        for number, (part, trials) in enumerate(zip(choice.parts, planned, strict=True)):
            home = place / str(number)
            home.mkdir()
            workload = family_of(part.workload).prepared(part.workload, part.rows, home, job)
            records += Race(workload, home, under).run(trials)
    under.clock.end()
    return records


def check(choice: Choice) -> None:
    """Raises UnknownBackend or LamellaError for a choice of nothing, or of what cannot be."""
    if not choice.parts:
        raise LamellaError("A benchmark needs at least one workload")
    for part in choice.parts:
        _check_part(part)


def _check_part(part: Part) -> None:
    rows, names, asked = part.rows, part.systems, part.workload
    for name in names:
        backends.entry_named(name)
    if not rows or min(rows) < 1:
        raise LamellaError("A benchmark needs numbers of rows of at least 1", f"It was given {list(rows)}")
    if not names:
        known = ", ".join(backends.ENTRIES)
        raise LamellaError("A benchmark needs at least one backend", fix=f"There are: {known}")
    if part.repeats < 1:
        raise LamellaError("A benchmark needs at least one repeat", f"It was given {part.repeats}")
    if asked.table_rows and max(rows) > asked.table_rows:
        raise LamellaError(
            f"{asked.title}: {max(rows):,} rows cannot change in a table of {asked.table_rows:,}",
            fix="Ask for fewer rows, or for a larger table",
        )


def _clock(job: Job, planned: Sequence[list[Trial]], costs: Costs) -> Clock:
    trials = [trial for of_part in planned for trial in of_part]
    return Clock(job, trials, [costs.seconds(trial) for trial in trials])
