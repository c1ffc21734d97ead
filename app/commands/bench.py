"""`lamella bench`: benchmarks in the terminal, saved runs and results files."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from lamella.app import paths
from lamella.app.command_options import whole_numbers
from lamella.app.commands import OK, STOPPED, terminal
from lamella.app.commands.table_reference import refuse_misspelt, split_reference
from lamella.app.commands.terminal import redraw
from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import SCALES, Choice, Part, new_seed, part_of, ready_systems
from lamella.core.bench.engine.costs import Costs, Estimate, refuse_what_does_not_fit, shipped_costs
from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.engine.protocol import Failure, Message, StepStart, UnsupportedStep
from lamella.core.bench.registry import ENTRIES, GROUPS, WORKLOADS, unready, workloads_named
from lamella.core.bench.results.compare import SLOWER, comparison_table
from lamella.core.bench.results.compare import compare as compared
from lamella.core.bench.results.console import Console, finish, has_failures
from lamella.core.bench.results.figures import ReportTable, shown_bytes, shown_seconds
from lamella.core.bench.results.records import Record, Sample, need_folder, read_json
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import Recording, RunSummary, SavedRun, combine
from lamella.core.bench.results.store import SavedRuns
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import system_names
from lamella.core.bench.workloads.user_table_source import Source, user_table
from lamella.core.errors import Cancelled, LamellaError
from lamella.core.filters import Filter, parse
from lamella.core.jobs import Job, Progress
from lamella.core.store.paths import is_store
from lamella.core.validation import path_of

ALL = "all"
DEFAULT_WORKLOAD, DEFAULT_SYSTEMS = "small", ("lamella", "sqlite")


INCOMPLETE = REGRESSION = 1
"""Exit codes: something failed or was not measured; something became slower."""


def run(arguments: argparse.Namespace) -> int:
    terminal.follow_settings()
    if arguments.list:
        return show_systems()
    saved_runs = SavedRuns(paths.saved_runs())
    if arguments.runs is not None:
        return show_runs(saved_runs, " ".join(arguments.runs))
    if arguments.show is not None:
        return show_run(saved_runs, arguments)
    if arguments.delete:
        return delete(saved_runs, arguments.delete)
    if arguments.compare:
        before, after = arguments.compare
        return compare(saved_runs, before, after, arguments.systems, arguments.tolerance)
    return _benchmark(_choice(arguments, saved_runs), saved_runs, arguments)


def _choice(arguments: argparse.Namespace, saved_runs: SavedRuns) -> Choice:
    if arguments.again is None:
        return choice_of(arguments)
    choice = saved_runs.run(arguments.again).choice
    if choice is None:
        raise LamellaError(f"Run {arguments.again} measured a workload that this version does not have")
    return choice


def _benchmark(choice: Choice, saved_runs: SavedRuns, arguments: argparse.Namespace) -> int:
    """Run the benchmark, report and save it. Outputs that cannot be written are refused before it starts."""
    for out in filter(None, (arguments.json, arguments.report, arguments.export)):
        need_folder(out)
    costs = saved_runs.costs() if arguments.save else shipped_costs()
    runner.check_choice(choice)
    screen = Screen(arguments.quiet)
    screen.say(_announcement(refuse_what_does_not_fit(choice, costs), choice.folder))
    recording = Recording(choice)
    stopped = not _run_until_stopped(choice, costs, recording, screen)
    recorded_run = recording.run()
    finish(recorded_run, print, arguments.json, arguments.report)
    export(recorded_run, arguments.export)
    if arguments.save:
        _save(saved_runs, recorded_run, arguments.note, stopped)
    if stopped:
        return STOPPED
    if not recorded_run.records:
        print("Nothing was measured.", file=sys.stderr)
    return INCOMPLETE if has_failures(recorded_run) or not recorded_run.records else OK


def _run_until_stopped(choice: Choice, costs: Costs, recording: Recording, screen: Screen) -> bool:
    """Run the benchmark. Return False if Ctrl+C stopped it."""

    def receive(message: Message) -> None:
        recording.receive(message)
        screen.receive(message)

    try:
        with terminal.job(screen.progress) as job:
            runner.run(choice, receive, job, costs=costs)
    except Cancelled:
        print("\nStopped. Results so far:")
        return False
    return True


def _announcement(estimate: Estimate, folder: Path | None) -> str:
    place = f" in {folder}" if folder else ""
    return (
        f"About {shown_seconds(estimate.seconds)}, {shown_bytes(estimate.memory_bytes)} of memory and"
        f" {shown_bytes(estimate.disk_bytes)} on disk{place} at most."
    )


def _save(saved_runs: SavedRuns, recorded_run: SavedRun, note: str | None, stopped: bool) -> None:
    if not (recorded_run.records or recorded_run.failures):
        return
    number = saved_runs.save(recorded_run)
    text = note or ("Stopped before the end" if stopped else "")
    if text:
        saved_runs.note(number, text)
    print(f"Saved as run {number}: lamella bench --runs lists the saved runs, --compare compares two.")


# ----------------------------------------------------------------------- the choice


def choice_of(arguments: argparse.Namespace) -> Choice:
    """The choice that the arguments describe. Raises UnknownWorkload and LamellaError; names of systems are
    checked later, with the whole benchmark."""
    parts = tuple(_parts(arguments))
    return Choice(
        parts=parts,
        fresh=arguments.fresh,
        seed=new_seed() if arguments.seed is None else arguments.seed,
        folder=arguments.folder,
        interpreter=arguments.interpreter,
        limit_seconds=arguments.limit,
        limit_bytes=arguments.limit_memory,
        words=_words(arguments, _default_systems([part.workload for part in parts])),
    )


def _parts(arguments: argparse.Namespace) -> Iterator[Part]:
    scale, rows = _size(arguments)
    silent = unready() if ALL in (arguments.systems or ()) else {}  # which connects to servers: only once
    for workload in _workloads(arguments):
        systems = _systems(arguments.systems, workload, silent)
        part = part_of(workload, systems, rows, arguments.repeats, scale)
        yield part if arguments.table_rows is None else _with_table(part, arguments.table_rows)


def _workloads(arguments: argparse.Namespace) -> list[Workload]:
    if arguments.table is not None:
        return [workload_of_table(arguments.table, arguments.where, arguments.columns)]
    if arguments.where is not None or arguments.columns is not None:
        raise LamellaError("--where and --columns need a table of your own", fix="Name it with --table")
    selection = arguments.workload or [DEFAULT_WORKLOAD]
    return list({workload.id: workload for name in selection for workload in workloads_named(name)}.values())


def _systems(selection: Sequence[str] | None, workload: Workload, silent: Collection[str]) -> list[str]:
    """The ids of the systems to run. A benchmark written in a Python file has systems of its own: all of
    them take part, unless some are named as in the file."""
    if workload.family == "own":
        own = system_names(workload)
        everybody = not selection or ALL in selection
        return own if everybody else [name for name in own if name.rpartition(":")[2] in (selection or ())]
    names = selection or _default_systems([workload])
    return [entry.id for entry in ready_systems(workload, silent)] if ALL in names else list(names)


def _default_systems(workloads: Sequence[Workload]) -> list[str]:
    """The default systems that take any of the workloads; if none does, all, and the benchmark reports it."""
    able = [n for n in DEFAULT_SYSTEMS if any(ENTRIES[n].takes(workload.family) for workload in workloads)]
    return able or list(DEFAULT_SYSTEMS)


def _size(arguments: argparse.Namespace) -> tuple[str | None, list[int] | None]:
    """The name of the scale, or the numbers of rows; neither, if the workload's own apply."""
    if arguments.scale is None or arguments.scale in SCALES:
        return arguments.scale, arguments.rows
    try:
        return None, whole_numbers(arguments.scale)
    except argparse.ArgumentTypeError as error:
        names = " or ".join(SCALES)
        raise LamellaError(
            f"--scale {arguments.scale} is neither {names} nor a list of row counts"
        ) from error


def _with_table(part: Part, table_rows: int) -> Part:
    workload = part.workload
    if workload.table_rows is None or table_rows < 1:
        raise LamellaError(
            f"{workload.title}: --table-rows {table_rows} has no meaning here",
            fix="Leave it out: it must be at least 1, and is for workloads whose --rows count changed rows",
        )
    return replace(part, workload=replace(workload, table_rows=table_rows))


def _words(arguments: argparse.Namespace, default_systems: Sequence[str]) -> tuple[str, ...]:
    """The words of a command that repeats this choice."""
    lists = {
        "--workload": arguments.workload or ([] if arguments.table else [DEFAULT_WORKLOAD]),
        "--systems": arguments.systems or default_systems,
        "--rows": arguments.rows or [],
        "--columns": arguments.columns or [],
    }
    single = {
        "--table": arguments.table,
        "--where": arguments.where,
        "--scale": arguments.scale,
        "--table-rows": arguments.table_rows,
        "--repeats": arguments.repeats,
    }
    options = {name: ",".join(map(str, values)) for name, values in lists.items() if values}
    options |= {name: str(value) for name, value in single.items() if value is not None}
    return tuple(word for pair in options.items() for word in pair)


# ----------------------------------------------------------------------- the user's table


def workload_of_table(
    address: str, where: str | None = None, columns: Sequence[str] | None = None, job: Job | None = None
) -> Workload:
    """A workload on a table of the user's. `address` is a file, a folder or a pattern of files, STORE:TABLE,
    or a store with one table.

    Raises the errors of opening it, BadFilter for a condition that does not fit, and UnknownColumn.
    """
    source = source_of(address)
    with source.open_table() as dataset:
        return user_table(dataset, source, columns, _condition(where), job)


def source_of(address: str) -> Source:
    place = path_of(address, "the table")
    if is_store(place):
        return Source(str(place.absolute()), _only_table(place))
    source, table = split_reference(address)
    if table is not None:
        return Source(str(path_of(source, "the table")), table)
    refuse_misspelt(address)
    return Source(str(place.absolute()))


def _only_table(place: Path) -> str:
    from lamella.core.store.store import Store

    with Store.open(place, read_only=True) as store:
        names = store.tables
    if len(names) != 1:
        raise LamellaError(
            f"{place}: the table to measure is not given",
            fix=f"Give {place}:TABLE; the tables are {', '.join(names)}",
        )
    return names[0]


def _condition(where: str | None) -> Filter | None:
    return None if where is None else parse(where)


NOTE_CHARACTERS = 60
WIDTH = 100
"""The width of lines if there is no terminal that has one."""


# ----------------------------------------------------------------------- workloads and systems


def show_systems() -> int:
    reasons = unready()
    print("Workloads:")
    for workload in WORKLOADS.values():
        print(f"  {workload.id}")
        for about in (workload.about, workload.check.sentence, _sizes(workload), _ready(workload, reasons)):
            print(_wrap(about, "    "))
    print("\nGroups:")
    for name, members in (*GROUPS.items(), ("all", ("every workload",))):
        print(_wrap(" ".join(members), f"  {name:26}"))
    print("\nSystems:")
    for entry in ENTRIES.values():  # not wrapped: the install command can be copied
        print(f"  {entry.id:26}{entry.title}. {reasons.get(entry.id, 'Ready.')}")
    return OK


def _sizes(workload: Workload) -> str:
    scales = {
        "rows": workload.default_rows,
        "small": workload.small_rows,
        "published": workload.published_rows,
    }
    parts = [f"{name} {', '.join(f'{rows:,}' for rows in sizes)}" for name, sizes in scales.items() if sizes]
    return f"Sizes: {'; '.join(parts)}."


def _ready(workload: Workload, reasons: Collection[str]) -> str:
    return f"Systems that are ready: {' '.join(entry.id for entry in ready_systems(workload, reasons))}"


def _wrap(text: str, first: str) -> str:
    """Wrap `text` to the terminal's width, indented by the width of `first`; hyphens do not break lines."""
    return textwrap.fill(
        text,
        shutil.get_terminal_size((WIDTH, 0)).columns,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


BAR = 20
CREDIBLE = 0.05
"""The share of a benchmark that must be done before its pace predicts better than the estimate."""


# ----------------------------------------------------------------------- progress


class Screen:
    """Prints the benchmark to standard output, and a progress line to standard error if it is a terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar = sys.stderr.isatty() and not quiet
        self._diary = Console(self.say)
        self._doing = ""
        self._began = monotonic()

    def say(self, line: str) -> None:
        if self._quiet:
            return
        if self._bar:
            redraw("")
        print(line, flush=True)

    def receive(self, message: Message) -> None:
        if isinstance(message, StepStart):
            self._doing = f"{message.system}, {message.rows:,} rows, {message.step.replace('_', ' ')}"
            if self._bar:
                return
        self._diary.receive(message)

    def progress(self, progress: Progress) -> None:
        if not self._bar:
            return
        line = f"{bar(progress)}  {time_left(progress, monotonic() - self._began)}  {self._doing}"
        redraw(line[: shutil.get_terminal_size().columns - 1])


def bar(progress: Progress) -> str:
    share = progress.fraction or 0.0
    full = round(share * BAR)
    return f"[{'#' * full}{'-' * (BAR - full)}] {share:4.0%}"


def time_left(progress: Progress, seconds: float) -> str:
    """The time left: the rest of the estimate at the pace so far. Progress counts estimated milliseconds."""
    whole, seconds_done = (progress.total or 0) / 1000, progress.done / 1000
    pace = seconds / seconds_done if seconds_done > CREDIBLE * whole else 1.0
    remaining = max(0.0, whole - seconds_done) * pace
    return f"{remaining / 60:.0f} min left" if remaining >= 100 else f"{remaining:.0f} s left"


# ----------------------------------------------------------------------- saved runs and results files


def show_runs(saved_runs: SavedRuns, words: str = "") -> int:
    runs = [run for run in saved_runs.runs() if run.matches(words)]
    if not runs:
        print(f"There are no saved runs {f'with {words!r} ' if words else ''}in {saved_runs.path}.")
        return OK
    header = ("run", "started", "took", "samples", "failed", "what", "note")
    print(ReportTable(f"Saved in {saved_runs.path}", header, tuple(map(_run_line, runs))).as_text())
    return OK


def show_run(saved_runs: SavedRuns, arguments: argparse.Namespace) -> int:
    if arguments.note is not None:
        _write_note(saved_runs, arguments.show, arguments.note)
    run = combine([_run_named(saved_runs, reference) for reference in arguments.show])
    if arguments.workload:
        run = _only(run, {workload.id for name in arguments.workload for workload in workloads_named(name)})
    print(f"{run.title}\n{run.started.astimezone():%Y-%m-%d %H:%M}. {run.note}\n{run.command}")
    for machine in dict.fromkeys(sentence(workload.environment) for workload in run.surroundings):
        print(machine)
    finish(run, print, arguments.json, arguments.report)
    export(run, arguments.export)
    return OK


def _write_note(saved_runs: SavedRuns, runs: Sequence[str], note: str) -> None:
    for reference in runs:
        if not _is_number(reference):
            raise LamellaError(f"{reference}: the note of a results file cannot be changed", fix=_SHOW_RUN)
        saved_runs.note(int(reference), note)


def _only(run: SavedRun, workloads: Collection[str]) -> SavedRun:
    """The part of a run that is about these workloads."""
    items: Sequence[Record | Failure | UnsupportedStep] = (
        *run.records,
        *run.failures,
        *run.unsupported_steps,
    )
    measured = dict.fromkeys(item.workload for item in items)
    if not measured.keys() & workloads:
        raise LamellaError(
            f"{run.title}: it did not measure {', '.join(sorted(workloads))}",
            fix=f"It measured {', '.join(measured)}",
        )
    return replace(
        run,
        records=tuple(record for record in run.records if record.workload in workloads),
        failures=tuple(failure for failure in run.failures if failure.workload in workloads),
        unsupported_steps=tuple(item for item in run.unsupported_steps if item.workload in workloads),
        surroundings=tuple(item for item in run.surroundings if item.workload in workloads)
        or run.surroundings,
        processes=tuple(item for item in run.processes if item.workload in workloads),
    )


_SHOW_RUN = "Give --note with the number of a saved run"


def export(run: SavedRun, out: Path | None) -> None:
    if out is not None:
        write_results_file(run, out)
        print(f"Results file: {out}")


def delete(saved_runs: SavedRuns, numbers: Sequence[int]) -> int:
    saved_runs.delete(numbers)
    print(f"Deleted: {', '.join(map(str, numbers))}")
    return OK


def compare(
    saved_runs: SavedRuns,
    before: str,
    after: str,
    systems: Collection[str] | None = None,
    tolerance: float = 1.0,
) -> int:
    """Compare two runs, or only these systems of them. Return 1 if anything became slower than tolerated."""
    comparisons = compared(_samples(saved_runs, before), _samples(saved_runs, after))
    comparisons = [
        comparison for comparison in comparisons if systems is None or comparison.system in systems
    ]
    if not comparisons:
        print(f"{before} and {after} measured nothing in common.")
        return OK
    print(comparison_table(comparisons).as_text())
    verdicts = [comparison.verdict for comparison in comparisons]
    counts = ", ".join(f"{verdicts.count(verdict):,} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"\n{len(comparisons):,} measured in both: {counts}.")
    slower = [
        comparison
        for comparison in comparisons
        if comparison.verdict == SLOWER and 1 / comparison.factor >= tolerance
    ]
    if tolerance > 1:
        print(f"{len(slower):,} of them took {tolerance:g} times as long or longer.")
    return REGRESSION if slower else OK


def _samples(saved_runs: SavedRuns, reference: str) -> Sequence[Sample]:
    if _is_number(reference):
        return saved_runs.run(int(reference)).samples
    path = Path(reference)
    return read_json(path) if _begins_as_json(path) else read_results_file(path).samples


def _run_named(saved_runs: SavedRuns, reference: str) -> SavedRun:
    return saved_runs.run(int(reference)) if _is_number(reference) else read_results_file(Path(reference))


def _is_number(text: str) -> bool:
    """Whether it is the number of a saved run rather than the name of a file."""
    return text.isdecimal() and not Path(text).exists()


def _begins_as_json(path: Path) -> bool:
    """Whether the file looks like JSON; also True if it cannot be read, which its reader reports."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] in (b"[", b"{")
    except OSError:
        return True


def _run_line(run: RunSummary) -> tuple[str, ...]:
    return (
        str(run.id),
        f"{run.started.astimezone():%Y-%m-%d %H:%M}",
        shown_seconds(run.seconds),
        f"{run.samples:,}",
        f"{run.failures:,}",
        run.title,
        textwrap.shorten(run.note, NOTE_CHARACTERS, placeholder=" …"),
    )
