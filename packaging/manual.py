#!/usr/bin/env python3
"""Prints the manual page of `lamella`, made from the output of `--help`: `packaging/manual.py | man -l -`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from lamella.app import __version__, cli

ENDS = (
    ("0", "It worked."),
    ("1", "A bug; the log has the details."),
    ("2", "An error that you can fix, as the message says."),
    ("3", "Damage was found."),
    ("130", "Stopped by Ctrl+C."),
)


def page(date: str = "") -> str:
    """The page in groff's man macros."""
    return "\n".join([f'.TH LAMELLA 1 "{date}" "Lamella {__version__}" "User Commands"', *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    yield from (".SH NAME", rf"lamella \- {plain(cli.ABOUT[0].lower() + cli.ABOUT[1:].rstrip('.'))}")
    yield ".SH SYNOPSIS"
    yield from (r".B lamella", r"[\fB\-\-sample\fR] [\fIFILE\fR ...]", ".br")
    yield from (r".B lamella", r"\fICOMMAND\fR ...")
    yield from (".SH DESCRIPTION", plain(cli.ABOUT), plain(cli.FILE_NOTE))
    yield ".SH OPTIONS"
    yield from _options(cli.window_parser())
    yield ".SH COMMANDS"
    for name in cli.COMMANDS:
        parser = cli.command_parser(name)
        yield f".SS lamella {plain(name)}"
        yield plain(parser.description or "")
        yield from _options(parser)
    yield ".SH EXIT STATUS"
    for code, meaning in ENDS:
        yield from (".TP", f".B {code}", plain(meaning))
    yield ".SH ENVIRONMENT"
    yield from (".TP", ".B LAMELLA_HOME", "The folder of data, settings and logs, instead of the user's own.")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        yield from (".TP", rf"\fB{plain(formatter._format_action_invocation(action))}\fR")
        yield plain(formatter._expand_help(action)) if action.help else r"\&"


def plain(text: str) -> str:
    """The text, escaped so that groff shows it unchanged."""
    escaped = re.sub(r"\s+", " ", text).strip().replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


if __name__ == "__main__":
    sys.stdout.write(page())
