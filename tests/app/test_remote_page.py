"""docs/remote.md is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lamella.app import cli
from lamella.core.remote.kinds import KINDS, file_schemes

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "remote.md").read_text("utf8")


def test_the_example_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/remote.md", "exec"), {})


def test_every_kind_and_secret_is_described():
    for kind in KINDS:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{kind.name}` |"))
        assert re.findall(r"`(\w+)`", row)[1:] == [secret.name for secret in kind.secrets]
        for field in ("endpoint", "region", "profile", "account"):
            assert bool(getattr(kind, field)) == (field in row), (kind.name, field)
        assert kind.can_be_anonymous == ("anonymous" in row)


def test_the_usual_schemes_are_described():
    schemes = set(re.findall(r"`(\w+)://", PAGE))
    assert schemes <= {*file_schemes(), "sc"}
    assert {"s3", "gs", "az", "hdfs", "webhdfs", "https"} <= schemes


def run(*words: str) -> int:
    return cli.main(["connections", *words])


def test_connections_are_added_listed_and_removed(capsys: pytest.CaptureFixture[str]):
    assert run() == 0
    assert "There are no saved connections" in capsys.readouterr().out
    assert run("add", "lab", "--kind", "s3", "--places", "a,b", "--secret", "access_key=env:K") == 0
    assert run("list", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {
        "name": "lab",
        "kind": "s3",
        "places": ["a", "b"],
        "secrets": {"access_key": "env:K"},
    }
    assert run("add", "lab", "--kind", "gs") == 2
    assert "already" in capsys.readouterr().err
    assert run("remove", "lib") == 2
    assert "Did you mean 'lab'?" in capsys.readouterr().err
    assert run("remove", "lab") == 0
    assert run("list") == 0
    assert "There are no saved connections" in capsys.readouterr().out


def test_a_secret_given_by_mistake_is_neither_saved_nor_shown(
    capsys: pytest.CaptureFixture[str], lamella_home: Path
):
    assert run("add", "lab", "--kind", "s3", "--secret", "secret_key=wJalrXUtnFEMI") == 2
    assert run("add", "lab", "--kind", "s3", "--secret", "wJalrXUtnFEMI") == 2
    assert run("add", "lab", "--kind", "s3", "--endpoint", "http://me:wJalrXUtnFEMI@host") == 2
    said = "".join(capsys.readouterr())
    assert "env:NAME" in said
    assert "wJalrXUtnFEMI" not in said
    files = [path for path in lamella_home.rglob("*") if path.is_file()]
    assert not any(b"wJalrXUtnFEMI" in path.read_bytes() for path in files)
