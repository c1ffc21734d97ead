"""What the page about searching says is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.index.fulltext.analysis import LANGUAGES, meanings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "search.md"


def test_the_page_holds_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf8"), re.DOTALL)
    assert len(blocks) > 6
    exec(compile("\n".join(blocks), "docs/search.md", "exec"), names := {})
    names["store"].close()


def test_the_page_names_every_language_there_is() -> None:
    page = PAGE.read_text(encoding="utf8").replace("\n", " ")
    assert f"The languages: {', '.join(LANGUAGES)}." in page
    for language in LANGUAGES:
        assert len(meanings(["words", "are", "stemmed"], language)) == 3
