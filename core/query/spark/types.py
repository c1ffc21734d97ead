"""Column types for Spark: their names in its SQL, and Arrow's types."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from lamella.core.libraries import exp


@cache
def _names() -> dict[Any, tuple[str, pa.DataType]]:
    """DuckDB's types, as sqlglot names them: Spark's name, and Arrow's type."""
    kinds = exp.DataType.Type
    return {
        kinds.BOOLEAN: ("BOOLEAN", pa.bool_()),
        kinds.TINYINT: ("TINYINT", pa.int8()),
        kinds.SMALLINT: ("SMALLINT", pa.int16()),
        kinds.INT: ("INT", pa.int32()),
        kinds.BIGINT: ("BIGINT", pa.int64()),
        kinds.UTINYINT: ("SMALLINT", pa.int16()),
        kinds.USMALLINT: ("INT", pa.int32()),
        kinds.UINT: ("BIGINT", pa.int64()),
        kinds.UBIGINT: ("DECIMAL(20, 0)", pa.decimal128(20, 0)),
        kinds.INT128: ("DECIMAL(38, 0)", pa.decimal128(38, 0)),
        kinds.FLOAT: ("FLOAT", pa.float32()),
        kinds.DOUBLE: ("DOUBLE", pa.float64()),
        kinds.TEXT: ("STRING", pa.string()),
        kinds.VARCHAR: ("STRING", pa.string()),
        kinds.VARBINARY: ("BINARY", pa.binary()),
        kinds.DATE: ("DATE", pa.date32()),
        kinds.TIMESTAMP: ("TIMESTAMP_NTZ", pa.timestamp("us")),
        kinds.TIMESTAMPNTZ: ("TIMESTAMP_NTZ", pa.timestamp("us")),
        kinds.TIMESTAMPTZ: ("TIMESTAMP", pa.timestamp("us", "UTC")),
        kinds.TIMESTAMPLTZ: ("TIMESTAMP", pa.timestamp("us", "UTC")),
    }


def spark_type(kind: exp.DataType) -> str | None:
    """Spark's name of a DuckDB type; None for a type that it lacks, such as nanoseconds."""
    if kind.is_type(exp.DataType.Type.DECIMAL):
        return "DECIMAL({}, {})".format(*_digits(kind))
    if kind.is_type(exp.DataType.Type.LIST) or kind.is_type(exp.DataType.Type.ARRAY):
        inner = spark_type(kind.expressions[0])
        return None if inner is None else f"ARRAY<{inner}>"
    if kind.is_type(exp.DataType.Type.MAP):
        key, value = map(spark_type, kind.expressions)
        return None if key is None or value is None else f"MAP<{key}, {value}>"
    if kind.is_type(exp.DataType.Type.STRUCT):
        parts = [(part.this.sql("spark"), spark_type(part.args["kind"])) for part in kind.expressions]
        return (
            None
            if any(name is None for _, name in parts)
            else f"STRUCT<{', '.join(f'{n}: {k}' for n, k in parts)}>"
        )
    return _names().get(kind.this, (None, None))[0]


def cast_kind(value: exp.Expr) -> pa.DataType | None:
    """The type of a cast written for DuckDB or Spark; None for other expressions."""
    if not isinstance(value, exp.Cast):
        return None
    kind = value.to
    if kind.this == exp.DataType.Type.USERDEFINED:
        name = str(kind.args.get("kind"))
        if name.startswith("DECIMAL("):
            return pa.decimal128(*map(int, name[8:-1].split(",")))
        return pa.list_(pa.null()) if name.startswith("ARRAY<") else _by_spark_name().get(name)
    if kind.is_type(exp.DataType.Type.DECIMAL):
        return pa.decimal128(*_digits(kind))
    if kind.is_type(exp.DataType.Type.LIST) or kind.is_type(exp.DataType.Type.ARRAY):
        return pa.list_(pa.null())  # the type of the items does not matter
    return _names().get(kind.this, (None, None))[1]


@cache
def _by_spark_name() -> dict[str, pa.DataType]:
    return dict(_names().values())


def _digits(kind: exp.DataType) -> tuple[int, int]:
    """The precision and scale of a decimal; 18 and 3 if its type does not give them."""
    parts = [int(part.name) for part in kind.expressions]
    if not parts:
        return 18, 3
    return parts[0], parts[1] if len(parts) > 1 else 0
