"""Questions to stores beside other systems: `python -m tests.bench.query_bench [--only taxi,entities]`.

Every system runs in a process of its own, several times, in turns: the first call of a question is told apart
from those after it. Answers are compared across systems before any time counts.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from core.bench.environment import environment, sentence
from core.bench.ratios import shown_seconds
from core.bench.report import ReportTable
from tests.bench.asking.bridge import BRIDGE
from tests.bench.asking.entities import ENTITIES
from tests.bench.asking.indexes import INDEXES
from tests.bench.asking.model import LAMELLA, Asked, Suite, disagreements
from tests.bench.asking.relations import RELATIONS
from tests.bench.asking.taxi import TAXI
from tests.bench.asking.text import TEXT
from tests.bench.asking.timing import timed
from tests.bench.page import put_into

ROOT = Path(__file__).resolve().parents[2]
SUITES = {suite.name: suite for suite in (TAXI, ENTITIES, INDEXES, TEXT, RELATIONS, BRIDGE)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SUITES), help="which suites: %(default)s")
    parser.add_argument("--rows", type=int, help="rows of each suite, instead of its own number")
    parser.add_argument("--repeats", type=int, default=5, help="processes for each system (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the databases are made, so on which disk")
    parser.add_argument("--json", type=Path, help="append every measurement to this file")
    parser.add_argument("--report", type=Path, help="a page with markers to put the tables into")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.child:
        return child(*given.child, given.folder)
    for name in given.only.split(","):
        suite = SUITES[name]
        rows = given.rows or suite.rows
        found = list(measured(suite, rows, given.repeats, given.folder))
        report(suite, rows, found, given.report)
        if given.json:
            with given.json.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(one)) + "\n" for one in found)
    return 0


def measured(suite: Suite, rows: int, repeats: int, parent: Path | None) -> Iterator[Asked]:
    with tempfile.TemporaryDirectory(prefix="lamella-query-", dir=parent) as folder:
        print(f"{suite.name}: making {rows:,} rows", flush=True)
        suite.make(Path(folder), rows)
        turns = list(suite.systems)
        for _ in range(repeats):
            random.shuffle(turns)
            for system in turns:
                yield from in_a_process(suite, system, Path(folder))


def in_a_process(suite: Suite, system: str, folder: Path) -> Iterator[Asked]:
    words = [sys.executable, "-m", "tests.bench.query_bench"]
    words += ["--folder", str(folder), "--child", suite.name, system]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        told = json.loads(line)
        yield Asked(**{**told, "milliseconds": tuple(told["milliseconds"])})


def child(suite: str, system: str, folder: Path) -> int:
    """A line of JSON for each question."""
    for one in in_this_process(SUITES[suite], system, folder):
        print(json.dumps(asdict(one)))
    return 0


def in_this_process(suite: Suite, system: str, folder: Path) -> Iterator[Asked]:
    for name, question in suite.systems[system](folder).items():
        yield timed(suite.name, system, name, question)


def report(suite: Suite, rows: int, found: Sequence[Asked], page: Path | None) -> None:
    wrong = disagreements(found)
    table = table_of(suite, rows, found)
    machine = sentence(environment(ROOT))
    text = f"{suite.about.strip()}\n\n{rows:,} rows. Machine: {machine}.\n\n{table.as_markdown()}"
    if wrong:
        text += "\n\nAnswers differ:\n\n" + "\n".join(f"- {line}" for line in wrong)
    print(text)
    if page is not None:
        put_into(page, suite.name, text)


def table_of(suite: Suite, rows: int, found: Sequence[Asked]) -> ReportTable:
    """Medians over processes, first and again, and how Lamella stands to its goal."""
    header = ["question", *(f"{system}, {when}" for system in suite.systems for when in ("first", "again"))]
    notes = {one.question: one.note for one in found if one.note}
    first, again = _medians(found, "first"), _medians(found, "again")
    lines = []
    for question in dict.fromkeys(one.question for one in found):
        cells = [question]
        for system in suite.systems:
            cells += [shown(times.get((system, question))) for times in (first, again)]
        noted = [notes.get(question, "–")] if notes else []
        lines.append((*cells, *noted, _goal(suite, question, again)))
    header += ["note"] if notes else []
    return ReportTable(f"{suite.name}, {rows:,} rows", (*header, "goal"), tuple(lines))


def _medians(found: Sequence[Asked], when: str) -> dict[tuple[str, str], float]:
    """By system and question."""
    times: dict[tuple[str, str], list[float]] = {}
    for one in found:
        times.setdefault((one.system, one.question), []).append(getattr(one, when))
    return {what: statistics.median(of) for what, of in times.items()}


def shown(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else shown_seconds(milliseconds / 1e3)


def _goal(suite: Suite, question: str, again: Mapping[tuple[str, str], float]) -> str:
    """What the goal is and, in brackets, what was measured."""
    goal, own = suite.goals.get(question), again.get((LAMELLA, question))
    if goal is None or own is None:
        return "–"
    told = []
    if goal.milliseconds is not None:
        told.append(f"{_kept(own <= goal.milliseconds)}: ≤ {goal.milliseconds:g} ms")
    compared = [(system, (system, question), times) for system, times in goal.times.items()]
    compared += [(f"'{other}'", (LAMELLA, other), times) for other, times in goal.than.items()]
    for name, other, times in compared:
        if other in again:
            ratio = own / again[other]
            told.append(f"{_kept(ratio <= times)}: {_times(times)} {name} (is {_times(ratio)})")
    return "; ".join(told)


def _kept(met: bool) -> str:
    return "met" if met else "MISSED"


def _times(ratio: float) -> str:
    return f"× {ratio:.2g}" if ratio >= 1 else f"÷ {1 / ratio:.2g}"


if __name__ == "__main__":
    sys.exit(main())
