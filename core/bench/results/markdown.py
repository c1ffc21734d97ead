"""A benchmark as Markdown that can be read in a minute: the verdict and matrix of each workload, the plots,
how to run it again, and the machine. An appendix shows how each system was set up and, for each workload, a
table for every size and the failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from lamella.core.bench.engine.machine import sentence
from lamella.core.bench.engine.protocol import Failure, UnsupportedStep
from lamella.core.bench.registry import entry_named
from lamella.core.bench.results.figures import in_order, workload_about, workload_or_none, workload_title
from lamella.core.bench.results.matrix import matrix_of, usual_samples
from lamella.core.bench.results.published_results import claims_table
from lamella.core.bench.results.records import Sample, Tally, by_workload
from lamella.core.bench.results.report import overview_table, points_of, report_tables, shown_check
from lamella.core.bench.results.run import SavedRun, by_system

HOW_TO_READ = (
    "Times are medians; ± is the standard deviation of the samples, as a share of the median. **Bold** marks"
    " the fastest system of an operation, and those within 5 % of it. Lamella (or the first system, if it"
    " is not among them) is compared with each: ÷ 3.1 beside a time means that Lamella takes that time"
    " divided by 3.1, × 2.0 that it takes twice that time, so that the other is faster, and ≈ that they are"
    " within 5 %. *First* is the first call of a question after its database was opened, *again* are later"
    " calls. – means not measured: not at this size, or for the reason given below the tables."
)


def markdown_report(run: SavedRun, plots: str = "") -> str:
    """The report of a run. `plots` is the path of a picture of the plots, relative to the page."""
    surroundings = by_system(run.surroundings)
    parts = [
        f"# {run.title}",
        *_verdicts(run),
        f"![The plots]({quote(plots)})" if plots else "",
        _how(run),
        _machine(surroundings),
        "## Appendix",
        _systems(surroundings),
        _differences(run),
        HOW_TO_READ,
        _overview(run.samples),
    ]
    for name, records in _groups(run).items():
        parts += _section(name, records, run)
    parts.append(_claims(run.samples))
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdicts(run: SavedRun) -> list[str]:
    """A sentence and a matrix for each workload, at its largest size."""
    lines = []
    for name, records in by_workload(run.samples).items():
        tally = Tally(records)
        if (workload := workload_or_none(name)) is None or not tally.rows:
            continue
        failures = [failure for failure in run.failures if failure.workload == name]
        unsupported = [gap for gap in run.unsupported_steps if gap.workload == name]
        matrix = matrix_of(
            workload, tally, tally.rows[-1], "median", usual_samples(workload), failures, unsupported
        )
        check = shown_check(workload, points_of(records))
        lines.append(f"**{workload.title}.** {matrix.verdict} {check}")
        if matrix.rivals:
            lines.append(matrix.table().as_markdown())
    return lines


def _overview(records: Sequence[Sample]) -> str:
    table = overview_table(records)
    return table.as_markdown() if table.lines else ""


def _claims(records: Sequence[Sample]) -> str:
    table = claims_table(records)
    if not table.lines:
        return ""
    about = "The claims of the documents behind this benchmark, as far as this run measured them."
    return f"## Claims of the documents\n\n{about}\n\n{table.as_markdown()}"


def machine_and_systems(surroundings: Mapping[str, Mapping[str, Any]]) -> str:
    """The machine and the systems. `surroundings` are those of `run.by_system`."""
    return "\n\n".join(filter(None, [_machine(surroundings), _systems(surroundings)]))


def _machine(surroundings: Mapping[str, Mapping[str, Any]]) -> str:
    if not surroundings:
        return ""
    first = next(iter(surroundings.values()))
    versions = ", ".join(f"{name} {number}" for name, number in first.get("libraries", {}).items())
    return f"Machine: {sentence(dict(first))}. Libraries: {versions}."


def _systems(surroundings: Mapping[str, Mapping[str, Any]]) -> str:
    pythons = dict.fromkeys(details.get("python", "") for details in surroundings.values())
    return "\n".join(_system(name, surroundings[name], len(pythons) > 1) for name in in_order(surroundings))


def _how(run: SavedRun) -> str:
    seed = "" if run.choice is None else f", the order of the systems shuffled by the seed {run.choice.seed}"
    began = f"{run.started:%Y-%m-%d %H:%M} UTC, {run.seconds:,.0f} s{seed}."
    note = f"\n\n{run.note}" if run.note else ""
    return f"Run on {began} To run it again:\n\n```\n{run.command}\n```{note}"


def _system(name: str, details: Mapping[str, Any], with_python: bool) -> str:
    python = f" ({details.get('python', '')})" if with_python else ""
    return f"- {entry_named(name).title} {details['version']}{python}: {details['description']}."


def _differences(run: SavedRun) -> str:
    """The systems that are configured differently for some workloads."""
    usual = by_system(run.surroundings)
    titles_of: dict[tuple[str, str], list[str]] = {}
    for environment in run.surroundings:
        if environment.description != usual[environment.system]["description"]:
            titles_of.setdefault((environment.system, environment.description), []).append(
                workload_title(environment.workload)
            )
    lines = [
        f"- {entry_named(system).title}, in {', '.join(dict.fromkeys(titles))}: {description}."
        for (system, description), titles in titles_of.items()
    ]
    return "Different configurations for some workloads:\n\n" + "\n".join(lines) if lines else ""


def _groups(run: SavedRun) -> dict[str, list[Sample]]:
    """The samples by workload; empty for workloads in which everything failed."""
    outcomes: list[Sample | Failure | UnsupportedStep] = [*run.samples, *run.failures, *run.unsupported_steps]
    groups = by_workload(run.samples)
    return {outcome.workload: groups.get(outcome.workload, []) for outcome in outcomes}


def _section(name: str, records: Sequence[Sample], run: SavedRun) -> list[str]:
    all_lost: list[Failure | UnsupportedStep] = [*run.unsupported_steps, *run.failures]
    missing = [loss for loss in all_lost if loss.workload == name]
    return [_heading(name), *_sample_tables(records), *not_measured_lines(missing)]


def _heading(name: str) -> str:
    return f"## {workload_title(name)}\n\n{workload_about(name)}"


def _sample_tables(records: Sequence[Sample]) -> list[str]:
    return [table.as_markdown() for table in report_tables(records)]


Reason = tuple[str, str]
"""A system, and what it does not support or what went wrong."""


def not_measured_lines(missing: Sequence[Failure | UnsupportedStep]) -> list[str]:
    """A paragraph of a page, or none: each reason once, with everything that it applies to."""
    places: dict[Reason, list[str]] = {}
    for loss in missing:
        places.setdefault(_reason(loss), []).append(_place(loss))
    lines = [f"- {_at_places(system, where)}: {why}" for (system, why), where in places.items()]
    return ["Not measured:\n\n" + "\n".join(lines)] if lines else []


def _reason(loss: Failure | UnsupportedStep) -> Reason:
    if isinstance(loss, UnsupportedStep):
        return loss.system, _sentence(loss.reason)
    return loss.system, f"**{loss.kind}**. {loss.message}"


def _place(loss: Failure | UnsupportedStep) -> str:
    if isinstance(loss, UnsupportedStep):
        return loss.step.replace("_", " ")
    return f"{loss.operation.replace('_', ' ')}, {loss.rows:,} rows"


def _at_places(system: str, places: Sequence[str]) -> str:
    """A system and its steps, with the number of times if there are several."""
    counts = Counter(places).items()
    parts = [f"{place} ({times} times)" if times > 1 else place for place, times in counts]
    return f"{entry_named(system).title}, {'; '.join(parts)}"


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."
