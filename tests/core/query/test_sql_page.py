"""The page about SQL holds from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "sql.md"


def test_the_page_about_sql_holds_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf8"), re.DOTALL)
    assert len(blocks) > 8
    exec(compile("\n".join(blocks), "docs/sql.md", "exec"), {})
