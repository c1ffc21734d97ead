"""pandas, with everything in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from lamella.core.bench.entity_indexes.frames import NEED_AN_INDEX, FrameScans
from lamella.core.bench.entity_indexes.lookups import beginning_of, numbers_of
from lamella.core.bench.workloads.entity_indexes import ALIKE, KEYS

CONDITIONS: dict[str, Callable[[Any, int], Any]] = {
    "equality": lambda frame, owner: frame["owner"] == owner,
    "point": lambda frame, owner: frame["number"] == owner * ALIKE,
    "range": lambda frame, owner: frame["number"].between(*numbers_of(owner)),
    "prefix": lambda frame, owner: frame["code"].str.startswith(beginning_of(owner)),
}


class PandasScans(FrameScans):
    id = "pandas"
    cannot = dict.fromkeys(
        NEED_AN_INDEX, "The index of a DataFrame is the labels of its rows, not one of a column beside others"
    )

    @classmethod
    def version(cls) -> str:
        return str(pd.__version__)

    @classmethod
    def describe(cls) -> str:
        return "a DataFrame in memory, read from a Parquet file before the clock runs; not durable"

    def open(self, writing: bool) -> None:
        self._items = pd.read_parquet(self.file)

    def find(self, name: str, what: str, owner: int) -> Any:
        meets = CONDITIONS[name](self._items, owner)
        return self._items.loc[meets, ["_id"]] if what == KEYS else self._items[meets]

    def told(self, answer: Any, owner: int) -> list[Any]:
        return list(answer.itertuples(index=False, name=None))
