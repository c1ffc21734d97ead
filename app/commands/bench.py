"""`lamella bench`: benchmarks in the terminal, kept and reported."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lamella.app import paths
from lamella.app.commands import bench_list, bench_saved, terminal
from lamella.app.commands.bench_choice import choice_of
from lamella.app.commands.bench_screen import Screen
from lamella.core.bench.engine import runner
from lamella.core.bench.engine.choice import Choice
from lamella.core.bench.engine.costs import Costs, Estimate, refuse_what_does_not_fit, shipped_costs
from lamella.core.bench.engine.protocol import Message
from lamella.core.bench.results.console import finish, has_failures
from lamella.core.bench.results.figures import shown_bytes, shown_seconds
from lamella.core.bench.results.records import need_folder
from lamella.core.bench.results.run import Recording, SavedRun
from lamella.core.bench.results.store import SavedRuns
from lamella.core.errors import Cancelled, LamellaError

OK, LOST, STOPPED = 0, 1, 130


def run(arguments: argparse.Namespace) -> int:
    terminal.follow_settings()
    if arguments.list:
        return bench_list.show()
    kept = SavedRuns(paths.saved_runs())
    if arguments.runs:
        return bench_saved.show_runs(kept)
    if arguments.show is not None:
        return bench_saved.show_run(kept, arguments)
    if arguments.delete:
        return bench_saved.delete(kept, arguments.delete)
    if arguments.compare:
        return bench_saved.compare(kept, *arguments.compare)
    return _benchmark(_choice(arguments, kept), kept, arguments)


def _choice(arguments: argparse.Namespace, kept: SavedRuns) -> Choice:
    if arguments.again is None:
        return choice_of(arguments)
    choice = kept.run(arguments.again).choice
    if choice is None:
        raise LamellaError(f"Run {arguments.again} measured a workload that this version does not have")
    return choice


def _benchmark(choice: Choice, kept: SavedRuns, arguments: argparse.Namespace) -> int:
    """What cannot be written or kept afterwards is refused before anything is measured."""
    for out in filter(None, (arguments.json, arguments.report, arguments.export)):
        need_folder(out)
    costs = kept.costs() if arguments.save else shipped_costs()
    runner.check_choice(choice)
    screen = Screen(arguments.quiet)
    screen.say(_announced(refuse_what_does_not_fit(choice, costs), choice.folder))
    recording = Recording(choice)
    stopped = not _finished(choice, costs, recording, screen)
    done = recording.run()
    finish(done, print, arguments.json, arguments.report)
    bench_saved.export(done, arguments.export)
    if arguments.save:
        _save(kept, done, arguments.note, stopped)
    if stopped:
        return STOPPED
    if not done.records:
        print("Nothing was measured.", file=sys.stderr)
    return LOST if has_failures(done) or not done.records else OK


def _finished(choice: Choice, costs: Costs, recording: Recording, screen: Screen) -> bool:
    """False when Ctrl+C ended it."""

    def hear(message: Message) -> None:
        recording.hear(message)
        screen.hear(message)

    try:
        with terminal.job(screen.progress) as job:
            runner.run(choice, hear, job, costs=costs)
    except Cancelled:
        print("\nStopped. This was measured until then:")
        return False
    return True


def _announced(found: Estimate, folder: Path | None) -> str:
    place = f" in {folder}" if folder else ""
    return (
        f"About {shown_seconds(found.seconds)}, {shown_bytes(found.memory_bytes)} of memory and"
        f" {shown_bytes(found.disk_bytes)} on the disk{place} at the most."
    )


def _save(kept: SavedRuns, done: SavedRun, note: str | None, stopped: bool) -> None:
    if not (done.records or done.failures):
        return
    number = kept.save(done)
    said = note or ("Stopped before its end" if stopped else "")
    if said:
        kept.note(number, said)
    print(f"Saved as run {number}: lamella bench --runs lists them, --compare puts two beside each other.")
