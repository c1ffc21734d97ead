"""`lamella query`: print the result of a SQL statement, or rows found by a condition, words or steps."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from lamella.app.command_options import reading_of
from lamella.app.commands import OK, terminal
from lamella.app.commands.sources import Parameters, Source, open_source, table_of
from lamella.app.commands.table_reference import split_reference, take_table
from lamella.core.arrow.nested_values import no_text, python_value
from lamella.core.datasets.base import Dataset
from lamella.core.errors import (
    BadQuery,
    BadSql,
    FileProblem,
    LamellaError,
    UnknownName,
    visible,
    with_full_stop,
)
from lamella.core.jobs import Job
from lamella.core.phrases import quantity
from lamella.core.query import agg
from lamella.core.query.builder import Query
from lamella.core.query.expressions import ColumnReference
from lamella.core.query.group_levels import shows_totals
from lamella.core.query.profile import ColumnProfile
from lamella.core.query.sql.changes import change_statement
from lamella.core.query.sql.dialects import translate
from lamella.core.query.sql.problems import excerpt, in_words, place_of_problem
from lamella.core.query.sql.sources import Sources
from lamella.core.query.steps import Aggregate
from lamella.core.store.table import Table
from lamella.core.transfer.text_columns import interval_text

_AGGREGATE = re.compile(r"\s*(?P<name>[^=]+?)\s*=\s*(?P<function>\w+)\s*\((?P<inside>.*)\)\s*")
_PART = re.compile(r"(?P<column>.*),(?P<part>[^,]*)")


def aggregates(texts: Iterable[str]) -> dict[str, Aggregate]:
    """The aggregates by name. Raises `BadQuery` for invalid ones, and for a name that is used twice."""
    by_name: dict[str, Aggregate] = {}
    for text in texts:
        name, aggregate = _read(text)
        if name in by_name:
            raise BadQuery(f"--agg names '{name}' twice", fix="Give each aggregate a different name")
        by_name[name] = aggregate
    return by_name


def _read(text: str) -> tuple[str, Aggregate]:
    match = _AGGREGATE.fullmatch(text)
    if match is None:
        raise BadQuery(
            f"--agg {text!r} is not an aggregate",
            fix="Write NAME=AGGREGATE(COLUMN): late=mean(dep_delay), n=count()",
        )
    function = "avg" if match["function"] == "mean" else match["function"]
    if function == "quantile":
        return match["name"], _quantile(text, match["inside"])
    column = _unquote(match["inside"].strip())
    rows = column == "*" and function == "count"
    return match["name"], Aggregate(function, None if rows or not column else ColumnReference(column))


def _quantile(text: str, inside: str) -> Aggregate:
    """Read a column and, after the last comma, its part."""
    match = _PART.fullmatch(inside)
    try:
        part = None if match is None else float(match["part"])
    except ValueError:
        part = None
    if match is None or part is None:
        raise BadQuery(f"--agg {text!r} does not say which quantile", fix="Write p=quantile(distance, 0.9)")
    return agg.quantile(_unquote(match["column"].strip()), part)


def _unquote(name: str) -> str:
    """The name without the quotes that conditions allow."""
    if len(name) > 1 and name[0] == name[-1] == '"':
        return name[1:-1].replace('""', '"')
    return name


def as_rows(profile: ColumnProfile) -> pa.Table:
    """The profile as a table of two text columns: its values have different types."""
    what, values = zip(*_profile_lines(profile), strict=True)
    return pa.table({"what": list(what), "value": ["" if v is None else str(v) for v in values]})


def _profile_lines(profile: ColumnProfile) -> Iterator[tuple[str, Any]]:
    about = "about " if profile.approximate else ""
    yield "column", profile.column
    yield "type", profile.type
    yield "rows", f"{profile.rows:,}"
    yield "nulls", f"{profile.nulls:,}"
    if profile.nans:
        yield "NaN", f"{profile.nans:,}"
    yield "distinct", f"{about}{profile.distinct:,}"
    for name in ("min", "max", "mean"):
        if getattr(profile, name) is not None:
            yield name, getattr(profile, name)
    for part, value in (profile.quantiles or {}).items():
        yield f"quantile {part:g}", f"{about}{value}"
    for value, count in profile.top_values:
        yield f"value {value}", f"{count:,} times"


def parameters_of(texts: list[str] | None) -> Parameters:
    """Read parameters: numbers, true, false, null and quoted text as in JSON, and anything else as text."""
    if not texts:
        return None
    pairs = [text.partition("=") for text in texts]
    has_names = [name.isidentifier() and bool(mark) for name, mark, _ in pairs]
    if any(has_names) and not all(has_names):
        raise LamellaError("--param cannot be NAME=VALUE in one place and VALUE in another")
    if all(has_names):
        return {name: _value(value) for name, _, value in pairs}
    return [_value(text) for text in texts]


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, (list, dict)) else value


OF_ROWS = ("where", "search", "group_by", "agg", "having", "totals", "sort", "columns", "limit", "offset")
OF_A_TABLE = (*OF_ROWS, "profile", "aggregate", "saved", "steps", "view")
NOT_OF_A_SEARCH = ("group_by", "agg", "having", "totals", "sort", "explain")
OF_SQL = ("param", "seconds", "files", "write")
ALONE = {
    "profile": [name for name in OF_ROWS if name != "where"],
    "aggregate": OF_ROWS,
    "saved": (*OF_ROWS, "table", "as_of"),
    "steps": (*OF_ROWS, "profile", "aggregate", "saved", "view"),
    "view": (*OF_ROWS, "profile", "aggregate", "saved", "table", "as_of"),
}
"""Options that cannot be combined with the options listed for each."""
BEST = 20
"""How many rows of a search are printed if no limit is given."""


def run(arguments: argparse.Namespace) -> int:
    _take_table(arguments)
    _refuse(arguments)
    with (
        terminal.job() as job,
        open_source(
            arguments.source, arguments.write, arguments.checksums, job, reading_of(arguments)
        ) as source,
    ):
        if arguments.explain:
            print(_query(source, arguments).explain(job))
            return OK
        answer, totals = _answer(source, arguments, job)
    out = terminal.data_output()
    if arguments.format == "table":
        write_table(answer, out, totals)
    else:
        FORMATS[arguments.format](answer, out)
    out.flush()
    return OK


def _take_table(arguments: argparse.Namespace) -> None:
    """Read `STORE:TABLE` as the store with --table."""
    place, table = split_reference(arguments.source)
    if table is None:
        return
    if arguments.sql is not None:
        raise LamellaError(
            f"'{arguments.source}' names a table, and so does SQL",
            fix=f"Write '{place}' before the statement, or leave the statement out",
        )
    take_table(arguments, "source", "table")


def _answer(source: Source, arguments: argparse.Namespace, job: Job) -> tuple[pa.Table, pa.Table | None]:
    """The rows, and the totals of groups if they are to be printed."""
    if arguments.sql is not None:
        return _rows_of_statement(source, arguments, job), None
    if arguments.search is not None:
        return _search(table_of(source, arguments.table, arguments.as_of), arguments, job), None
    if arguments.profile is not None:
        return as_rows(
            table_of(source, arguments.table, arguments.as_of).profile(
                arguments.profile, arguments.where, job
            )
        ), None
    query = _query(source, arguments)
    with_totals = arguments.format == "table" and shows_totals(query.pipeline.steps)
    return query.read(job), query.totals(job) if with_totals else None


def _rows_of_statement(source: Source, arguments: argparse.Namespace, job: Job) -> pa.Table:
    try:
        return source.sql(arguments.sql, parameters_of(arguments.param), arguments, job)
    except (BadSql, UnknownName) as problem:
        if isinstance(problem, BadSql) and len(arguments.sql.split()) == 1:
            raise LamellaError(
                f"'{arguments.sql}' is no statement",
                fix=f"Did you mean '{arguments.source}:{arguments.sql}'?",
            ) from problem
        raise _explanation(problem, arguments.sql, source.names(), job) from problem


def _explanation(problem: LamellaError, text: str, names: Sources | None, job: Job) -> LamellaError:
    """The problem of a statement as the SQL console describes it, with its place, and the form that DuckDB
    reads if the statement was written for another database."""
    if isinstance(problem, BadSql):
        try:
            change_statement(text)
        except BadSql as refusal:  # it is no statement here, whether changes are allowed or not
            problem = refusal
    what, fix = in_words(problem, "command")
    place = place_of_problem(problem, text)
    if place is not None:
        what = f"{with_full_stop(what)}\n\n{excerpt(text, place)}"
    translation = None if names is None else translate(text, names, job)
    if translation is not None:
        form = f"{translation.remark}. In DuckDB's form:\n{translation.text};"
        fix = f"{with_full_stop(fix)} {form}" if fix else form
    return LamellaError(what, fix=fix)


def _search(rows: Dataset, arguments: argparse.Namespace, job: Job) -> pa.Table:
    if not isinstance(rows, Table):
        raise LamellaError(
            f"{rows.name}: only the newest version of a store's table can be searched by words",
            fix="Use --where: name contains 'word'",
        )
    limit = BEST if arguments.limit is None else arguments.limit
    return rows.search(
        arguments.search, arguments.columns, arguments.where, limit, arguments.offset or 0, job=job
    )


def _query(source: Source, arguments: argparse.Namespace) -> Query:
    if arguments.saved is not None:
        return Query.of(_json(_text(arguments.saved), str(arguments.saved)), source.table)
    if arguments.view is not None:
        return source.view(arguments.view)
    if arguments.steps is not None:
        return _of_steps(source, arguments)
    rows = table_of(source, arguments.table, arguments.as_of).where(arguments.where)
    if arguments.aggregate is not None:
        return rows.aggregate(_json(arguments.aggregate, "--aggregate"))
    if arguments.group_by is not None or arguments.agg is not None:
        aggregated = aggregates(arguments.agg or [])
        rows = rows.group_by(*arguments.group_by or []).agg(**aggregated)
        rows = rows if arguments.having is None else rows.having(arguments.having)
        rows = rows.with_totals() if arguments.totals else rows
    if arguments.sort is not None:
        rows = rows.sort(*arguments.sort)
    if arguments.limit is not None or arguments.offset is not None:
        rows = rows.limit(arguments.limit, arguments.offset or 0)
    return rows if arguments.columns is None else rows.select(*arguments.columns)


def _of_steps(source: Source, arguments: argparse.Namespace) -> Query:
    """Read a query from JSON. A whole query names its dataset; a list of steps applies to --table."""
    text = arguments.steps.strip()
    steps = _json(text if text[:1] in ("{", "[") else _text(Path(text)), "--steps")
    if isinstance(steps, dict):
        odd = [name for name in ("table", "as_of") if getattr(arguments, name) is not None]
        if odd:
            raise LamellaError(
                f"{_option(odd[0])} cannot be combined with a whole query",
                fix="Give only the steps of the query",
            )
        return Query.of(steps, source.table)
    rows = table_of(source, arguments.table, arguments.as_of).query()
    query = Query.of({"source": rows.name, "steps": steps}, source.table)
    return Query({**query.sources, **rows.sources}, query.pipeline)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileProblem(path, "could not be read", str(error), "Check the path") from error


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadQuery(f"{what} is not JSON", str(error)) from error
    except RecursionError:
        raise BadQuery(f"{what} cannot be read", "Its lists and objects are nested too deeply") from None


def _refuse(arguments: argparse.Namespace) -> None:
    """Raise LamellaError for options that cannot be combined."""
    options = [name for name in (*OF_A_TABLE, "table") if getattr(arguments, name) is not None]
    of_sql = [name for name in OF_SQL if getattr(arguments, name)]
    if arguments.sql is None and of_sql:
        raise LamellaError(
            f"{_option(of_sql[0])} is for SQL only", fix="Add a statement, or remove the option"
        )
    if arguments.sql is None and not options and not arguments.explain:
        fix = "Give a SQL statement; or --limit 10, --where or --group-by, and --table if there are several"
        raise LamellaError("No query was given", fix=fix)
    if arguments.sql is not None and arguments.explain:
        raise LamellaError(
            "--explain cannot be combined with SQL", fix="Write EXPLAIN before the statement, or use --table"
        )
    if arguments.sql is not None and options:
        raise LamellaError(
            f"SQL and {_option(options[-1])} were both given",
            fix="Put the condition into the SQL, or remove the SQL and name a table: --table",
        )
    _refuse_beside(arguments)


def _refuse_beside(arguments: argparse.Namespace) -> None:
    beside = [_option(name) for name in NOT_OF_A_SEARCH if getattr(arguments, name)]
    if arguments.search is not None and beside:
        raise LamellaError(
            f"{beside[0]} cannot be combined with --search",
            "The rows of a search are ordered by score",
            "Narrow them down with --where, or remove --search",
        )
    for name, options in ALONE.items():
        odd = [_option(option) for option in options if getattr(arguments, option) is not None]
        if getattr(arguments, name) is not None and odd:
            raise LamellaError(f"{odd[0]} cannot be combined with --{name}", fix="Remove one of them")
    if arguments.having is not None and arguments.group_by is None and arguments.agg is None:
        raise LamellaError("--having is for groups only", fix="Add --group-by or --agg, or use --where")
    _refuse_totals(arguments)


def _refuse_totals(arguments: argparse.Namespace) -> None:
    if arguments.totals and (arguments.group_by is None or arguments.agg is None):
        raise LamellaError("--totals needs groups with aggregates", fix="Add --group-by and --agg")
    if arguments.totals and arguments.format != "table":
        raise LamellaError(
            f"--totals cannot be combined with --format {arguments.format}",
            "In this format, the totals would look like another group",
            "Get them by a separate query: the same --agg without --group-by",
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


BATCH_ROWS = 10_000
WIDEST = 60
NULL = "NULL"
_LEFT_RAW = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON allows in strings. Escaping them keeps the meaning and protects terminals."""


def write_csv(table: pa.Table, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(["" if cell is None else _cell_text(cell) for cell in row] for row in _rows(table))


def write_jsonl(table: pa.Table, out: TextIO) -> None:
    for row in _objects(table):
        out.write(row + "\n")


def write_json(table: pa.Table, out: TextIO) -> None:
    out.write("[")
    for number, row in enumerate(_objects(table)):
        out.write((",\n " if number else "\n ") + row)
    out.write("\n]\n")


def write_table(table: pa.Table, out: TextIO, totals: pa.Table | None = None) -> None:
    """Write a table for people to read: columns as wide as their contents but at most 60 characters, numbers
    aligned to the right, and no control characters, whatever `out` is. `totals` is one row with some of the
    columns, written below a line."""
    names = list(map(_cell, table.column_names))
    rows = [[_cell(cell) for cell in row] for row in _rows(table)]
    last = [] if totals is None else [_totals_line(table, totals)]
    columns = zip(names, *rows, *last, strict=True) if table.num_columns else []
    widths = [min(WIDEST, max(map(len, column))) for column in columns]
    right = [pa.types.is_integer(kind) or _is_fraction(kind) for kind in table.schema.types]
    rule = "  ".join("─" * width for width in widths) + "\n"
    out.write(_line(names, widths, right) + rule)
    out.writelines(_line(row, widths, right) for row in rows)
    out.writelines(rule + _line(row, widths, right) for row in last)
    beside = "" if totals is None else " and their totals"
    out.write(f"({quantity(table.num_rows, 'row')}{beside})\n")


def _totals_line(table: pa.Table, totals: pa.Table) -> list[str]:
    """The cells of the totals. The first column without a total, a key column, labels the line."""
    totals_by_name = {
        name: _cell(value) for name, value in zip(totals.column_names, next(_rows(totals)), strict=True)
    }
    label = next((name for name in table.column_names if name not in totals_by_name), None)
    return [totals_by_name.get(name, "total" if name == label else "") for name in table.column_names]


FORMATS: dict[str, Callable[[pa.Table, TextIO], None]] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_jsonl,
}


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield from zip(*map(_values, batch.schema.names, batch.columns), strict=True)


def _values(name: str, column: pa.Array) -> list[Any]:
    """The values of a column. Times that Python cannot represent become text, or the stored number. Raises
    `BadData` for text that is not UTF-8."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError as error:
        raise no_text(f"Text of column '{visible(name)}'", error) from error
    except (OverflowError, ValueError):
        return [python_value(value) for value in column]


def _objects(table: pa.Table) -> Iterator[str]:
    names = _unique_names(table.column_names)
    for row in _rows(table):
        text = json.dumps(_finite(dict(zip(names, row, strict=True))), default=_cell_text, ensure_ascii=False)
        yield _LEFT_RAW.sub(lambda control: f"\\u{ord(control[0]):04x}", text)


def _unique_names(names: Sequence[str]) -> list[str]:
    """Names for the members of an object, which must be unique: the second `city` becomes `city_2`."""
    unique: list[str] = []
    for name in names:
        free, number = name, 2
        while free in unique:
            free, number = f"{name}_{number}", number + 1
        unique.append(free)
    return unique


def _finite(value: Any) -> Any:
    """A value that JSON can represent: NaN and infinity become their names, decimals become numbers."""
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, pa.MonthDayNano):
        return interval_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _number(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _cell_text(value: Any) -> Any:
    """Nested values as JSON, bytes as hex, times in ISO format, everything else by `str`."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, pa.MonthDayNano):
        return interval_text(value)
    if isinstance(value, dict | list):
        return json.dumps(_finite(value), default=_cell_text, ensure_ascii=False)
    return value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value)


def _cell(value: Any) -> str:
    text = NULL if value is None else visible(str(_cell_text(value)).replace("\n", "⏎").replace("\t", " "))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = (
        cell[:width].rjust(width) if at_right else cell[:width].ljust(width)
        for cell, width, at_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(placed).rstrip() + "\n"


def _is_fraction(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))
