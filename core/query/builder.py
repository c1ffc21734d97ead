"""Queries under construction:
`table.where(...).group_by("carrier").agg(n=count()).sort("-n").limit(10).read()`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lamella.core.arrow.interchange import ArrowStream, sized_batches
from lamella.core.errors import BadQuery, short_text
from lamella.core.filters.condition import Condition, condition_of
from lamella.core.jobs import Job
from lamella.core.query.expressions import computes_from, expression_of
from lamella.core.query.scan_query import as_scan
from lamella.core.query.source import engine_of, merge_sources, related_keys, sibling, whole_snapshot
from lamella.core.query.steps import (
    Aggregate,
    Aggregates,
    Buckets,
    Compute,
    Facets,
    Group,
    How,
    Join,
    Limit,
    Pipeline,
    Pivot,
    Sample,
    Select,
    Sort,
    Step,
    Unpivot,
    Unwind,
    Where,
    rename_in_steps,
    rename_sources,
)
from lamella.core.scan.snapshot import SortKey
from lamella.core.validation import count_of, names_of, text_of

if TYPE_CHECKING:
    from lamella.core.query.explain import Explain
    from lamella.core.query.pages import Page
    from lamella.core.query.plan import Node
    from lamella.core.query.source import Source
    from lamella.core.scan.snapshot import Snapshot


class Fluent(ArrowStream):
    @abstractmethod
    def query(self) -> Query:
        """All rows, as a query."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in their order."""
        return list(self.query().schema.names)

    def head(self, count: int = 5) -> pa.Table:
        """Read the first rows."""
        return self.query().limit(count).read()

    def where(self, condition: Condition, *more: Condition) -> Query:
        """Keep the rows that meet a condition: an expression, text or a dict; with several conditions, the
        rows that meet all of them. Raises `BadFilter` for anything else."""
        rows = self.query()
        for part in (condition, *more):
            predicate = condition_of(part, f"{rows.name}: where", rows)
            rows = rows if predicate is None else rows.then(Where(predicate))
        return rows

    def compute(self, /, **values: Any) -> Query:
        """Add columns: `.compute(total=col("price") * col("count"))`.

        Any other value, including text, is repeated in every row. Raises `BadQuery` for text that looks like
        a computation on columns, such as `"price * 2"`; `Constant("price * 2")` gives that text itself.
        """
        rows = self.query()
        for name, value in values.items():
            if isinstance(value, str) and computes_from(value, lambda: rows.schema.names):
                raise BadQuery(
                    f"{rows.name}: '{name}' would hold the text {value!r} in every row",
                    "compute takes text as a value, and this text looks like a computation",
                    f"Write it with col(): col('a') * 2. For the text itself, give Constant({value!r})",
                )
        return rows.then(Compute(tuple((name, expression_of(value)) for name, value in values.items())))

    def select(self, *columns: str | Iterable[str]) -> Query:
        """Keep only these columns, in this order."""
        rows = self.query()
        names = names_of(_flat_names(columns), f"{rows.name}: select")
        if not names:
            raise BadQuery(f"{rows.name}: select names no column", fix="Name at least one: select('a')")
        return rows.then(Select(tuple(names)))

    def group_by(self, /, *keys: str | Iterable[str], **computed: Any) -> Grouping:
        """Start a grouping, completed by `.agg(...)`. Keys may be computed: `.group_by("carrier",
        month=col("day").month())`."""
        rows = self.query()
        names = tuple(names_of(_flat_names(keys), f"{rows.name}: group_by"))
        before = rows.compute(**computed) if computed else rows
        return Grouping(before, (*names, *computed))

    def agg(self, /, **aggregates: Aggregate) -> Query:
        """Aggregate all rows into one: `.agg(n=count(), late=mean("dep_delay"))`."""
        return Grouping(self.query(), ()).agg(**aggregates)

    def sort(self, *keys: str | Iterable[str]) -> Query:
        """Sort by these columns; "-name" sorts descending, and nulls come last. Rows with equal keys keep
        their order."""
        rows = self.query()
        names = names_of(_flat_names(keys), f"{rows.name}: sort")
        columns = set(rows.schema.names) if any(name.startswith("-") for name in names) else set()
        return rows.then(Sort(tuple(_key(name, columns) for name in names)))

    def limit(self, count: int | None, offset: int = 0) -> Query:
        """Keep at most `count` rows (all if None), starting at row `offset`."""
        rows = self.query()
        most = None if count is None else count_of(count, f"{rows.name}: limit")
        return rows.then(Limit(most, count_of(offset, f"{rows.name}: offset")))

    def join(
        self,
        other: Fluent | str,
        on: str | Iterable[str] | None = None,
        *,
        left_on: str | Iterable[str] | None = None,
        right_on: str | Iterable[str] | None = None,
        how: How = "inner",
        suffix: str | None = None,
        through: str | None = None,
    ) -> Query:
        """Combine with the rows of another dataset or query that have equal keys; null equals nothing. A text
        as `other` names a table of the same store.

        Keys that have the same name on both sides are given as `on`, others as `left_on` and `right_on`.
        Without keys, the relation declared between the two tables is used; `through` names it if there are
        several. Columns of the other side whose names are taken get the `suffix`: by default an underscore
        and the name of the other side. `how` is "inner", "left", "right", "full", "semi" (the rows that have
        a partner) or "anti" (those that have none).
        """
        left = self.query()
        right = other_side(left, other)
        return join(left, right, join_keys(left, right, on, left_on, right_on, through), how, suffix)

    def aggregate(self, stages: Sequence[Mapping[str, Any]]) -> Query:
        """Apply stages in MongoDB's syntax: `[{"$match": {"delay": {"$gt": 60}}}, {"$count": "n"}]`.

        Raises `BadQuery` or another `LamellaError` for a stage that is unknown or malformed.
        """
        from lamella.core.query.mongo import apply_stages

        return apply_stages(self.query(), stages)


class Grouping:
    """Rows with grouping keys, waiting for `agg`."""

    def __init__(self, rows: Query, keys: tuple[str, ...]) -> None:
        self._rows, self._keys = rows, keys

    def agg(self, /, **aggregates: Aggregate) -> Query:
        """Compute one column per aggregate: `.agg(n=count(), late=mean("dep_delay"))`. Without aggregates the
        answer has the keys alone, each combination once."""
        if not self._keys and not aggregates:
            raise BadQuery(
                f"{self._rows.name}: agg is given no aggregate", fix="Give one: agg(n=agg.count())"
            )
        return self._rows.then(Group(self._keys, _aggregates(aggregates, self._rows.name)))


def _flat_names(names: tuple[Any, ...]) -> Any:
    """The names as a single iterable, whether they were passed one by one or as one list."""
    return names[0] if len(names) == 1 and not isinstance(names[0], str) else names


def _aggregates(aggregates: Mapping[str, Aggregate], place: str) -> Aggregates:
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            raise BadQuery(
                f"{place}: '{name}' is {short_text(aggregate)}, which is not an aggregate",
                fix="Give one of lamella.agg: count(), mean('price')",
            )
    return tuple(aggregates.items())


def _key(name: str, columns: set[str]) -> SortKey:
    if name in columns or not name.startswith("-"):
        return SortKey(name)
    return SortKey(name[1:], True)


def _seed(seed: Any, place: str) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
        raise BadQuery(f"{place}: sample was given {short_text(seed)} as seed", fix="Give a 64-bit integer")
    return seed


def query_of(source: Source) -> Query:
    """All rows of a source, as a query."""
    return Query({source.name: source}, Pipeline(source.name))


class Query(Fluent):
    """A query of one or more datasets: immutable plain data until it is read. Each step returns a new query.
    Reading uses the datasets as they are at that moment."""

    def __init__(self, sources: Mapping[str, Source], pipeline: Pipeline) -> None:
        """`sources` maps the names in the pipeline to datasets."""
        self.sources, self.pipeline = sources, pipeline

    @staticmethod
    def of(saved: Any, find: Callable[[str], Source]) -> Query:
        """Rebuild the query that `to_json` wrote; `find` returns the dataset with a given name.

        Raises `BadQuery` if `saved` is not a query, `StoreProblem` for a version that has expired.
        """
        from lamella.core.query.pipeline_json import query_from_json

        return Query(*query_from_json(saved, find))

    def pivot(
        self,
        keys: str | Iterable[str],
        column: str,
        /,
        values: Iterable[Any] | Aggregate | None = None,
        **aggregates: Aggregate,
    ) -> Query:
        """One row for each combination of key values and one column for each value of `column`:
        `.pivot("carrier", "month", n=count())`. If `values` are not given, they are looked up."""
        rows = self.query()
        if isinstance(values, Aggregate):
            aggregates, values = {"values": values, **aggregates}, None
        if values is not None and not isinstance(values, Iterable):
            raise BadQuery(
                f"{rows.name}: pivot takes a list of values, not {short_text(values)}", fix="Give a list"
            )
        listed = None if values is None else tuple(values)
        names = tuple(names_of(keys, f"{rows.name}: pivot"))
        text_of(column, f"{rows.name}: pivot")
        return rows.then(Pivot(names, column, _aggregates(aggregates, rows.name), listed))

    def unpivot(self, columns: Iterable[str], name: str = "name", value: str = "value") -> Query:
        """Repeat each row once per column, and replace the columns by two: the column's name and its
        value."""
        rows = self.query()
        for column in (name, value):
            text_of(column, f"{rows.name}: unpivot, the column name")
        return rows.then(Unpivot(tuple(names_of(columns, f"{rows.name}: unpivot")), name, value))

    def unwind(self, column: str, keep_empty: bool = False) -> Query:
        """Repeat each row once per item of its list. `keep_empty` keeps rows whose list is empty or null."""
        rows = self.query()
        return rows.then(Unwind(text_of(column, f"{rows.name}: unwind"), keep_empty))

    def buckets(self, column: str, edges: int | Iterable[Any], /, **aggregates: Aggregate) -> Query:
        """Group by ranges of a column, counted as `n` unless aggregates are given. `edges` are the bounds of
        the ranges, or the number of equally wide ranges. Ranges without rows are left out."""
        rows = self.query()
        by_name = _aggregates(aggregates or {"n": Aggregate("count")}, rows.name)
        if isinstance(edges, bool) or not isinstance(edges, int | Iterable) or isinstance(edges, str):
            raise BadQuery(
                f"{rows.name}: buckets takes no {short_text(edges)}",
                fix="Give a number of ranges, or their ends",
            )
        return rows.then(Buckets(column, edges if isinstance(edges, int) else tuple(edges), by_name))

    def facets(self, /, **queries: str | Iterable[str] | Callable[[Query], Query]) -> Query:
        """Run several queries of the same rows, which are read once; `tables()` returns their answers.

        A query is a column name or a list of them, whose values are counted, most frequent first; or a
        function:
        `.facets(carrier="carrier", late=lambda rows: rows.where(col("delay") > 60).agg(n=count()))`.
        """
        return add_facets(self.query(), queries)

    def sample(self, count: int, seed: int = 0) -> Query:
        """`count` rows, each equally likely to be chosen; the same rows and seed give the same sample."""
        rows = self.query()
        return rows.then(Sample(count_of(count, f"{rows.name}: sample"), _seed(seed, rows.name)))

    def sql(self, text: str) -> Query:
        """The answer of one SELECT in DuckDB's dialect. It refers to these rows by the name of the first
        dataset, and to other tables of the same store by their names: `.sql("SELECT max(delay) AS d FROM
        flights")`.

        It can read nothing else. The answer is held in memory. Raises `BadSql`, `UnknownTable`.
        """
        from lamella.core.query.sql.step import sql_step

        step, extra_sources = sql_step(
            text, self.pipeline.source, lambda name: sibling(self.sources[self.pipeline.source], name)
        )
        sources, names = merge_sources(self.sources, extra_sources)
        tables = tuple((name, names[name]) for name in extra_sources)
        return Query(
            sources, Pipeline(self.pipeline.source, (*self.pipeline.steps, replace(step, tables=tables)))
        )

    def page(self, size: int, after: str | None = None, job: Job | None = None) -> Page:
        """Read `size` rows. The `next` cursor of the page, passed as `after`, gives the following page.

        A page starts after the last row of the previous one, by that row's position in the sort order, so
        changes in between never make a row appear twice. Raises `BadData` if `after` is not a cursor of this
        query.
        """
        from lamella.core.query.pages import page

        rows, job = count_of(size, f"{self.name}: a page of", least=1), job or Job()
        return page(self._node(job, by_id=True), self.to_json(), rows, after, job)

    def explain(self, job: Job | None = None) -> Explain:
        """Run the query, and report which parts of the files were read for it and which were skipped."""
        from lamella.core.query import execute as answers
        from lamella.core.query import explain

        query, job = as_scan(self.pipeline.steps), job or Job()
        if query is not None:
            return explain.explain(self._snapshot(self.pipeline.source, job), query, job)
        return answers.explain(self._node(job), job)

    def to_json(self) -> dict[str, Any]:
        """The query as JSON-compatible data, for `Query.of`.

        Datasets are stored by name, and old versions by number.
        """
        from lamella.core.query.pipeline_json import query_to_json

        return query_to_json(self.sources, self.pipeline)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and (self.pipeline, self.sources) == (other.pipeline, other.sources)

    def __hash__(self) -> int:
        return hash(self.pipeline)

    def __repr__(self) -> str:
        steps = "".join(f".{type(step).__name__.lower()}" for step in self.pipeline.steps)
        return f"<Query {self.pipeline.source}{steps}>"

    @property
    def name(self) -> str:
        """The name of the first of its datasets."""
        return self.pipeline.source

    def query(self) -> Query:
        return self

    def then(self, step: Step) -> Query:
        return self.with_steps((*self.pipeline.steps, step))

    def having(self, condition: Condition) -> Query:
        """Keep the groups that meet a condition on keys and aggregates."""
        predicate = condition_of(condition, f"{self.name}: having", self)
        last = self.pipeline.steps[-1] if self.pipeline.steps else None
        if not isinstance(last, Group):
            raise BadQuery(f"{self.name}: having follows agg", fix="Use where for rows that are not grouped")
        if predicate is None:
            return self
        both = predicate if last.having is None else last.having & predicate
        return self.with_steps((*self.pipeline.steps[:-1], replace(last, having=both)))

    def with_totals(self, totals: bool = True, subtotals: bool = False) -> Query:
        """Show a row of totals below the groups, and with `subtotals` also the groups by the leading keys
        above their members: in the window, in saved views and in `lamella query`. `read` returns the groups
        alone; `totals` and `subtotals` read the rest."""
        last = self.pipeline.steps[-1] if self.pipeline.steps else None
        if not isinstance(last, Group):
            raise BadQuery(f"{self.name}: with_totals follows agg", fix="Group the rows first: group_by(…)")
        return self.with_steps(
            (*self.pipeline.steps[:-1], replace(last, totals=bool(totals), subtotals=bool(subtotals)))
        )

    def totals(self, job: Job | None = None) -> pa.Table:
        """Read one row: the aggregates over all rows that are grouped, including those of groups that
        `having`, or a filter or limit after the grouping, leaves out. A mean is the mean of the rows, not of
        the groups.

        Raises `BadQuery` if the answer does not consist of groups with aggregates; otherwise raises like
        `read`.
        """
        from lamella.core.query.group_levels import read_totals

        return read_totals(self.pipeline, lambda steps: self.with_steps(steps).read(job))

    def subtotals(self, job: Job | None = None) -> list[pa.Table]:
        """Read the same aggregates for the groups by the first key, by the first two, and so on up to the
        last key but one: one table for each level, sorted by its keys. The list is empty for a single key."""
        from lamella.core.query.group_levels import read_subtotals

        return read_subtotals(self.pipeline, lambda steps: self.with_steps(steps).read(job))

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer. Columns taken unchanged from a dataset keep their notes. Raises like
        `read` for steps that do not fit."""
        engine = engine_of(self)
        return self._node(Job()).fields.schema_with_notes if engine is None else engine.schema(self, Job())

    def read(self, job: Job | None = None) -> pa.Table:
        """Read the answer. Columns that come from a dataset keep their types.

        Raises `UnknownColumn`, `BadFilter` or `BadQuery` for a step that does not fit the rows before it, and
        `NoRoom` if neither memory nor disk space suffices.
        """
        from lamella.core.query import execute as answers
        from lamella.core.query import scan_query, statements

        query, job, engine = as_scan(self.pipeline.steps), job or Job(), engine_of(self)
        if engine is not None:
            return engine.read(self, job)
        if query is not None:
            return scan_query.read_scan(self._snapshot(self.pipeline.source, job), query, job)
        if statements.can_be_cached(self.pipeline):
            return statements.read(self.pipeline, self._snapshot(self.pipeline.source, job), job)
        return answers.read(self._node(job), job)

    def tables(self, job: Job | None = None) -> dict[str, pa.Table]:
        """Read the answers of facets, by name. Raises `BadQuery` if the last step is not `facets`."""
        if not self.pipeline.steps or not isinstance(self.pipeline.steps[-1], Facets):
            raise BadQuery(
                f"{self.name}: only facets have several answers",
                fix="End the query with facets(…), or use read()",
            )
        answer = self.read(job)
        return {name: _rows_in(answer.column(name)) for name in answer.column_names}

    def batches(self, job: Job | None = None, *, batch_size: int | None = None) -> pa.RecordBatchReader:
        """Stream the answer, in batches of `batch_size` rows if that is given."""
        from lamella.core.query import execute as answers

        job, engine = job or Job(), engine_of(self)
        reader = answers.batches(self._node(job), job) if engine is None else engine.batches(self, job)
        return reader if batch_size is None else sized_batches(reader, batch_size, self.name)

    def _stream(self) -> pa.RecordBatchReader:
        return self.batches()

    def __len__(self) -> int:
        return self.count()

    def count(self, job: Job | None = None) -> int:
        """Count the rows of the answer."""
        from lamella.core.query import execute as answers
        from lamella.core.query.find import count_rows

        query, job, engine = as_scan(self.pipeline.steps), job or Job(), engine_of(self)
        if engine is not None:
            return engine.count(self, job)
        if query is None or query.sort or query.columns is not None:
            return answers.count(self._node(job), job)
        rows = count_rows(self._snapshot(self.pipeline.source, job), query.where, job) - query.offset
        return max(0, rows if query.limit is None else min(rows, query.limit))

    def sibling(self, name: str) -> Query | None:
        """Another table of the same store; None if there is no store. Raises `UnknownTable`."""
        dataset = sibling(self.sources[self.pipeline.source], name)
        return None if dataset is None else query_of(dataset)

    def with_steps(self, steps: tuple[Step, ...]) -> Query:
        """The same datasets with other steps."""
        return Query(self.sources, Pipeline(self.pipeline.source, steps))

    def _node(self, job: Job, by_id: bool = False) -> Node:
        from lamella.core.query.compile import compile_pipeline

        return compile_pipeline(self.pipeline, lambda name: self._snapshot(name, job), job, by_id)

    def _snapshot(self, name: str, job: Job) -> Snapshot:
        """A snapshot with all rows of a dataset; an unfinished cache is completed first."""
        return whole_snapshot(self.sources[name], job)


def _rows_in(facet: pa.ChunkedArray) -> pa.Table:
    """The table in a column with one row, which is a list of structs."""
    rows = facet.chunk(0).flatten()
    return pa.Table.from_arrays(
        [rows.field(place) for place in range(rows.type.num_fields)], schema=pa.schema(list(rows.type))
    )


Keys = str | Iterable[str] | None
Names = tuple[str, ...]


def join(left: Query, right: Query, on: tuple[Names, Names], how: How, suffix: str | None) -> Query:
    """Join by columns of the left side and the corresponding ones of the right side."""
    ends = f"_{right.name}" if suffix is None else suffix
    sources, names = merge_sources(left.sources, right.sources)
    steps = (*left.pipeline.steps, Join(rename_sources(right.pipeline, names), *on, how, ends))
    return Query(sources, Pipeline(left.pipeline.source, steps))


def other_side(left: Query, right: Fluent | str) -> Query:
    """The query to join with; a text names a table of the same store."""
    if isinstance(right, Fluent):
        return right.query()
    ours = left.sources[left.pipeline.source]
    other_rows = sibling(ours, right) if isinstance(right, str) else None
    if other_rows is not None:
        return query_of(other_rows)
    raise BadQuery(
        f"{left.name}: {short_text(right)} cannot be joined",
        "It is not a table, a dataset or a query",
        "Give what open_dataset returns, or a table of a store",
    )


def join_keys(
    left: Query, right: Query, on: Keys, left_on: Keys, right_on: Keys, through: str | None
) -> tuple[Names, Names]:
    """The key columns of both sides. Raises `BadQuery` if it is unclear which are meant."""
    if on is not None and left_on is None and right_on is None:
        names = tuple(names_of(on, f"{left.name}: join"))
        return names, names
    if on is None and left_on is not None and right_on is not None:
        return tuple(names_of(left_on, f"{left.name}: join")), tuple(names_of(right_on, f"{left.name}: join"))
    if on is None and left_on is None and right_on is None:
        return _relation_keys(left, right, through)
    raise BadQuery(
        f"{left.name}: it is not clear which columns to join by",
        fix="Give on= for keys with the same name on both sides, left_on= and right_on= for others",
    )


def _relation_keys(left: Query, right: Query, through: str | None) -> tuple[Names, Names]:
    ours, theirs = left.sources[left.pipeline.source], right.sources[right.pipeline.source]
    keys = related_keys(ours, theirs, through)
    if keys is None:
        raise BadQuery(
            f"{left.name}: a join with {right.name} needs keys",
            "Only tables of one store can be related",
            "Give on=, or left_on= and right_on=",
        )
    return keys


Question = str | Iterable[str] | Callable[[Query], Query]


def add_facets(rows: Query, queries: Mapping[str, Question]) -> Query:
    sources, facets = dict(rows.sources), []
    for name, query in queries.items():
        if not callable(query):
            facets.append((name, _value_counts(names_of(query, f"{rows.name}: facets"), rows.name)))
            continue
        answer = query(rows)
        if not isinstance(answer, Query):
            raise BadQuery(
                f"{rows.name}: a facet returned {answer!r}", fix="Return a query of the rows that it receives"
            )
        sources, names = merge_sources(sources, answer.sources)
        facets.append((name, rename_in_steps(_added_steps(rows, answer), names)))
    if not facets:
        raise BadQuery(f"{rows.name}: no facets", fix="Name at least one: facets(carrier='carrier')")
    return Query(sources, Pipeline(rows.pipeline.source, (*rows.pipeline.steps, Facets(tuple(facets)))))


def _value_counts(keys: list[str], place: str) -> tuple[Step, ...]:
    """Count each value, most frequent first."""
    if "n" in keys:
        raise BadQuery(
            f"{place}: a facet names its count 'n', which is also one of its columns",
            fix="Give a function that names the count: lambda r: r.group_by('n').agg(times=agg.count())",
        )
    return (Group(tuple(keys), (("n", Aggregate("count")),)), Sort((SortKey("n", True),)))


def _added_steps(rows: Query, answer: Query) -> tuple[Step, ...]:
    """The steps that a facet adds."""
    before, after = rows.pipeline, answer.pipeline
    if after.source != before.source or after.steps[: len(before.steps)] != before.steps:
        raise BadQuery(f"{rows.name}: a facet queries other rows", fix="Add steps to the rows it receives")
    return after.steps[len(before.steps) :]
