"""The page about searching is true."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lamella.app import cli
from lamella.core.index.fulltext.part import LANGUAGES, meanings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "search.md"


def test_the_page_holds_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) > 6
    exec(compile("\n".join(blocks), "docs/search.md", "exec"), names := {})
    names["store"].close()
    printed = []
    for command in re.findall(r"^lamella .*", page, re.MULTILINE):
        assert cli.main(shlex.split(command)[1:]) == 0
        printed.append(capsys.readouterr().out)
    assert ["Running Fox" in out for out in printed] == [True, False]
    assert ["Green pear" in out for out in printed] == [False, True]


def test_the_page_names_every_language_there_is() -> None:
    page = PAGE.read_text(encoding="utf8").replace("\n", " ")
    assert f"The languages: {', '.join(LANGUAGES)}." in page
    for language in LANGUAGES:
        assert len(meanings(["words", "are", "stemmed"], language)) == 3
