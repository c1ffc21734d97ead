"""The command line. Each command imports its modules when it runs, so that `lamella --version` is instant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lamella.app import __version__, add_window_to_benchmark
from lamella.app import command_options as options
from lamella.app.commands import BUG, DAMAGED, OK, REFUSED, STOPPED
from lamella.app.commands.terminal import visible_controls

SETTLE_SECONDS = 1.0
ABOUT = "View, filter and edit data files of any size, with undo."
WINDOW_USAGE = "lamella [--sample] [--new-window] [--set NAME=VALUE] [FILE ...]   or   lamella COMMAND ..."


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 for a bug, 2 for an error that the user can fix, 3 for damage, 130 when stopped."""
    with visible_controls():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        arguments = command_parser(words[0]).parse_intermixed_args(_with_descending(words[1:]))
        return _run_command(arguments)
    if words and _is_no_file(words[0]):
        return _refuse(words[0])
    arguments = window_parser().parse_args(words)
    return _run_and_log(arguments.work, arguments)


def _run_command(arguments: argparse.Namespace) -> int:
    """Run a command and return its exit code. Files that it read are checked in the background; those not yet
    checked when the output is complete are waited for, briefly. Output from damaged files is not valid."""
    module = sys.modules.get("lamella.core.scan.file_checks")
    before = len(module.checks.damaged_reads) if module else 0
    code = _run_and_log(arguments.work, arguments)
    loaded = sys.modules.get("lamella.core.scan.file_checks")
    if loaded is None or code != OK:
        return code
    loaded.checks.settle(SETTLE_SECONDS)
    problems = loaded.checks.damaged_reads[before:]
    for path, why in problems:
        print(f"lamella: {path}: is damaged. {why}. Do not rely on the output.", file=sys.stderr)
    return DAMAGED if problems else OK


def _with_descending(words: list[str]) -> list[str]:
    """Join `--sort` with its value, which argparse takes for an option if it starts with a minus."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--sort" and not word.startswith("--"):
            joined[-1] = f"--sort={word}"
        else:
            joined.append(word)
    return joined


def _is_no_file(word: str) -> bool:
    """Whether the word is more likely a misspelt command; names with a suffix or folder go to the window."""
    plain = word.replace("-", "").replace("_", "").isalnum() and not word.startswith("-")
    return plain and not os.path.exists(word)  # noqa: PTH110 -- False, too, for a name that is too long


def _refuse(word: str) -> int:
    from lamella.core.errors import nearest

    guesses = " or ".join(f"'{guess}'" for guess in nearest(word, list(COMMANDS)))
    way_out = f"Did you mean {guesses}?" if guesses else f"The commands are: {', '.join(COMMANDS)}."
    print(f"lamella: no file or command '{word}'. {way_out}", file=sys.stderr)
    return REFUSED


def _run_and_log(work: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run the command; print errors that users can act on as one sentence, and log all others."""
    from lamella.core.errors import Cancelled, LamellaError

    try:
        return work(arguments)
    except LamellaError as error:
        print(f"lamella: {error.text_in('command')}", file=sys.stderr)
        return REFUSED
    except Cancelled:
        print("lamella: stopped; nothing was saved", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stderr.close()
        return OK
    except Exception as error:  # noqa: BLE001 -- the last resort: it is logged and shown
        from lamella.app import crash

        crash.log_and_tell(error)
        return BUG


# ------------------------------------------------------------------ commands


def _child_process(arguments: argparse.Namespace) -> int | None:
    """Run as a child process of the benchmark if a hidden option says so; return None otherwise."""
    if arguments.bench_worker:
        from lamella.core.bench.engine.worker import main as measure

        add_window_to_benchmark()
        return measure()
    if arguments.bench_systems:
        from lamella.core.bench.engine.child import introduce_systems

        add_window_to_benchmark()
        return introduce_systems(arguments.bench_systems.split(","))
    return None


def _run_without_command(arguments: argparse.Namespace) -> int:
    """Show the window, take a tour of it, or run as a child process of a benchmark."""
    code = _child_process(arguments)
    if code is not None:
        return code
    if arguments.tour:
        from lamella.app import tour

        return tour.run(arguments.tour, arguments.tour_rows)
    _need_display()
    from lamella.app import bootstrap

    return bootstrap.run(arguments.files, arguments.sample, arguments.new_window, arguments.set)


def _need_display() -> None:
    """Raise LamellaError if there is no display: without one, Qt would end the process."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM") or os.environ.get("WAYLAND_SOCKET"):
        return
    wayland, x11 = os.environ.get("WAYLAND_DISPLAY", ""), os.environ.get("DISPLAY", "")
    if _is_wayland_there(wayland) or _is_x11_there(x11):
        return
    from lamella.core.errors import LamellaError

    dead = [f"{n}={v}" for n, v in (("WAYLAND_DISPLAY", wayland), ("DISPLAY", x11)) if v]
    raise LamellaError(
        "There is no display to show a window on",
        f"Nothing responds at {' or '.join(dead)}" if dead else "Neither DISPLAY nor WAYLAND_DISPLAY is set",
        "Start it in a desktop session or with `xvfb-run lamella`, or set QT_QPA_PLATFORM to another Qt "
        f"platform; these commands work without a display: {', '.join(COMMANDS)}",
    )


def _is_wayland_there(display: str) -> bool:
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(display) and _answers(os.path.join(folder, display))  # noqa: PTH118 -- joined as Wayland does


def _is_x11_there(display: str) -> bool:
    host, _, screen = display.rpartition(":")
    if not display or host not in ("", "unix"):
        return bool(display)  # on another machine: Qt will find out
    path = f"/tmp/.X11-unix/X{screen.partition('.')[0]}"
    return _answers(path) or _answers(f"\0{path}")


def _answers(address: str) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(address)
        except OSError:
            return False
        return True


def _bench(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import bench

    add_window_to_benchmark()
    return bench.run(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import transfer

    return transfer.import_file(arguments)


def _export(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import transfer

    return transfer.export_rows(arguments)


def _change(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import changing

    return changing.run(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import comparing

    return comparing.run(arguments)


def _query(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import query

    return query.run(arguments)


def _sqlite(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import sqlite

    return sqlite.run(arguments)


def _index(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import store

    return store.index(arguments)


def _connection_options(parser: argparse.ArgumentParser) -> None:
    from lamella.app.commands import connections

    connections.add_options(parser)


def _connections(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import connections

    return connections.run(arguments)


def _checks(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import store

    return store.checks(arguments)


def _make_data(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import transfer

    return transfer.make_data(arguments)


def _relations(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import store

    return store.relations(arguments)


def _store(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import store_folder

    return store_folder.run(arguments)


def _run_on_store(arguments: argparse.Namespace) -> int:
    from lamella.app.commands import store

    work: Callable[[argparse.Namespace], int] = getattr(store, arguments.store_command)
    return work(arguments)


# ------------------------------------------------------------------- parsers


def window_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lamella",
        usage=WINDOW_USAGE,
        description=ABOUT,
        epilog="\n".join(
            [
                "commands:",
                *(f"  {name:11} {about}" for name, (about, _, _) in COMMANDS.items()),
                "",
                FILE_NOTE,
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        type=options.path_of,
        nargs="*",
        metavar="FILE",
        help="files, folders and addresses to open in place, and tables of stores: STORE:TABLE",
    )
    parser.add_argument("--sample", action="store_true", help="open the sample data, ready to edit")
    parser.add_argument("--new-window", action="store_true", help="even if a window is already open")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting for this run only"
    )
    parser.add_argument("--version", action="version", version=f"lamella {__version__}")
    parser.add_argument("--tour", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--tour-rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--bench-worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bench-systems", metavar="FAMILIES", help=argparse.SUPPRESS)
    parser.set_defaults(work=_run_without_command)
    return parser


FILE_NOTE = "To open a file that has the name of a command, write ./NAME or put -- before it."


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command. Options may come before, between and after the other arguments."""
    about, add_options, work = COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"lamella {name}", description=about, allow_abbrev=False)
    add_options(parser)
    parser.set_defaults(work=work)
    return parser


COMMANDS = {
    "bench": ("measure the store against other systems", options.bench, _bench),
    "import": ("copy a file into a table of a store", options.import_file, _import),
    "query": ("query a store or files, in SQL or by a condition", options.query, _query),
    "change": ("set, compute, delete or upsert rows of a table", options.change, _change),
    "compare": ("compare two tables, files or versions", options.compare, _compare),
    "index": ("list, create and drop the indexes of a table", options.index, _index),
    "checks": ("show and set defaults and checks of columns", options.checks, _checks),
    "sqlite": ("open files and stores in SQLite's shell", options.sqlite, _sqlite),
    "export": ("write a table or files as a file of another format", options.export, _export),
    "compact": ("merge small files and apply pending changes", options.compact, _run_on_store),
    "verify": ("check a store for damage", options.verify, _run_on_store),
    "backup": ("copy a store while it is in use", options.backup, _run_on_store),
    "summary": ("show contents and size of a store on one screen", options.summary, _run_on_store),
    "versions": ("list the versions of a Delta table", options.versions, _run_on_store),
    "store": ("measure, move, vacuum, expire and restore a store", options.store, _store),
    "relations": ("list, check and suggest relations between tables", options.relations, _relations),
    "connections": ("list, add, test and remove connections to servers", _connection_options, _connections),
    "make-data": ("write a Parquet file of generated data", options.make_data, _make_data),
}
