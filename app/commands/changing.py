"""`lamella change`: set, compute, delete or upsert rows of a table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from lamella.app.commands import OK, terminal
from lamella.app.commands.table_reference import no_table, open_store, take_table
from lamella.core.arrow.types import ID
from lamella.core.datasets import open_dataset
from lamella.core.errors import BadData, LamellaError, UnknownColumn
from lamella.core.filters.cells import parse_cell
from lamella.core.phrases import quantity
from lamella.core.store.acts import Act, Delete, DropDuplicates, Update, Upsert
from lamella.core.store.effects import Effect
from lamella.core.store.table import Table

WAYS = "--set, --compute and --operators; or one of --delete, --drop-duplicates and --upsert"


def run(arguments: argparse.Namespace) -> int:
    take_table(arguments, "store", "table")
    with terminal.job() as job, open_store(arguments.store, read_only=arguments.preview) as store:
        if arguments.table is None:
            raise no_table(arguments.store, store.tables)
        table = store[arguments.table]
        act = _act(arguments, table)
        if arguments.preview:
            print(_preview_text(act.effect(table, arguments.where, job)))
            return OK
        commit = act.apply(table, arguments.where, job=job)
        counts = (commit.inserted, "added"), (commit.updated, "changed"), (commit.deleted, "deleted")
        counts_text = ", ".join(f"{quantity(count, 'row')} {word}" for count, word in counts if count)
        print(f"{counts_text or 'nothing changed'} in table {table.name} of {store.path}")
    return OK


def _act(arguments: argparse.Namespace, table: Table) -> Act:
    operators = _operators(arguments, table)
    further: list[Act] = []
    if arguments.delete:
        if arguments.where is None:
            raise LamellaError(
                "--delete does not say which rows", fix="Add --where; --where '_id >= 0' deletes every row"
            )
        further.append(Delete())
    if arguments.drop_duplicates is not None:
        keep = "first" if arguments.keep == "refuse" else arguments.keep
        further.append(DropDuplicates(arguments.drop_duplicates or None, keep))
    if arguments.upsert is not None:
        if not arguments.on:
            raise LamellaError("--upsert needs the columns that identify rows", fix="Name them with --on")
        path = arguments.upsert
        further.append(Upsert(lambda: open_dataset(path), arguments.on, arguments.keep))
    acts = [*([Update(operators)] if operators else []), *further]
    if len(acts) != 1:
        raise LamellaError(
            "The change is not given" if not acts else "Only one change can be made at a time",
            fix=f"Give {WAYS}",
        )
    return acts[0]


def _operators(arguments: argparse.Namespace, table: Table) -> dict[str, dict[str, Any]]:
    try:
        operators = json.loads(arguments.operators) if arguments.operators else {}
    except ValueError as error:
        raise BadData("--operators is not JSON", str(error), """Write '{"$inc": {"n": 1}}'""") from error
    if not isinstance(operators, dict) or not all(
        isinstance(operands, dict) for operands in operators.values()
    ):
        raise BadData("--operators is not an object of operators", fix="""Write '{"$inc": {"n": 1}}'""")
    for column, text in _pairs(arguments.set, "--set"):
        operators.setdefault("$set", {})[column] = _value(table, column, text)
    for column, text in _pairs(arguments.compute, "--compute"):
        operators.setdefault("$compute", {})[column] = text
    return operators


def _pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    wrong = [word for word, (column, sign, _) in zip(words, pairs, strict=True) if not (column and sign)]
    if wrong:
        raise LamellaError(f"{option} {wrong[0]}: no column is named", fix="Write COLUMN=…")
    return [(column.strip(), text) for column, _, text in pairs]


def _value(table: Table, column: str, text: str) -> Any:
    """Read a value as it is typed in the grid."""
    names = table.schema.names
    if column not in names or column == ID:
        raise UnknownColumn(column, table.name, [name for name in names if name != ID])
    return parse_cell(text, table.schema.field(column).type)


def _preview_text(effect: Effect) -> str:
    parts = [
        f"{quantity(count, 'row')} would be {word}"
        for count, word in (
            (effect.inserted, "added"),
            (effect.changed, "changed"),
            (effect.deleted, "deleted"),
        )
        if count
    ]
    text = ", ".join(parts) or "nothing would change"
    types = [f"{name} would be {after}" for name, (_, after) in effect.types.items()]
    conflicts = f"{quantity(effect.conflicting, 'row')} repeat a key with other values"
    more = [*([conflicts] if effect.conflicting else []), *types]
    return "; ".join([f"{text}, of {quantity(effect.matching, 'row')}", *more])
