"""Libraries that are loaded late may be wanted by several threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.slow_tests import examples

AT_ONCE = """
from threading import Barrier, Thread
from lamella.core.libraries import duckdb, exp, qualifying, scopes, sqlglot
begin, made = Barrier(5), []
def use(work):
    begin.wait()
    made.append(work())
works = (
    lambda: exp.select("a").from_("b").sql("duckdb"),
    lambda: sqlglot.parse_one("SELECT a FROM b", dialect="duckdb").sql(),
    lambda: qualifying.qualify(sqlglot.parse_one("SELECT b.a FROM b"), schema={"b": {"a": "INT"}}).sql(),
    lambda: scopes.build_scope(sqlglot.parse_one("SELECT a FROM b")).expression.sql(),
    lambda: duckdb.connect().sql("SELECT 1").fetchall(),
)
threads = [Thread(target=use, args=(work,)) for work in works]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(made))
"""


def test_threads_that_want_different_parts_at_once_all_get_them() -> None:
    for _ in range(examples(3)):
        run = subprocess.run(
            [sys.executable, "-c", AT_ONCE], check=False, capture_output=True, text=True, timeout=60
        )
        assert run.stdout.strip() == "5", run.stderr


@pytest.mark.slow
def test_what_sqlglot_cannot_parse_is_not_written_to_standard_error(tmp_path) -> None:
    script = (
        "from lamella import Store\n"
        f"with Store.open({str(tmp_path / 's')!r}) as store:\n"
        "    store.create_table('t', [{'n': 1}])\n"
        "    print(len(store.sql('explain (analyze, format json) select * from t')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60
    )
    assert (run.stdout.strip(), run.stderr) == ("1", "")
