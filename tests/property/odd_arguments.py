"""Odd arguments for every public function: one unsuitable value at a time, with suitable ones elsewhere."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lamella import Store, agg, col
from lamella.core.query.builder import Query
from lamella.core.store.columns import Columns
from lamella.core.store.history import History
from lamella.core.store.indexes import Indexes
from lamella.core.store.maintenance import Maintenance
from lamella.core.store.relations import StoreRelations, TableRelations
from lamella.core.store.store import StoreMaintenance
from lamella.core.store.table import Table


def _nested(depth: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


class Failing:
    """Objects that raise when they are inspected."""

    def __iter__(self) -> Iterator[Any]:
        raise ZeroDivisionError("an iterator of the caller's that fails")


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "2**63": lambda: 2**63,
    "2**200": lambda: 2**200,
    "0.5": lambda: 0.5,
    "nan": lambda: float("nan"),
    "-inf": lambda: float("-inf"),
    "Decimal nan": lambda: Decimal("NaN"),
    "complex": lambda: 1j,
    "empty text": lambda: "",
    "a column": lambda: "n",
    "another column": lambda: "word",
    "no column": lambda: "no such",
    "NUL": lambda: "a\0b",
    "half a character": lambda: "\ud800",
    "line feed": lambda: "a\nb",
    "quotes": lambda: "\"'`[]",
    "long text": lambda: "x" * 5_000,
    "SQL": lambda: "select * from t; drop table t",
    "dots": lambda: "../../up",
    "operator": lambda: "n >",
    "dollar": lambda: "$n",
    "path of a struct": lambda: "inner.a",
    "_id": lambda: "_id",
    "bytes": lambda: b"\xff\0",
    "empty list": list,
    "list of None": lambda: [None],
    "list of lists": lambda: [[1, 2], ["a"]],
    "list of names": lambda: ["n", "n"],
    "mixed list": lambda: [1, "a", None, 2.5, b"x"],
    "deep list": lambda: _nested(3_000),
    "huge id": lambda: [2**80],
    "tuple": lambda: (1,),
    "empty dict": dict,
    "dict of numbers": lambda: {1: 2},
    "dict": lambda: {"n": 1},
    "dict of a row": lambda: [{"n": "text", "word": 7, "new": object()}],
    "dict of columns": lambda: {"n": [1, 2], "word": ["a"]},
    "operator dict": lambda: {"$set": {"n": "text"}},
    "unknown operator": lambda: {"$nothing": {"n": 1}},
    "odd operands": lambda: {"$inc": {"word": 1}, "$push": {"n": [1]}, "$set": 3},
    "condition dict": lambda: {"n": {"$in": 5, "$regex": "("}},
    "deep dict": lambda: {"$and": [{"$or": [{"$nor": [{"n": {"$not": {"$gt": []}}}]}]}]},
    "stages": lambda: [{"$match": {}}, {"$group": {"n": 1}}, {"$nothing": 1}],
    "set": lambda: {1, "a"},
    "range": lambda: range(3),
    "generator": lambda: (number for number in (1, 2)),
    "failing generator": Failing,
    "object": object,
    "class": lambda: int,
    "function": lambda: lambda rows: rows,
    "function of nothing": lambda: lambda: None,
    "date": lambda: dt.date.max,
    "datetime": lambda: dt.datetime.min,
    "zone": lambda: dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "span": lambda: dt.timedelta.max,
    "path": lambda: Path("no/such/folder/file.parquet"),
    "number of NumPy": lambda: np.float64("inf"),
    "array of NumPy": lambda: np.zeros((2, 2)),
    "time of NumPy": lambda: np.datetime64("NaT"),
    "far time": lambda: pa.scalar(9 * 10**18, pa.timestamp("us")),
    "far date": lambda: pa.scalar(2**31 - 1, pa.date32()),
    "long span": lambda: pa.scalar(2**62, pa.duration("s")),
    "text that is none": lambda: pa.array([b"a\xff"]).view(pa.string())[0],
    "array of far dates": lambda: pa.array([2**31 - 1], pa.date32()),
    "table of texts that are none": lambda: pa.table({"word": pa.array([b"a\xff"]).view(pa.string())}),
    "array": lambda: pa.array([1, None]),
    "empty table": lambda: pa.table({}),
    "table": lambda: pa.table({"n": [1], "odd": pa.array([[1]], pa.large_list(pa.int8()))}),
    "table of names alike": lambda: pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["n", "n"]),
    "type": lambda: pa.list_(pa.null()),
    "schema": lambda: pa.schema([("n", pa.int64())]),
    "expression": lambda: col("n") > "text",
    "expression of nothing": lambda: col("no such") + 1,
    "aggregate": lambda: agg.mean("word"),
    "aggregate of nothing": lambda: agg.quantile("n", 7),
}  # fmt: skip

FITTING: dict[str, Callable[[], Any]] = {
    "name": lambda: "n",
    "data": lambda: [{"n": 1}],
    "old": lambda: "n",
    "new": lambda: "fresh",
    "table": lambda: "t",
    "other": lambda: "u",
    "to": lambda: "u",
    "text": lambda: "select * from t",
    "path": lambda: "out.parquet",
    "one": lambda: "t.n",
    "column": lambda: "n",
    "columns": lambda: ["n"],
    "type": lambda: "int64",
    "stages": lambda: [{"$match": {"n": 1}}],
    "when": lambda: 1,
    "before": lambda: 1,
    "ids": lambda: [0],
    "row_id": lambda: 0,
    "row_ids": lambda: [0],
    "names": lambda: ["n", "word", "inner", "items"],
    "values": lambda: {"unit": "km"},
    "function": lambda: lambda rows: {"n": rows["n"]},
    "operators": lambda: {"$set": {"n": 1}},
    "where": lambda: "n > 0",
    "condition": lambda: "n > 0",
    "on": lambda: "n",
    "count": lambda: 2,
    "size": lambda: 2,
    "edges": lambda: [0, 2, 4],
    "keys": lambda: ["word"],
    "value": lambda: 1,
}  # fmt: skip

OWN_WORDS = {"job", "self"}
"""Jobs are created by the caller that runs work, never from user data."""
OF_ROOMS = {"publish", "query", "then", "with_steps"}
"""Functions that parts of the program call with arguments that they create themselves."""


@dataclass(frozen=True)
class Call:
    """A public function, called with one odd argument."""

    owner: str
    method: str
    parameter: str
    value: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.method}({self.parameter}={self.value})"

    def __call__(self, function: Callable[..., Any]) -> Any:
        positional, named = [], {}
        for name, parameter in inspect.signature(function).parameters.items():
            odd = name == self.parameter
            if parameter.kind is parameter.VAR_KEYWORD:
                named |= {"x": ODD[self.value]()} if odd else {}
            elif parameter.kind is parameter.VAR_POSITIONAL:
                positional += [ODD[self.value]()] if odd else []
            elif odd or parameter.default is parameter.empty:
                argument = ODD[self.value]() if odd else _fitting(self.method, name)
                if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                    positional.append(argument)
                else:
                    named[name] = argument
        return function(*positional, **named)


def _fitting(method: str, name: str) -> Any:
    if method in ("drop_table", "copy_table", "rename_table") and name in ("name", "old"):
        return "u"
    return FITTING.get(name, lambda: "n")()


OWNERS: dict[str, Any] = {
    "store": Store,
    "store.maintenance": StoreMaintenance,
    "store.relations": StoreRelations,
    "table": Table,
    "table.columns": Columns,
    "table.history": History,
    "table.indexes": Indexes,
    "table.maintenance": Maintenance,
    "table.relations": TableRelations,
    "query": Query,
    "col": type(col("n")),
    "agg": agg,
}


def calls() -> list[Call]:
    """Every public function with each of its parameters and each odd value."""
    calls_made = []
    for owner, kind in OWNERS.items():
        names = [name for name in dir(kind) if not name.startswith("_") and name not in OF_ROOMS]
        functions = {name: getattr(kind, name) for name in names}
        for method, function in functions.items():
            if inspect.isclass(function) or not callable(function) or _elsewhere(kind, function):
                continue
            for parameter in inspect.signature(function).parameters:
                if parameter not in OWN_WORDS:
                    calls_made += [Call(owner, method, parameter, value) for value in ODD]
    return calls_made


def _elsewhere(kind: Any, function: Any) -> bool:
    """Names that a module imports for its own use, and methods that every sequence has."""
    if getattr(function, "__qualname__", "").startswith("Sequence."):
        return True
    return inspect.ismodule(kind) and getattr(function, "__module__", "") != kind.__name__
