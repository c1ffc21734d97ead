"""Commands on a store (compact, verify, backup, summary, index, checks, relations) and on a Delta table
(versions)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from lamella.app.command_options import names
from lamella.app.commands import DAMAGED, OK, terminal
from lamella.app.commands.table_reference import no_table, open_store, split_reference, table_hint, take_table
from lamella.core.errors import LamellaError, StoreProblem, visible
from lamella.core.filters.cells import parse_cell
from lamella.core.phrases import quantity
from lamella.core.relations import Relation
from lamella.core.relations.checking import RelationCheck
from lamella.core.relations.suggesting import Suggestion
from lamella.core.store.columns import Columns
from lamella.core.store.paths import CATALOG, is_store
from lamella.core.store.store import Store
from lamella.core.store.table import Table
from lamella.core.store.verify import log_damage
from lamella.core.validation import path_of

ListItem = Relation | RelationCheck | Suggestion


def compact(arguments: argparse.Namespace) -> int:
    take_table(arguments, "store", "table")
    compactions = []
    with terminal.job() as job, open_store(arguments.store) as store:
        for table in _tables(store, arguments.table):
            compactions.append(table.maintenance.compact(arguments.group_rows, arguments.file_rows, job))
    for each in compactions:
        print(each)
    return OK


def verify(arguments: argparse.Namespace) -> int:
    """Check a store. Nothing is written: the damaged store may be all there is to restore from."""
    take_table(arguments, "store", "table")
    try:
        with terminal.job() as job, open_store(arguments.store, read_only=True) as store:
            table_name = arguments.table
            report = (
                store[table_name].maintenance.verify(arguments.quick, job)
                if table_name
                else store.maintenance.verify(arguments.quick, job)
            )
    except StoreProblem:
        damage = log_damage(Path(arguments.store) / CATALOG)
        if damage is None:
            raise
        print(damage)
        return DAMAGED
    print(report)
    return DAMAGED if report.problems else OK


def backup(arguments: argparse.Namespace) -> int:
    with terminal.job() as job, open_store(arguments.store, read_only=True) as store:
        result = store.backup(arguments.out, arguments.link, job)
    print(result)
    return DAMAGED if result.damaged else OK


def summary(arguments: argparse.Namespace) -> int:
    take_table(arguments, "store", "table")
    with open_store(arguments.store, read_only=True) as store:
        print(
            "\n\n".join(table.maintenance.summary() for table in _tables(store, arguments.table))
            or "no tables"
        )
    return OK


def versions(arguments: argparse.Namespace) -> int:
    """List the versions, newest first: number, time in UTC, operation, and number of rows it added."""
    from lamella.core.datasets.delta import versions_of
    from lamella.core.remote.addresses import is_file_address

    name = arguments.table
    for version in versions_of(name if is_file_address(name) else path_of(name, "the Delta table")):
        time = f"{version.time:%Y-%m-%d %H:%M:%S}" if version.time else ""
        rows = "" if version.rows is None else quantity(version.rows, "row")
        words = f"{version.operation:24}  {rows:>14}  {visible(version.message)}"
        print(f"{version.number:>6}  {time:19}  {words}".rstrip())
    return OK


def _tables(store: Store, name: str | None) -> list[Table]:
    return [store[each] for each in ([name] if name else store.tables)]


def _table(store: Store, arguments: argparse.Namespace) -> Table:
    if arguments.table is None:
        raise no_table(arguments.store, store.tables)
    return store[arguments.table]


def _refuse_verb(arguments: argparse.Namespace) -> None:
    """Raise `LamellaError` for `index create shop:goods id`, which has a verb in place of the store."""
    verb = arguments.store
    if verb not in ("create", "drop", "list", "add") or Path(verb).exists():
        return
    place, table = split_reference(arguments.table or "")
    what = f"lamella index takes the table first, not '{verb}'"
    if table is None and place and is_store(Path(place).expanduser()):
        with open_store(place, read_only=True) as store:
            raise LamellaError(what, fix=table_hint(place, store.tables))
    where = "STORE:TABLE" if table is None else f"{place}:{table}"
    columns = f" {arguments.columns or 'COLUMNS'}{' --drop' if verb == 'drop' else ''}"
    raise LamellaError(what, fix=f"Write lamella index {where}{'' if verb == 'list' else columns}")


def index(arguments: argparse.Namespace) -> int:
    _refuse_verb(arguments)
    take_table(arguments, "store", "table", "columns")
    columns = names(arguments.columns or "")
    if arguments.drop and not columns:
        raise LamellaError("--drop does not say which index", fix="Name its columns")
    kind = "fulltext" if arguments.words else "sorted"
    reading = not columns
    with terminal.job() as job, open_store(arguments.store, read_only=reading) as store:
        table = _table(store, arguments)
        if reading:
            print("\n".join(map(str, table.indexes)) or "no indexes")
        elif arguments.drop:
            table.indexes.drop(columns, kind=kind)
        elif arguments.words:
            language = None if arguments.language == "none" else arguments.language
            print(table.indexes.create(columns, kind=kind, language=language, job=job))
        else:
            print(table.indexes.create(columns, job=job))
    return OK


def checks(arguments: argparse.Namespace) -> int:
    """Set what the options say, as one undo step; without options, list the defaults and checks."""
    take_table(arguments, "store", "table", "column")
    name, one_of = arguments.column, arguments.one_of
    required, unique = _yes(arguments.required), _yes(arguments.unique)
    sets_flag = required is not None or unique is not None
    changes = sets_flag or one_of is not None or arguments.any_value
    sets_default = arguments.default is not None or arguments.no_default
    if (changes or sets_default) and name is None:
        raise LamellaError("The column is not given", fix="Name it after the table")
    with terminal.job() as job, open_store(arguments.store, read_only=not (changes or sets_default)) as store:
        table = _table(store, arguments)
        columns = table.columns
        if not (changes or sets_default):
            print("\n".join(_rule_lines(columns, name)) or "no defaults or checks")
            return OK
        kind = table.schema.field(name).type if name in columns else None
        with store.transaction():
            if changes:
                values = [] if arguments.any_value else one_of
                allowed = None if values is None else [_value(value, kind) for value in values]
                columns.set_checks(name, required=required, unique=unique, one_of=allowed, job=job)
            if sets_default:
                text = arguments.default
                columns.set_default(name, None if text is None else _value(text, kind))
        print("\n".join(_rule_lines(columns, name)) or "no defaults or checks")
    return OK


def _yes(word: str | None) -> bool | None:
    return None if word is None else word == "yes"


def _value(text: str, kind: pa.DataType | None) -> Any:
    """Read a value as it is typed into a cell. A missing column (no `kind`) is refused by the store."""
    return text if kind is None else parse_cell(text, kind)


def _rule_lines(columns: Columns, only: str | None) -> Iterator[str]:
    for name in columns if only is None else [only]:
        rules, default = columns.checks(name), columns.default(name)
        words = [word for word in ("required", "unique") if getattr(rules, word)]
        words += [f"one of {', '.join(map(str, rules.one_of))}"] if rules.one_of else []
        words += [] if default is None else [f"default {default}"]
        if words:
            yield f"{name}: {', '.join(words)}"


def relations(arguments: argparse.Namespace) -> int:
    """Check relations, suggest some, or list those that are declared."""
    problems = False
    with terminal.job() as job, open_store(arguments.store, read_only=True) as store:
        if not (arguments.check or arguments.suggest):
            _print_items(store.relations, "no relations; --suggest proposes some", arguments.json)
        if arguments.check:
            checks = store.relations.check(job=job)
            problems = any(check.problems for check in checks)
            _print_items(checks, "no relations to check; --suggest proposes some", arguments.json)
        if arguments.suggest:
            _print_items(store.relations.suggest(job=job), "nothing to suggest", arguments.json)
    return DAMAGED if problems else OK


def _print_items(items: Sequence[ListItem], none: str, as_json: bool) -> None:
    lines: Iterable[str] = (json.dumps(_json_ready(each), ensure_ascii=False) for each in items)
    if not as_json:
        lines = map(str, items) if items else [none]
    for line in lines:
        print(line)


def _json_ready(item: ListItem) -> dict[str, Any]:
    """The item as JSON. Keys can have any type: types that JSON lacks become text."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(item), default=str))
    return plain
