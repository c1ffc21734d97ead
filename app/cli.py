"""The command line. What a command needs is imported when it runs: `lamella --version` is instant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from app import __version__

RAGGED_HELP = "what to do with rows of a CSV file that are shorter or longer than its header (%(default)s)"
OK, BUG, REFUSED, STOPPED = 0, 1, 2, 130
ABOUT = "Look at, filter and edit data files of any size, with undo."
WINDOW_USAGE = "lamella [--sample] [FILE ...]   or   lamella COMMAND ..."


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 for a bug, 2 for what the user can mend, 130 when stopped."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in COMMANDS:
        arguments = _command_parser().parse_args(words)
    else:
        arguments = _window_parser().parse_args(words)
    return _guarded(arguments.work, arguments)


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
    from app import bootstrap

    return bootstrap.run(arguments.files, arguments.sample)


def _bench(arguments: argparse.Namespace) -> int:
    from app.commands import bench

    return bench.run(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from app.commands import importing

    return importing.run(arguments)


def _query(arguments: argparse.Namespace) -> int:
    from app.commands import query

    return query.run(arguments)


def _make_data(arguments: argparse.Namespace) -> int:
    from app.commands import making

    return making.run(arguments)


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
    parser.add_argument("files", nargs="*", metavar="FILE", help="files and folders to open in place")
    parser.add_argument("--sample", action="store_true", help="open the sample data, ready to edit")
    parser.add_argument("--version", action="version", version=f"lamella {__version__}")
    parser.add_argument("--tour", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bench-worker", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(work=_window)
    return parser


FILE_NOTE = "A file that is called like a command is opened with ./NAME or after --."


def _command_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamella", description=ABOUT)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, (about, add_arguments) in COMMANDS.items():
        add_arguments(commands.add_parser(name, help=about, description=about))
    return parser


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", default="small", help="what to ask of each system (%(default)s)")
    parser.add_argument("--rows", type=whole_numbers, default=[1, 10, 100, 1000], metavar="N,N,…")
    parser.add_argument("--backends", type=names, default=["lamella", "sqlite"], metavar="NAME,NAME,…")
    parser.add_argument("--repeats", type=int, help="samples of each operation (the workload's own number)")
    parser.add_argument("--folder", type=Path, help="where the databases are made, so on which disk")
    parser.add_argument(
        "--fresh", action="store_true", help="a process for every step, so reads are cold"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every sample to this file")
    parser.set_defaults(work=_bench)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("target", metavar="STORE[:TABLE]", help="a store's folder; made when missing")
    parser.add_argument("--ragged", choices=("refuse", "pad"), default="refuse", help=RAGGED_HELP)
    parser.set_defaults(work=_import)


def _query_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("sql", metavar="SQL")
    parser.add_argument("--format", choices=("table", "csv", "json", "jsonl"), default="table")
    parser.set_defaults(work=_query)


def _make_data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("mixed",), help="mixed: 20 columns of every common type")
    parser.add_argument("--rows", type=whole_number, default=1_000_000, metavar="N")
    parser.add_argument("out", type=Path, metavar="OUT.parquet")
    parser.set_defaults(work=_make_data)


COMMANDS = {
    "bench": ("race the store against other systems", _bench_arguments),
    "import": ("copy a file into a table of a store", _import_arguments),
    "query": ("ask a store in SQL", _query_arguments),
    "make-data": ("write a Parquet file of made data", _make_data_arguments),
}


def whole_number(text: str) -> int:
    return int(text.replace("_", ""))


def whole_numbers(text: str) -> list[int]:
    return [whole_number(word) for word in text.split(",") if word]


def names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
