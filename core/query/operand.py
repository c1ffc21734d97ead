"""One value in a computed expression: its SQL, its type, and how a message calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp


@dataclass(frozen=True)
class Value:
    """`sql` gives what `core.query.duckdb_types` tells of the type. `given` is a constant's own value."""

    sql: exp.Expr
    type: pa.DataType
    said: str
    given: Any = None
    constant: bool = False
