"""`lamella index`: the indexes of a table listed, made or dropped."""

from __future__ import annotations

import argparse

from lamella.app.commands import terminal
from lamella.core.errors import LamellaError, StoreProblem
from lamella.core.store.paths import is_store
from lamella.core.store.store import Store


def run(arguments: argparse.Namespace) -> int:
    if not is_store(arguments.store):
        raise StoreProblem(f"{arguments.store}: there is no store here", fix="Check the path")
    if arguments.drop and not arguments.columns:
        raise LamellaError("--drop does not say which index", fix="Name its columns")
    kind = "fulltext" if arguments.words else "sorted"
    reading = not arguments.columns
    with terminal.job() as job, Store.open(arguments.store, read_only=reading) as store:
        table = store[arguments.table]
        if reading:
            print("\n".join(map(str, table.indexes)) or "no indexes")
        elif arguments.drop:
            table.drop_index(arguments.columns, kind=kind)
        elif arguments.words:
            language = None if arguments.language == "none" else arguments.language
            print(table.create_index(arguments.columns, kind=kind, language=language, job=job))
        else:
            print(table.create_index(arguments.columns, job=job))
    return 0
