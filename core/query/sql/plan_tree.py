"""The plan of a statement as a tree of operators, estimated or measured, from DuckDB's EXPLAIN."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from lamella.core.errors import LamellaError
from lamella.core.jobs import Job
from lamella.core.query.duckdb_source import OWN_NAMES, POSITION, identifier
from lamella.core.query.sql.rows_read import (
    FILE_SCANS,
    MEMORY_SCANS,
    RowsRead,
    TableFiles,
    dropped_rows,
    scan_of,
)
from lamella.core.query.sql.run import SqlRequest, run_sql, tables_of
from lamella.core.query.sql.sources import Sources
from lamella.core.scan.snapshot import FileSegment, Snapshot

_WRAPPERS = frozenset({"RESULT_COLLECTOR", "EXPLAIN_ANALYZE", "QUERY_ROOT"})
_ESTIMATE = "Estimated Cardinality"
_LONGEST = 300
_WORDS = re.compile(r"\b[A-Za-z_]\w*\b")
_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*\n|/\*[\s\S]*?\*/)*explain\b(?:"
    r"\s*\((?P<options>\s*(?:analyze|buffers|costs|format|settings|summary|timing|verbose|wal)\b[^()]*)\)"
    r"|\s+(?P<analyze>analyze)\b|\s+query\s+plan\b)?",
    re.IGNORECASE,
)
"""EXPLAIN as DuckDB, PostgreSQL and SQLite write it."""
_REFERENCE = re.compile(r"#(\d+)\b")
"""How an operator names the columns of its input: by their positions, from 0."""
_CAST = re.compile(r"\b(?:TRY_)?CAST\(((?:[^()]|\([^()]*\))*) AS [A-Z][A-Z0-9_ ]*(?:\([^()]*\))?(?:\[\])*\)")
_COMPRESSION = re.compile(r"\b__internal_(?:de)?compress_\w+\(((?:[^(),]|\([^()]*\))*)(?:,[^()]*)?\)")
_CAST_IN_SQL = re.compile(r"\bcast\b|\btry_cast\b|::", re.IGNORECASE)
_KEEPS_COLUMNS = frozenset({"FILTER", "ORDER_BY", "TOP_N", "LIMIT", "STREAMING_LIMIT", "RESULT_COLLECTOR"})
"""Operators whose columns are those of their input."""
TITLES = {
    "PROJECTION": "Compute columns", "FILTER": "Filter", "ORDER_BY": "Sort", "TOP_N": "First rows in order",
    "LIMIT": "Limit", "STREAMING_LIMIT": "Limit", "LIMIT_PERCENT": "Limit to a share",
    "HASH_GROUP_BY": "Group", "PERFECT_HASH_GROUP_BY": "Group", "PARTITIONED_AGGREGATE": "Group",
    "UNGROUPED_AGGREGATE": "Aggregate all rows", "SIMPLE_AGGREGATE": "Aggregate all rows",
    "WINDOW": "Window functions", "STREAMING_WINDOW": "Window functions", "UNNEST": "Unnest",
    "PIVOT": "Pivot", "UNION": "Union", "RESERVOIR_SAMPLE": "Sample", "STREAMING_SAMPLE": "Sample",
    "CROSS_PRODUCT": "Every pair of rows", "POSITIONAL_JOIN": "Join by position",
    "LEFT_DELIM_JOIN": "Join with a correlated subquery",
    "RIGHT_DELIM_JOIN": "Join with a correlated subquery", "DELIM_SCAN": "Values of the outer query",
    "CTE": "Common table expression", "CTE_SCAN": "Scan of a common table expression",
    "RECURSIVE_CTE": "Recursive expression", "RECURSIVE_KEY_CTE": "Recursive expression",
    "RECURSIVE_CTE_SCAN": "Scan of a recursive expression", "DUMMY_SCAN": "A single row",
    "EMPTY_RESULT": "No rows", "EXPRESSION_SCAN": "Rows of VALUES",
    "SEQ_SCAN": "Scan of a table of the engine",
    "COLUMN_DATA_SCAN": "Scan of an intermediate result", "CHUNK_SCAN": "Scan of an intermediate result",
    "POSITIONAL_SCAN": "Scans side by side", "INOUT_FUNCTION": "Table function",
}  # fmt: skip
"""What each operator of the engine does, for users."""
_JOINS = {
    "HASH_JOIN": "", "NESTED_LOOP_JOIN": ", comparing all pairs",
    "BLOCKWISE_NL_JOIN": ", comparing all pairs",
    "PIECEWISE_MERGE_JOIN": " by ranges", "IE_JOIN": " by ranges", "ASOF_JOIN": " with the nearest row",
}  # fmt: skip
"""How operators that join differ."""
_TYPES_OF_JOINS = {
    "LEFT": "Left join", "RIGHT": "Right join", "OUTER": "Full join", "FULL": "Full join",
    "SEMI": "Rows with a match", "RIGHT_SEMI": "Rows with a match", "ANTI": "Rows without a match",
    "RIGHT_ANTI": "Rows without a match", "MARK": "Test for a match", "SINGLE": "Join with a single row",
}  # fmt: skip
_SAME = " IS NOT DISTINCT FROM "
_OF_GROUPS = ("Groups", "Aggregates")


@dataclass(frozen=True)
class Operator:
    """An operator of the plan. `name` says what it does, `engine_name` is what DuckDB calls it. `seconds` is
    its own time without that of its inputs, added up over threads; `rows` are the rows it produced, `read`
    those it read from a table. They are None if nothing was measured. `estimated_rows` is the expected number
    of rows."""

    name: str
    details: tuple[str, ...] = ()
    seconds: float | None = None
    rows: int | None = None
    estimated_rows: int | None = None
    read: RowsRead | None = None
    inputs: tuple[Operator, ...] = ()
    engine_name: str = ""

    def walk(self) -> Iterator[Operator]:
        yield self
        for node in self.inputs:
            yield from node.walk()


@dataclass(frozen=True)
class SqlPlan:
    """A plan. `seconds` is the time of the whole statement; None if it did not run."""

    root: Operator
    seconds: float | None = None

    @property
    def operator_seconds(self) -> float:
        return sum(node.seconds or 0.0 for node in self.root.walk())

    @property
    def rows_read(self) -> RowsRead:
        return sum((node.read for node in self.root.walk() if node.read is not None), RowsRead(0))


def is_explain(text: str) -> bool:
    return _EXPLAIN.match(text) is not None


def explain_sql(
    text: str, sources: Sources, request: SqlRequest, job: Job, *, measured: bool | None = None
) -> SqlPlan:
    """Return the plan of one SELECT, which may follow EXPLAIN; `measured` runs it, None leaves that to
    EXPLAIN. Raises what `run_sql` raises."""
    explain, start = _EXPLAIN.match(text), 0
    if explain is not None:
        start = explain.end()
        options = (explain["options"] or explain["analyze"] or "").casefold()
        measured = "analyze" in options if measured is None else measured
    text = text[start:]
    words = "explain (analyze, format json) " if measured else "explain (format json) "
    started = time.perf_counter()
    try:
        answer = run_sql(words + text, sources, request, job)
    except LamellaError as error:
        if error.span is not None:
            moved = start - len(words)
            error.span = max(0, error.span[0] + moved), max(0, error.span[1] + moved)
        raise
    seconds = time.perf_counter() - started
    profile = json.loads(answer.column(answer.num_columns - 1)[0].as_py())
    tables = tables_of(text, sources, request, job)
    reader = _PlanReader(tables, has_casts=bool(_CAST_IN_SQL.search(text)))
    if isinstance(profile, list):
        return SqlPlan(reader.operator(profile[0] if profile else {}))
    roots = profile.get("operator") or profile.get("children") or [{}]
    root = roots[0] if isinstance(roots, list) else roots
    while str(root.get("type", root.get("name", ""))) in _WRAPPERS and len(root.get("children", ())) == 1:
        root = root["children"][0]
    return SqlPlan(reader.operator(root), seconds)


def _column_names(tables: Mapping[str, Snapshot]) -> dict[str, str]:
    """The names of columns by their names inside files, if unambiguous."""
    names_by_stored: dict[str, set[str]] = {}
    for snapshot in tables.values():
        columns = {column.key: column.name for column in snapshot.columns}
        in_memory = {column.key: identifier(column) for column in snapshot.columns}
        for segment in snapshot.segments:
            stored_names = segment.names if isinstance(segment, FileSegment) else in_memory
            for key, stored in stored_names.items():
                if key in columns:
                    names_by_stored.setdefault(stored, set()).add(columns[key])
    return {stored: names.pop() for stored, names in names_by_stored.items() if len(names) == 1}


class _PlanReader:
    """Makes operators of DuckDB's nodes, with tables and columns by their own names rather than the engine's
    internal ones. Casts are those of the engine if the statement `has_casts` of its own."""

    def __init__(self, tables: Mapping[str, Snapshot], has_casts: bool) -> None:
        self._names, self._files = _column_names(tables), TableFiles.by_name(tables)
        self._has_casts = has_casts
        self._with_files = [name for name, snapshot in tables.items() if snapshot.files]
        self._in_memory = [name for name, snapshot in tables.items() if _has_rows_in_memory(snapshot)]

    def operator(self, node: Mapping[str, Any], dropped: int = 0) -> Operator:
        info = dict(node.get("extra_info") or {})
        estimate = str(info.pop(_ESTIMATE, "")).lstrip("~")
        timing, rows = node.get("timing"), node.get("intermediate_rows", node.get("operator_cardinality"))
        below = dropped_rows(node) or dropped
        details = (
            self._detail(key, value, node) for key, value in info.items() if value and key != "Function"
        )
        return Operator(
            self._title(node, dropped),
            tuple(detail for detail in details if detail),
            None if timing is None else float(timing),
            None if timing is None or rows is None else int(rows),
            int(estimate) if estimate.isdigit() else None,
            None if timing is None else scan_of(node, self._files, dropped),
            tuple(self.operator(inner, below) for inner in node.get("children", ())),
            _engine_name(node),
        )

    def _title(self, node: Mapping[str, Any], dropped: int) -> str:
        """What an operator does; `dropped` rows of the table above it are deleted or replaced."""
        kind, info = _engine_name(node), node.get("extra_info") or {}
        if kind in _JOINS:
            if dropped_rows(node):
                return "Leave out deleted rows"
            return _TYPES_OF_JOINS.get(str(info.get("Join Type", "")), "Join") + _JOINS[kind]
        if kind in FILE_SCANS:
            paths = [PurePath(part.strip()).name for part in str(info.get("Filename(s)", "")).split(",")]
            tables = [self._files[path].name for path in paths if path in self._files] or self._with_files
            return f"Scan of {tables[0]}" if len({*tables}) == 1 else "Scan of files"
        if kind in MEMORY_SCANS:
            if dropped and info.get("Projections") == POSITION:
                return "Scan of deleted rows"
            return f"Scan of {self._in_memory[0]}" if len(self._in_memory) == 1 else "Scan of rows in memory"
        if "Function" in info:
            return f"Table function {kind.lower()}"
        return TITLES.get(kind) or kind.replace("_", " ").capitalize() or "Operator"

    def _detail(self, key: str, value: object, node: Mapping[str, Any]) -> str:
        """A detail as text; empty if it only has columns whose names are not known."""
        parts = [str(part) for part in (value if isinstance(value, list) else [value])]
        if key in ("Filename(s)", "Filenames", "Files") or key.lower().startswith("file"):
            paths = [PurePath(part.strip()).name for part in ", ".join(parts).split(",")]
            if all(path in self._files for path in paths):
                return f"Table: {', '.join(dict.fromkeys(self._files[path].name for path in paths))}"
            text = ", ".join(paths)
        else:
            texts = [self._with_column_names(part, node) for part in parts]
            own = (POSITION, f"{POSITION} = {POSITION}")
            text = ", ".join(part for part in texts if part not in own and not _REFERENCE.search(part))
        text = _WORDS.sub(lambda word: self._names.get(word[0], word[0]), text.replace(OWN_NAMES, ""))
        return f"{key}: {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}" if text else ""

    def _with_column_names(self, text: str, node: Mapping[str, Any]) -> str:
        """An expression with the names of columns in place of their positions, as far as they are known."""
        inputs = node.get("children", ())
        sides = text.split(_SAME) if len(inputs) == 2 else [text]
        if inputs and len(sides) in (1, len(inputs)):
            columns = map(self._columns, inputs if len(sides) == len(inputs) else inputs[:1])
            text = _SAME.join(map(_with_names, sides, columns))
        return _without(_COMPRESSION, text if self._has_casts else _without(_CAST, text))

    def _columns(self, node: Mapping[str, Any]) -> list[str]:
        """The columns that a node gives to the one above, in order; none if they are not known."""
        info, inputs, kind = node.get("extra_info") or {}, node.get("children", ()), _type(node)
        if kind.endswith(("GROUP_BY", "AGGREGATE")):
            lists = [info.get(key) or [] for key in _OF_GROUPS]
            written = [part for parts in lists for part in (parts if isinstance(parts, list) else [parts])]
        elif "Projections" in info:
            own = info["Projections"]
            written = own if isinstance(own, list) else [own]
        else:
            return self._columns(inputs[0]) if kind in _KEEPS_COLUMNS and len(inputs) == 1 else []
        return [self._with_column_names(str(part), node) for part in written]


def _with_names(text: str, columns: Sequence[str]) -> str:
    def name_of(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return columns[number] if number < len(columns) else reference[0]

    return _REFERENCE.sub(name_of, text)


def _type(node: Mapping[str, Any]) -> str:
    return str(node.get("type") or node.get("name") or "").strip()


def _engine_name(node: Mapping[str, Any]) -> str:
    """What DuckDB calls an operator; for a scan, what it scans."""
    return str((node.get("extra_info") or {}).get("Function") or _type(node))


def _has_rows_in_memory(snapshot: Snapshot) -> bool:
    return any(not isinstance(segment, FileSegment) for segment in snapshot.segments)


def _without(call: re.Pattern[str], text: str) -> str:
    """An expression with the first arguments of calls in their place, the innermost first."""
    while True:
        shorter = call.sub(lambda match: match[1], text)
        if shorter == text:
            return text
        text = shorter
