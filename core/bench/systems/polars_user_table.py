"""The user's own table as one Parquet file that Polars scans and writes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from lamella.core.bench.systems.polars import PolarsSystem
from lamella.core.bench.workloads.conditions import ExpressionOperand, Logic, Subject, compile_condition
from lamella.core.bench.workloads.user_table import UserTableFile
from lamella.core.filters.kinds import Kind
from lamella.core.filters.predicate_values import as_regex


class PolarsUserTable(PolarsSystem, UserTableFile):
    file_name = "mine.parquet"
    description = "one Parquet file, scanned lazily; a change rewrites it; not durable (no sync)"

    def load(self, rows: int) -> None:
        pl.scan_parquet(self.table_copy.path).head(rows).sink_parquet(self.path)

    def read(self) -> pl.DataFrame:
        return pl.read_parquet(self.path)

    def filter(self) -> pl.DataFrame:
        return pl.scan_parquet(self.path).filter(self.condition()).collect()

    def update(self) -> None:
        change = self.table_copy.change
        assert change is not None
        column = pl.col(change.column)
        new = column + change.add if change.add else pl.lit(change.text)
        values = pl.when(self.condition()).then(new).otherwise(column).alias(change.column)
        self.rewrite(pl.scan_parquet(self.path).with_columns(values).sink_parquet)

    def as_table(self, answer: pl.DataFrame) -> pa.Table:
        return answer.to_arrow()

    def condition(self) -> pl.Expr:
        if self.table_copy.where is None:
            return pl.lit(True)
        expression: pl.Expr = compile_condition(
            self.table_copy.where, PolarsOperand, PolarsOperand.logic, self.table_copy.nan
        )
        return expression


class PolarsOperand(ExpressionOperand):
    """A column in conditions. In Polars, NaN is the greatest number and equals itself."""

    logic = Logic[Any](operator.and_, operator.or_, lambda mask: ~mask.fill_null(False), pl.lit)

    def __init__(self, subject: Subject, column: pl.Expr | None = None) -> None:
        super().__init__(subject)
        raw = pl.col(subject.place.column) if column is None else column
        for name in subject.place.path:
            raw = raw.struct.field(name)
        self.raw, self.column = raw, raw.str.to_lowercase() if subject.ignore_case else raw

    def operand(self, exact: Any) -> Any:
        if self.kind is Kind.TEXT:
            return self.fold(exact)
        if pa.types.is_timestamp(self.type) and self.type.unit == "ns":
            return pl.lit(exact).cast(pl.Datetime("ns", self.type.tz))
        if pa.types.is_time(self.type) and self.type.unit == "ns":
            return pl.lit(exact).cast(pl.Time)
        return super().operand(exact)

    def test(self, how: str, value: Any) -> Any:
        return super().test(how, pl.lit(value) if not isinstance(value, pl.Expr) else value)

    def among(self, values: Sequence[Any]) -> Any:
        return (
            pl.any_horizontal([self.column == value for value in values])
            if len(values) < 4
            else self._in(values)
        )

    def _in(self, values: Sequence[Any]) -> Any:
        if isinstance(values[0], pl.Expr):
            return pl.any_horizontal([self.column == value for value in values])
        return self.column.is_in(pl.Series(pl.from_arrow(pa.array(values, self.type))).implode())

    def is_nan(self) -> Any:
        return self.column.is_nan()

    def is_null(self) -> Any:
        return self.raw.is_null()

    def contains(self, text: str) -> Any:
        return self.column.str.contains(self.fold(text), literal=True)

    def starts_with(self, text: str) -> Any:
        return self.column.str.starts_with(self.fold(text))

    def ends_with(self, text: str) -> Any:
        return self.column.str.ends_with(self.fold(text))

    def like(self, pattern: str) -> Any:
        return self.column.str.contains(as_regex(self.fold(pattern)))

    def regex(self, pattern: str) -> Any:
        return self.raw.str.contains(f"(?i){pattern}" if self.subject.ignore_case else pattern)

    def has_remainder(self, divisor: int, remainder: int) -> Any:
        """Test for a remainder with the sign of the number, whichever sign Polars' remainder has."""
        if self.kind is Kind.FLOAT:
            return super().has_remainder(divisor, remainder)
        positive = ((self.raw % divisor) + divisor) % divisor == remainder % divisor
        if remainder == 0:
            return positive
        return positive & (self.raw > 0 if remainder > 0 else self.raw < 0)

    def any_item(self, test: Callable[[Any], Any]) -> Any:
        item = PolarsOperand(self.subject.items, pl.element())
        return self.raw.list.eval(test(item).fill_null(False)).list.any()

    def has_size(self, size: int) -> Any:
        return self.raw.list.len() == size
