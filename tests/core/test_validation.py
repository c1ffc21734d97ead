"""Arguments that are checked before anything else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella.core.validation import in_home


@pytest.mark.parametrize(
    ("text", "path"),
    [("~/data", Path.home() / "data"), ("~nobody-of-this-name/data", Path("~nobody-of-this-name/data"))],
)
def test_the_tilde_of_a_path_is_resolved_where_its_user_exists(text: str, path: Path) -> None:
    assert in_home(text) == path
