"""What `lamella bench` can be told."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path

from lamella.app.query_options import WHERE_HELP

Words = Callable[[str], list[str]]
Number = Callable[[str], int]

ABOUT = (
    "Measure systems against each other: each in processes of its own, in shuffled order, with the same data,"
    " and with answers that must agree. What is measured is saved, unless --no-save says otherwise."
)
STATUSES = (
    "exit status: 0 when all went well; 1 when a system failed, crashed or answered wrongly, when nothing was"
    " measured, and with --compare when something became slower (passing a limit is a result like any other);"
    " 2 for what cannot be run as asked; 130 when stopped with Ctrl+C, after which what was measured is"
    " reported all the same"
)
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def of_bench(parser: argparse.ArgumentParser, names: Words, number: Number) -> None:
    parser.description, parser.epilog = ABOUT, STATUSES
    _what(parser.add_argument_group("what is measured"), names, number)
    _how(parser.add_argument_group("how"), names, number)
    _results(parser.add_argument_group("results"))
    _kept(parser.add_argument_group("instead of a benchmark"), number)


def _what(group: argparse._ArgumentGroup, names: Words, number: Number) -> None:
    group.add_argument(
        "--workload",
        action="extend",
        type=names,
        metavar="NAME|GROUP|all",
        help="what is asked of each system (small); several with commas, or given more than once",
    )
    group.add_argument(
        "--backends",
        action="extend",
        type=names,
        metavar="NAME|all",
        help="the systems (lamella,sqlite); all: each that takes the workload and has what it needs here",
    )
    size = group.add_mutually_exclusive_group()
    size.add_argument(
        "--rows",
        type=lambda text: [number(word) for word in names(text)],
        metavar="N,N,…",
        help="sizes (the workload's own)",
    )
    size.add_argument(
        "--scale",
        metavar="small|published|N,N,…",
        help="small: a few minutes for all workloads together; published: the sizes that others published,"
        " where they did",
    )
    group.add_argument(
        "--table-rows", type=number, metavar="N", help="of the table, where --rows are those that change"
    )
    group.add_argument(
        "--table", metavar="FILE|STORE:TABLE", help="a table of your own, instead of a workload"
    )
    group.add_argument("--where", metavar="CONDITION", help=f"of --table: {WHERE_HELP}")
    group.add_argument(
        "--columns", type=names, metavar="NAME,NAME,…", help="of --table: these instead of all"
    )


def _how(group: argparse._ArgumentGroup, names: Words, number: Number) -> None:
    group.add_argument("--repeats", type=number, metavar="N", help="of each operation (the workload's own)")
    group.add_argument("--limit", type=seconds, metavar="SECONDS", help="what one step may take")
    group.add_argument(
        "--limit-memory",
        type=byte_count,
        metavar="SIZE",
        help="what one child process may hold, such as 4GB (nine tenths of what is free)",
    )
    group.add_argument("--folder", type=Path, help="where the databases are made, so on which disk")
    group.add_argument("--fresh", action="store_true", help="a process for every step, so reads are cold")
    group.add_argument("--interpreter", metavar="PATH", help="the Python that runs the systems, PyPy say")
    group.add_argument(
        "--seed", type=number, metavar="N", help="of the shuffled order, to have the same again"
    )


def _results(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", type=Path, metavar="OUT", help="write every sample to this file")
    group.add_argument(
        "--report", type=Path, metavar="OUT.md", help="write tables, machine, versions and the command to it"
    )
    group.add_argument("--quiet", action="store_true", help="nothing is said before the benchmark is over")
    group.add_argument(
        "--no-save",
        dest="save",
        action="store_false",
        help="do not keep the run, so that --runs, --show, --again and --compare never have it",
    )
    group.add_argument("--note", metavar="TEXT", help="saved with the run; with --show, with that one")


def _kept(group: argparse._ArgumentGroup, number: Number) -> None:
    one = group.add_mutually_exclusive_group()
    one.add_argument("--list", action="store_true", help="the workloads, and the systems with what they need")
    one.add_argument("--runs", action="store_true", help="the runs that were saved, newest first")
    one.add_argument(
        "--show",
        type=number,
        nargs="+",
        metavar="RUN",
        help="report a saved run, or several in one: of each workload and size the last that has it;"
        " --json and --report write it",
    )
    one.add_argument("--again", type=number, metavar="RUN", help="run once more what a saved run measured")
    one.add_argument("--delete", type=number, nargs="+", metavar="RUN", help="forget saved runs")
    one.add_argument(
        "--compare",
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="numbers of saved runs, or files of --json: slower is what has medians more than 5%% apart and"
        " middle halves of at least 3 samples that do not overlap",
    )


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def byte_count(text: str) -> int:
    """Bytes, or with a unit: 500MB."""
    digits = text.strip().upper().rstrip("BKMGT").strip()
    unit = text.strip().upper()[len(digits) :].strip()
    try:
        amount = Decimal(digits) * UNITS[unit]
    except (InvalidOperation, KeyError):
        amount = Decimal(0)
    if not 0 < amount < 10**18:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 500MB or 4GB")
    return int(amount)
