"""The page about exports: its tables are those of the program, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lamella.core.transfer.formats import FORMATS
from tests.app.export_page import PAGE, PART, anchor, generated

TEXT = PAGE.read_text("utf-8")


def test_the_tables_are_those_of_the_program() -> None:
    """`python -m tests.app.export_page` writes them anew."""
    part = TEXT.partition(f"<!-- {PART}: begin -->")[2].partition(f"<!-- {PART}: end -->")[0]
    assert part.strip() == generated()


def test_every_format_is_linked_to_its_section() -> None:
    for known in FORMATS:
        assert f"(#{anchor(known)})" in TEXT
        assert f"\n### {known.label}\n" in TEXT


def test_the_examples_in_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], "export.md", "exec"), {})
    assert {path.name for path in tmp_path.iterdir()} >= {
        "orders.csv",
        "cities.xlsx",
        "shop.sqlite",
        "orders.arrow",
    }
