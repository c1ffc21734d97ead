"""Update operators, `{"$set": {"late": True}, "$inc": {"fee": 5}}`, on whole columns at once."""

from __future__ import annotations

from lamella.core.store.operators.rows import RowContext
from lamella.core.store.operators.table import (
    OPERATORS,
    Assignment,
    Operators,
    UnknownOperator,
    apply_assignments,
    assignments,
    columns_read,
    operators_text,
)

__all__ = [
    "OPERATORS",
    "Assignment",
    "Operators",
    "RowContext",
    "UnknownOperator",
    "apply_assignments",
    "assignments",
    "columns_read",
    "operators_text",
]
