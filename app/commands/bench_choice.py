"""What `lamella bench` is asked, made of its arguments."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from lamella.app.command_options import whole_numbers
from lamella.core.bench.engine.choice import SCALES, Choice, Part, new_seed, part_of, ready_systems
from lamella.core.bench.registry import unready, workloads_named
from lamella.core.bench.workloads.model import Workload
from lamella.core.bench.workloads.user_script import system_names
from lamella.core.errors import LamellaError

ALL = "all"
DEFAULT_WORKLOAD, DEFAULT_SYSTEMS = "small", ("lamella", "sqlite")


def choice_of(arguments: argparse.Namespace) -> Choice:
    """Raises UnknownWorkload and LamellaError; names of systems are looked at when the benchmark is
    checked."""
    return Choice(
        parts=tuple(_parts(arguments)),
        fresh=arguments.fresh,
        seed=new_seed() if arguments.seed is None else arguments.seed,
        folder=arguments.folder,
        interpreter=arguments.interpreter,
        limit_seconds=arguments.limit,
        limit_bytes=arguments.limit_memory,
        words=_words(arguments),
    )


def _parts(arguments: argparse.Namespace) -> Iterator[Part]:
    scale, rows = _size(arguments)
    silent = unready() if ALL in (arguments.backends or ()) else {}  # servers are asked once
    for workload in _workloads(arguments):
        systems = _systems(arguments.backends, workload, silent)
        part = part_of(workload, systems, rows, arguments.repeats, scale)
        yield part if arguments.table_rows is None else _with_table(part, arguments.table_rows)


def _workloads(arguments: argparse.Namespace) -> list[Workload]:
    if arguments.table is not None:
        from lamella.app.commands.bench_table import workload_of_table

        return [workload_of_table(arguments.table, arguments.where, arguments.columns)]
    if arguments.where is not None or arguments.columns is not None:
        raise LamellaError("--where and --columns are of a table of your own", fix="Name it with --table")
    asked = arguments.workload or [DEFAULT_WORKLOAD]
    return list({found.id: found for name in asked for found in workloads_named(name)}.values())


def _systems(asked: Sequence[str] | None, workload: Workload, silent: Collection[str]) -> list[str]:
    """A benchmark's own file brings its systems, called as in the file: all of them, unless some are
    named."""
    if workload.family == "own":
        own = system_names(workload)
        everybody = not asked or ALL in asked
        return own if everybody else [name for name in own if name.rpartition(":")[2] in (asked or ())]
    names = asked or DEFAULT_SYSTEMS
    return [entry.id for entry in ready_systems(workload, silent)] if ALL in names else list(names)


def _size(arguments: argparse.Namespace) -> tuple[str | None, list[int] | None]:
    """The scale by its name, or the numbers of rows; neither for the workload's own."""
    if arguments.scale is None or arguments.scale in SCALES:
        return arguments.scale, arguments.rows
    try:
        return None, whole_numbers(arguments.scale)
    except argparse.ArgumentTypeError as error:
        names = " or ".join(SCALES)
        raise LamellaError(f"--scale {arguments.scale} is neither {names} nor numbers of rows") from error


def _with_table(part: Part, table_rows: int) -> Part:
    workload = part.workload
    if workload.table_rows is None or table_rows < 1:
        raise LamellaError(
            f"{workload.title}: --table-rows {table_rows} means nothing here",
            fix="Leave it out: it is for workloads whose --rows count changed rows, and at least 1",
        )
    return replace(part, workload=replace(workload, table_rows=table_rows))


def _words(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The same in a command that somebody may copy."""
    lists = {
        "--workload": arguments.workload or ([] if arguments.table else [DEFAULT_WORKLOAD]),
        "--backends": arguments.backends or DEFAULT_SYSTEMS,
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
    given = {name: ",".join(map(str, values)) for name, values in lists.items() if values}
    given |= {name: str(value) for name, value in single.items() if value is not None}
    return tuple(word for pair in given.items() for word in pair)
