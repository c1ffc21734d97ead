"""`lamella store`: measure a store on disk, and move, vacuum, expire, restore or salvage it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from lamella.app.commands import DAMAGED, OK, terminal
from lamella.app.commands.table_reference import open_store, take_table
from lamella.core.errors import LamellaError
from lamella.core.phrases import quantity, size_text
from lamella.core.store.backup import restore
from lamella.core.store.importing import copy_readable_rows
from lamella.core.store.sizes import TableSizes
from lamella.core.store.store import Store


def run(arguments: argparse.Namespace) -> int:
    return ACTS[arguments.act](arguments)


def _sizes(arguments: argparse.Namespace) -> int:
    with terminal.job() as job, open_store(arguments.store, read_only=True) as store:
        measured = store.maintenance.sizes(job)
    print(measured)
    for table in measured.tables if arguments.columns else ():
        print(_column_lines(table))
    return DAMAGED if any(table.problem for table in measured.tables) else OK


def _column_lines(table: TableSizes) -> str:
    lines = [f"\n{table.name}"]
    for column in sorted(table.columns, key=lambda column: -column.bytes):
        lines.append(f"  {size_text(column.bytes):>12}  {column.name}  {column.type}, {column.encoding}")
    return "\n".join(lines)


def _move(arguments: argparse.Namespace) -> int:
    target = _target(arguments, "Give the new folder: lamella store move STORE TO")
    with terminal.job() as job:
        move = Store.move(arguments.store, target, job)
    print(move)
    return OK


def _vacuum(arguments: argparse.Namespace) -> int:
    """Vacuum a store. Opening it for writing already tidies up, so what is freed is counted before that."""
    with open_store(arguments.store, read_only=True) as store:
        plan = store.maintenance.vacuum_plan()
    freed = size_text(plan.bytes + plan.catalog_bytes)
    if arguments.dry_run:
        print(f"{quantity(plan.files, 'file')} would be removed, which frees {freed}")
        return OK
    with open_store(arguments.store) as store, terminal.job() as job:
        vacuum = store.maintenance.vacuum(job)
    print(f"Removed: {quantity(plan.files, 'file')}, which freed {freed}")
    for problem in vacuum.problems:
        print(problem)
    return OK


def _expire(arguments: argparse.Namespace) -> int:
    take_table(arguments, "store", "target")
    name = _target(arguments, "Give the table: lamella store expire STORE TABLE --keep N")
    if arguments.keep is None:
        raise LamellaError("The number of versions to keep is not given", fix="Give --keep N")
    with open_store(arguments.store, read_only=arguments.dry_run) as store:
        expiry = store[name].maintenance.expire(keep_versions=arguments.keep, dry_run=arguments.dry_run)
    verb = "would expire" if arguments.dry_run else "expired"
    print(
        f"{name}: {quantity(len(expiry.expired), 'version')} {verb}; the oldest is {expiry.oldest};"
        f" vacuum frees {size_text(expiry.bytes)} in {quantity(expiry.files, 'file')}"
    )
    return OK


def _restore(arguments: argparse.Namespace) -> int:
    target = _target(arguments, "Give the new folder: lamella store restore BACKUP TO")
    with terminal.job() as job:
        print(restore(arguments.store, Path(target), False, job))
    return OK


def _salvage(arguments: argparse.Namespace) -> int:
    take_table(arguments, "store", "target")
    with terminal.job() as job, open_store(arguments.store, read_only=arguments.dry_run) as store:
        names = [arguments.target] if arguments.target else store.maintenance.verify(job=job).damaged_tables
        salvages = [] if not names else store.maintenance.find_salvage(names, job)
        for each in salvages:
            print(each)
        partial = [each for each in salvages if each.is_partial]
        if partial and not arguments.dry_run:
            copies = copy_readable_rows(store, partial, job)
            for each, copy in zip(partial, copies, strict=True):
                rows = quantity(copy.num_rows, "row")
                print(f"{rows} of {each.table} copied into the new table {copy.name}")
        elif not partial:
            print("No rows to copy")
    return OK


ACTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "sizes": _sizes,
    "move": _move,
    "vacuum": _vacuum,
    "expire": _expire,
    "restore": _restore,
    "salvage": _salvage,
}


def _target(arguments: argparse.Namespace, fix: str) -> str:
    if arguments.target is None:
        raise LamellaError(f"store {arguments.act}: an argument is missing", fix=fix)
    return str(arguments.target)
