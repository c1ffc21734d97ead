"""Filter trees as values: hashed and compared, whatever they hold."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lamella import Store, col
from lamella.core.errors import BadFilter


def test_bytes_that_can_change_are_taken_as_they_are_now() -> None:
    value = bytearray(b"x")
    filter = col("b") == value
    value[0] = 0
    assert filter == (col("b") == b"x") and hash(filter) == hash(col("b") == b"x")


def test_what_no_column_is_compared_with_is_refused_where_answers_are_kept_too(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        table = store.create_table("t", {"n": [1]})
        for ask in (table.read, partial(table.page, 1)):
            with pytest.raises(BadFilter, match="'n'"):
                ask(where=col("n") == {"a": 1}, sort=["n"])
