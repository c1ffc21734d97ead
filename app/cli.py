"""The command line. What a command needs is imported when it runs: `lamella --version` is instant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from app import __version__, query_options
from app.query_options import WHERE_HELP

RAGGED_HELP = (
    "what to do with rows of a CSV file that do not fit its header (%(default)s): pad fills short ones up"
    " with nulls and cuts empty fields off long ones; a row with values beyond the header is always refused"
)
OUT_HELP = "a .parquet, .csv, .tsv or .jsonl file, or a folder with --partition-by"
PARTITION_HELP = "a folder for each value of these columns"
OK, BUG, REFUSED, DAMAGED, STOPPED = 0, 1, 2, 3, 130
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
MOST_ROWS = 10**12
ABOUT = "Look at, filter and edit data files of any size, with undo."
WINDOW_USAGE = "lamella [--sample] [FILE ...]   or   lamella COMMAND ..."


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 for a bug, 2 for what the user can mend, 3 for damage found, 130 when stopped."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        arguments = _command_parser(words[0]).parse_intermixed_args(_with_descending(words[1:]))
    elif words and _is_no_file(words[0]):
        return _refuse(words[0])
    else:
        arguments = _window_parser().parse_args(words)
    return _guarded(arguments.work, arguments)


def _with_descending(words: list[str]) -> list[str]:
    """What follows `--sort` belongs to it though a minus makes argparse take it for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--sort" and not word.startswith("--"):
            joined[-1] = f"--sort={word}"
        else:
            joined.append(word)
    return joined


def _is_no_file(word: str) -> bool:
    """Whether it was rather meant as a command; names with a suffix or a folder are left to the window."""
    plain = word.replace("-", "").replace("_", "").isalnum() and not word.startswith("-")
    return plain and not Path(word).exists()


def _refuse(word: str) -> int:
    from core.errors import nearest

    guesses = " or ".join(f"'{guess}'" for guess in nearest(word, list(COMMANDS)))
    way_out = f"Did you mean {guesses}?" if guesses else f"The commands are: {', '.join(COMMANDS)}."
    print(f"lamella: no file or command '{word}'. {way_out}", file=sys.stderr)
    return REFUSED


def _guarded(work: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run the command; say errors a person can act on in a sentence, and log everything else."""
    from core.errors import Cancelled, LamellaError

    try:
        return work(arguments)
    except LamellaError as error:
        print(f"lamella: {error}", file=sys.stderr)
        return REFUSED
    except Cancelled:
        print("lamella: stopped; nothing of it was kept", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        sys.stderr.close()
        return OK
    except Exception as error:  # noqa: BLE001 -- the last stop: it is logged and shown
        from app import crash

        crash.log_and_tell(error)
        return BUG


# ------------------------------------------------------------------ commands


def _window(arguments: argparse.Namespace) -> int:
    if arguments.bench_worker:
        from core.bench.worker import main as measure

        return measure()
    if arguments.tour:
        from app import tour

        return tour.run(arguments.tour)
    _need_display()
    from app import bootstrap

    return bootstrap.run(arguments.files, arguments.sample)


def _need_display() -> None:
    """Qt would end the process where it finds none."""
    if sys.platform != "linux" or any(os.environ.get(name) for name in DISPLAYS):
        return
    from core.errors import LamellaError

    raise LamellaError(
        "There is no display to show a window on",
        "Neither DISPLAY nor WAYLAND_DISPLAY is set",
        f"Start it in a desktop session; without one there are the commands {', '.join(COMMANDS)}",
    )


def _bench(arguments: argparse.Namespace) -> int:
    from app.commands import bench

    return bench.run(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from app.commands import importing

    return importing.run(arguments)


def _query(arguments: argparse.Namespace) -> int:
    from app.commands import query

    return query.run(arguments)


def _sqlite(arguments: argparse.Namespace) -> int:
    from app.commands import sqlite

    return sqlite.run(arguments)


def _index(arguments: argparse.Namespace) -> int:
    from app.commands import index

    return index.run(arguments)


def _make_data(arguments: argparse.Namespace) -> int:
    from app.commands import making

    return making.run(arguments)


def _relations(arguments: argparse.Namespace) -> int:
    from app.commands import relations

    return relations.run(arguments)


def _keep_up(arguments: argparse.Namespace) -> int:
    from app.commands import upkeep

    work: Callable[[argparse.Namespace], int] = getattr(upkeep, arguments.upkeep)
    return work(arguments)


# ------------------------------------------------------------------- parsers


def _window_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lamella",
        usage=WINDOW_USAGE,
        description=ABOUT,
        epilog="\n".join(
            ["commands:", *(f"  {name:10} {about}" for name, (about, _) in COMMANDS.items()), "", FILE_NOTE]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="files and folders to open in place"
    )
    parser.add_argument("--sample", action="store_true", help="open the sample data, ready to edit")
    parser.add_argument("--version", action="version", version=f"lamella {__version__}")
    parser.add_argument("--tour", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bench-worker", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(work=_window)
    return parser


FILE_NOTE = "A file that is called like a command is opened with ./NAME or after --."


def _command_parser(name: str) -> argparse.ArgumentParser:
    """Options may stand anywhere among the words."""
    about, add_arguments = COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"lamella {name}", description=about)
    add_arguments(parser)
    return parser


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="name the workloads and the systems, and end")
    parser.add_argument("--workload", default="small", help="what to ask of each system (%(default)s)")
    parser.add_argument("--rows", type=whole_numbers, default=[1, 10, 100, 1000], metavar="N,N,…")
    parser.add_argument("--backends", type=names, default=["lamella", "sqlite"], metavar="NAME,NAME,…")
    parser.add_argument(
        "--repeats", type=whole_number, help="samples of each operation (the workload's own number)"
    )
    parser.add_argument(
        "--table-rows",
        type=whole_number,
        metavar="N",
        help="of the table, where --rows are those that change",
    )
    parser.add_argument("--folder", type=Path, help="where the databases are made, so on which disk")
    parser.add_argument("--fresh", action="store_true", help="a process for every step, so reads are cold")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every sample to this file")
    parser.add_argument(
        "--report", type=Path, metavar="OUT.md", help="write tables, machine and versions to it"
    )
    parser.set_defaults(work=_bench)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("target", metavar="STORE[:TABLE]", help="a store's folder; made when missing")
    parser.add_argument("--ragged", choices=("refuse", "pad"), default="refuse", help=RAGGED_HELP)
    parser.set_defaults(work=_import)


def _query_arguments(parser: argparse.ArgumentParser) -> None:
    query_options.of_query(parser, names, whole_number)
    parser.set_defaults(work=_query)


def _index_arguments(parser: argparse.ArgumentParser) -> None:
    query_options.of_index(parser, names)
    parser.set_defaults(work=_index)


def _sqlite_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="STORE|FILE", help="stores, files, folders or patterns")
    parser.add_argument("--command", action="append", metavar="SQL", help="run this and end; may be repeated")
    parser.set_defaults(work=_sqlite)


def _make_data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("mixed",), help="mixed: 20 columns of every common type")
    parser.add_argument("--rows", type=whole_number, default=1_000_000, metavar="N")
    parser.add_argument("out", type=Path, metavar="OUT.parquet")
    parser.set_defaults(work=_make_data)


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("table", metavar="TABLE")
    parser.add_argument("out", type=Path, metavar="OUT", help=OUT_HELP)
    parser.add_argument("--format", metavar="NAME", help="where the name of OUT does not say it")
    parser.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="these instead of all")
    parser.add_argument("--where", metavar="CONDITION", help=WHERE_HELP)
    parser.add_argument("--partition-by", type=names, default=[], metavar="NAME,NAME,…", help=PARTITION_HELP)
    parser.add_argument("--ids", action="store_true", help="with the _id of each row")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.set_defaults(work=_keep_up, upkeep="export")


def _compact_arguments(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--group-rows", type=whole_number, metavar="N", help="rows a row group")
    parser.add_argument("--file-rows", type=whole_number, metavar="N", help="rows a file")
    parser.set_defaults(work=_keep_up, upkeep="compact")


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--quick", action="store_true", help="leave the checksums of the files out")
    parser.set_defaults(work=_keep_up, upkeep="verify")


def _backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder, or an earlier backup's")
    parser.add_argument("--link", action="store_true", help="hard links instead of copies, on the same disk")
    parser.set_defaults(work=_keep_up, upkeep="backup")


def _summary_arguments(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.set_defaults(work=_keep_up, upkeep="summary")


def _relations_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("--check", action="store_true", help="look for rows that point at nothing")
    parser.add_argument("--suggest", action="store_true", help="look for relations nobody declared")
    parser.add_argument("--json", action="store_true", help="as JSON, an object a line")
    parser.set_defaults(work=_relations)


def _store_and_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("table", metavar="TABLE", nargs="?", help="one table instead of all")


COMMANDS = {
    "bench": ("race the store against other systems", _bench_arguments),
    "import": ("copy a file into a table of a store", _import_arguments),
    "query": ("ask a store or files, in SQL or by a condition", _query_arguments),
    "index": ("list, make and drop the indexes of a table", _index_arguments),
    "sqlite": ("open files and stores in SQLite's shell", _sqlite_arguments),
    "export": ("copy a table into a file, or a folder of Parquet files", _export_arguments),
    "compact": ("merge small files and work in what is pending", _compact_arguments),
    "verify": ("look for damage in a store", _verify_arguments),
    "backup": ("copy a store while it is in use", _backup_arguments),
    "summary": ("what a store holds and takes, on one screen", _summary_arguments),
    "relations": ("how the tables of a store belong together", _relations_arguments),
    "make-data": ("write a Parquet file of made data", _make_data_arguments),
}


def whole_number(text: str) -> int:
    """Not negative; `1_000` and `1e6` are whole numbers, too."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= MOST_ROWS or number % 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to {MOST_ROWS:,}")
    return int(number)


def whole_numbers(text: str) -> list[int]:
    return [whole_number(word) for word in text.split(",") if word]


def names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
