"""The one table of formats: documented, recognised by content, and behind what the window offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella.core.datasets.base import OpenOptions
from lamella.core.datasets.formats import FORMATS, usual_suffixes

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.id)
def test_the_page_of_files_has_a_row_for_each_format(known) -> None:
    rows = (ROOT / "docs" / "files.md").read_text("utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| {known.label} |"))
    assert all(f"`.{suffix}`" in row for suffix in known.suffixes)


def test_options_are_those_of_opening() -> None:
    assert {name for known in FORMATS for name in known.options} <= set(OpenOptions.__dataclass_fields__)


def test_no_two_formats_share_an_id_or_a_suffix() -> None:
    assert len({known.id for known in FORMATS}) == len(FORMATS)
    assert len(set(usual_suffixes())) == len(usual_suffixes())
