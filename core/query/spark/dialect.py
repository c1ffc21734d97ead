"""Translates statements from DuckDB's dialect to Spark's, with the same answer.

All differences are in the tables here. A function or operator that is in none of them, and is not plain SQL,
is refused before anything runs. The session's time zone is UTC. A `Context` has the types of columns, on
which some differences depend.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from lamella.core.libraries import exp, sqlglot
from lamella.core.query.spark import aggregates, values
from lamella.core.query.spark.reshaping import lift_unnests, name_keys, number_rows
from lamella.core.query.spark.writing import Context, NotInDialect, Rule, as_it_is, call, rename_rule


def to_spark(statement: str, context: Context | None = None) -> str:
    """Translate the statement. Raises `NotInDialect`."""
    context = context or Context()
    try:
        tree = sqlglot.parse_one(statement, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise NotInDialect("the statement cannot be read", str(error).partition("\n")[0]) from error
    name_keys(tree)
    lift_unnests(tree)
    number_rows(tree)
    root = exp.Paren(this=tree)
    for node in reversed(list(root.walk(bfs=True))):  # inner nodes come first
        if node is root:
            continue
        mended = _translate_node(node, context)
        if mended is not node:
            node.replace(mended)
    return str(root.this.sql("spark", normalize_functions=False, copy=False))


def _translate_node(node: exp.Expr, context: Context) -> exp.Expr:
    if isinstance(node, exp.Anonymous):
        rule = FUNCTIONS.get(str(node.this).casefold())
        if rule is None:
            raise NotInDialect(f"the function {str(node.this).casefold()}() has no equivalent in Spark")
        return rule(node, context)
    rule = rules().get(type(node))
    if rule is not None:
        return rule(node, context)
    if isinstance(node, exp.Func) and not isinstance(node, plain_functions()):
        raise NotInDialect(f"the function {node.sql_name().casefold()}() has no equivalent in Spark")
    return node


FUNCTIONS: dict[str, Rule] = {
    # numbers
    "isfinite": values.is_finite,
    "isnan": values.nan_or_null,
    "error": values.error,
    # times
    "date_part": values.date_part,
    "timezone": values.timezone,
    "epoch_us": values.epoch,
    "make_timestamp": values.from_epoch(zoned=False),
    "make_timestamptz": values.from_epoch(zoned=True),
    "make_date": values.make_date,
    "date_diff": values.date_diff,
    "to_seconds": values.to_seconds,
    "to_hours": values.to_hours,
    # texts
    "strlen": rename_rule("octet_length"),
    "octet_length": rename_rule("octet_length"),
    "ends_with": rename_rule("endswith"),
    "suffix": rename_rule("endswith"),
    # lists, structs and maps
    "row": rename_rule("struct"),
    "list_extract": values.list_extract,
    "struct_extract_at": values.struct_field,
    "map_extract_value": values.value_of_map,
    "list_position": values.list_position,
    # aggregates
    "arg_min_null": rename_rule("min_by"),
    "arg_max_null": rename_rule("max_by"),
    "count_if": rename_rule("count_if"),
    "histogram": aggregates.histogram,
    "map_values": aggregates.values_of_map,
    # sampling: a stable hash
    "hash": rename_rule("xxhash64"),
    # produced by reshaping
    "posexplode": as_it_is,
    "get": as_it_is,
    "array_repeat": as_it_is,
    "struct": as_it_is,
}
"""Rules for functions that sqlglot does not parse, by name."""


@cache
def rules() -> Mapping[type, Rule]:
    """Rules for functions and operators that sqlglot parses, by class."""
    tables = (_relations, _numbers, _comparisons, _times, _texts, _nested_values, _aggregates)
    return {kind: rule for table in tables for kind, rule in table().items()}


def _relations() -> dict[type, Rule]:
    return {
        exp.Table: values.table,
        exp.CTE: values.subquery,
        exp.Window: values.window,
        exp.Ordered: values.sort_key,
        exp.Distinct: values.distinct,
    }


def _numbers() -> dict[type, Rule]:
    return {
        exp.Cast: values.cast,
        exp.TryCast: values.cast,
        exp.Floor: values.floor("floor"),
        exp.Ceil: values.floor("ceil"),
        exp.Round: values.round_value,
        exp.Sign: values.sign,
        exp.IntDiv: values.divide_whole,
        exp.Div: values.divide,
        exp.Mod: values.modulo,
        exp.IsNan: values.nan_or_null,
        exp.Pow: rename_rule("power"),
        exp.Log: values.log,
        exp.Ln: rename_rule("ln"),
        exp.Nullif: rename_rule("nullif"),
    }


def _comparisons() -> dict[type, Rule]:
    plain = (exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between)
    return {
        exp.EQ: values.equal,
        exp.NullSafeEQ: values.null_safe_equal,
        exp.NullSafeNEQ: values.differ,
        **dict.fromkeys(plain, values.compare),
    }


def _times() -> dict[type, Rule]:
    return {
        exp.Add: values.add_or_subtract,
        exp.Sub: values.add_or_subtract,
        exp.Extract: values.date_part,
        exp.TimestampTrunc: values.date_trunc,
        exp.DateTrunc: values.date_trunc,
        exp.UnixToTime: values.unix_to_time,
        exp.DateDiff: values.date_diff,
        exp.DateFromParts: values.make_date,
    }


def _texts() -> dict[type, Rule]:
    return {
        exp.Concat: values.concat,
        exp.Trim: values.trim,
        exp.Length: values.length_of,
        exp.ByteLength: rename_rule("octet_length"),
        exp.Contains: rename_rule("contains"),
        exp.StartsWith: rename_rule("startswith"),
        exp.EndsWith: rename_rule("endswith"),
        exp.RegexpLike: rename_rule("rlike"),
        exp.Left: rename_rule("left"),
        exp.Substring: rename_rule("substring"),
        exp.Replace: rename_rule("replace"),
        exp.Unhex: rename_rule("unhex"),
    }


def _nested_values() -> dict[type, Rule]:
    return {
        exp.Bracket: values.list_extract,
        exp.Struct: values.struct,
        exp.Array: lambda node, _: call("array", *node.expressions),
        exp.ArraySize: rename_rule("array_size"),
        exp.Transform: rename_rule("transform"),
        exp.ArrayFilter: values.list_filter,
        exp.MapFromEntries: values.map_of_entries,
    }


def _aggregates() -> dict[type, Rule]:
    return {
        exp.Filter: aggregates.condition_inside,
        exp.ArrayAgg: aggregates.array_agg,
        exp.First: aggregates.first("min_by"),
        exp.Last: aggregates.first("max_by"),
        exp.Median: aggregates.median,
        exp.PercentileCont: aggregates.quantile,
        exp.PercentileDisc: aggregates.quantile_of_values,
        exp.ApproxQuantile: aggregates.approximate_quantile,
        exp.ApproxDistinct: aggregates.approximate_distinct,
        exp.Mode: aggregates.mode,
        exp.Avg: aggregates.avg,
        exp.Min: aggregates.extreme,
        exp.Max: aggregates.extreme,
        exp.Stddev: rename_rule("stddev_samp"),
        exp.StddevSamp: rename_rule("stddev_samp"),
        exp.StddevPop: aggregates.population_stddev,
        exp.Variance: rename_rule("var_samp"),
        exp.VariancePop: rename_rule("var_pop"),
        exp.CountIf: rename_rule("count_if"),
    }


@cache
def plain_functions() -> tuple[type, ...]:
    """Functions and operators with the same meaning in Spark, which sqlglot writes."""
    return (
        exp.Abs, exp.And, exp.Or, exp.Xor, exp.Case, exp.Coalesce, exp.Count, exp.Exp, exp.Greatest, exp.If,
        exp.Least, exp.Lower, exp.RowNumber, exp.DenseRank, exp.Rank, exp.Sqrt, exp.Sum, exp.Upper,
        exp.Exists, exp.CurrentDate,
    )  # fmt: skip
