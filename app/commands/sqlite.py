"""`lamella sqlite`: SQLite's shell, with files and the tables of stores as its tables."""

from __future__ import annotations

import argparse
import io
import sys

from lamella.app.commands import OK, REFUSED, STOPPED, terminal
from lamella.app.commands.table_reference import refuse_table
from lamella.core import bridge
from lamella.core.errors import BadData, LamellaError
from lamella.core.validation import text_of

BANNER = "SQLite {}. .tables lists the tables, .help the commands.\n"


def run(arguments: argparse.Namespace) -> int:
    """Run the shell. Main thread only: Ctrl+C ends the running statement. Errors end a script and --command,
    but not an interactive session."""
    import apsw
    from apsw.shell import Shell

    for source in arguments.sources:
        refuse_table(source)
    terminal.follow_settings()
    connection = bridge.connect(arguments.sources)
    for error in bridge.left_out(connection).values():
        print(f"lamella: left out: {error}", file=sys.stderr)
    try:
        commands = (
            None
            if arguments.command is None
            else io.StringIO("\n".join(map(_with_semicolon, arguments.command)))
        )
        out, err = map(terminal.with_colours, (terminal.data_output(), sys.stderr))
        shell = Shell(stdin=commands or sys.stdin, stdout=out, stderr=err, db=connection)
        shell.bail = not shell.interactive
        shell.cmdloop(BANNER.format(apsw.sqlite_lib_version()), " ")  # type: ignore[no-untyped-call] # of apsw
    except (apsw.Error, Shell.Error, LamellaError) as error:
        if not getattr(error, "_handle_exception_saw_this", False):
            raise
        return REFUSED
    except UnicodeError as error:
        raise BadData("the commands are not UTF-8 text", str(error), "Write them in UTF-8") from error
    except KeyboardInterrupt:  # in a script; at a prompt the shell continues
        print("lamella: stopped", file=sys.stderr)
        return STOPPED
    finally:
        connection.close()
    return OK


def _with_semicolon(command: str) -> str:
    command = text_of(command, "the command")
    return command if command.startswith(".") or command.rstrip().endswith(";") else f"{command};"
