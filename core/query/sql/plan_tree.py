"""The plan of a statement as a tree of operators, estimated or measured, from DuckDB's EXPLAIN."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from lamella.core.jobs import Job
from lamella.core.query.duckdb_source import OWN_NAMES
from lamella.core.query.sql.rows_read import RowsRead, TableFiles, scan_of
from lamella.core.query.sql.run import SqlRequest, run_sql, tables_of
from lamella.core.query.sql.sources import Sources
from lamella.core.scan.snapshot import FileSegment, Snapshot

_WRAPPERS = frozenset({"RESULT_COLLECTOR", "EXPLAIN_ANALYZE", "QUERY_ROOT"})
_ESTIMATE = "Estimated Cardinality"
_LONGEST = 300
_WORDS = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True)
class Operator:
    """An operator of the plan. `seconds` is its own time without that of its inputs, added up over threads;
    `rows` are the rows it produced, `read` those it read from a table. They are None if nothing was measured.
    `estimated_rows` is the expected number of rows."""

    name: str
    details: tuple[str, ...] = ()
    seconds: float | None = None
    rows: int | None = None
    estimated_rows: int | None = None
    read: RowsRead | None = None
    inputs: tuple[Operator, ...] = ()

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


def explain_sql(text: str, sources: Sources, request: SqlRequest, job: Job, *, measured: bool) -> SqlPlan:
    """Return the plan of one SELECT; `measured` runs it. Raises what `run_sql` raises."""
    words = "explain (analyze, format json)" if measured else "explain (format json)"
    started = time.perf_counter()
    answer = run_sql(f"{words} {text}", sources, request, job)
    seconds = time.perf_counter() - started
    profile = json.loads(answer.column(answer.num_columns - 1)[0].as_py())
    tables = tables_of(text, sources, request, job)
    names, files = _column_names(tables), TableFiles.by_name(tables)
    if isinstance(profile, list):
        return SqlPlan(_operator(profile[0] if profile else {}, names, files))
    roots = profile.get("operator") or profile.get("children") or [{}]
    root = roots[0] if isinstance(roots, list) else roots
    while str(root.get("type", root.get("name", ""))) in _WRAPPERS and len(root.get("children", ())) == 1:
        root = root["children"][0]
    return SqlPlan(_operator(root, names, files), seconds)


def _column_names(tables: Mapping[str, Snapshot]) -> dict[str, str]:
    """The names of columns by their names inside files, if unambiguous."""
    names_by_stored: dict[str, set[str]] = {}
    for snapshot in tables.values():
        columns = {column.key: column.name for column in snapshot.columns}
        for segment in snapshot.segments:
            for key, stored in segment.names.items() if isinstance(segment, FileSegment) else ():
                if key in columns:
                    names_by_stored.setdefault(stored, set()).add(columns[key])
    return {stored: names.pop() for stored, names in names_by_stored.items() if len(names) == 1}


def _operator(node: Mapping[str, Any], names: Mapping[str, str], files: Mapping[str, TableFiles]) -> Operator:
    info = dict(node.get("extra_info") or {})
    estimate = str(info.pop(_ESTIMATE, "")).lstrip("~")
    timing, rows = node.get("timing"), node.get("intermediate_rows", node.get("operator_cardinality"))
    return Operator(
        str(node.get("type") or node.get("name") or "operator").replace("_", " ").strip().lower(),
        tuple(_detail(key, value, names, files) for key, value in info.items() if value),
        None if timing is None else float(timing),
        None if timing is None or rows is None else int(rows),
        int(estimate) if estimate.isdigit() else None,
        None if timing is None else scan_of(node, files),
        tuple(_operator(inner, names, files) for inner in node.get("children", ())),
    )  # fmt: skip


def _detail(key: str, value: object, names: Mapping[str, str], files: Mapping[str, TableFiles]) -> str:
    """A detail as text, with tables and columns by their own names rather than the engine's internal ones."""
    parts = value if isinstance(value, list) else [value]
    text = ", ".join(str(part) for part in parts)
    if key in ("Filename(s)", "Filenames", "Files") or key.lower().startswith("file"):
        paths = [PurePath(part.strip()).name for part in text.split(",")]
        if all(path in files for path in paths):
            return f"Table: {', '.join(dict.fromkeys(files[path].name for path in paths))}"
        text = ", ".join(paths)
    text = _WORDS.sub(lambda word: names.get(word[0], word[0]), text.replace(OWN_NAMES, ""))
    return f"{key}: {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}"
