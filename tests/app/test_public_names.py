"""Tests use public names of the product, so that what is private can be changed without them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

OF_PYTHON = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Public, for all their underscores."""
PATCHES = {"setattr", "delattr"}

EXCEPTIONS = {
    # A system's own connection, to look at what the benchmark made of the database.
    "bench/test_systems.py": {"_connection", "_session"},
    "bench/test_entity_workloads.py": {"_connection"},
    "bench/test_file_based_systems.py": {"_connection", "_table", "_v_expectedrows"},
    "bench/test_mongodb.py": {"_client"},
    # A session that the server ends.
    "core/remote/test_spark_connect.py": {"_client"},
    "core/remote/test_spark_executions.py": {"_client", "_library"},
    # Every option of a command, which argparse does not list.
    "app/test_bench_command.py": {"_actions"},
    # What is painted, and what is still to come.
    "ui/bench/test_overview.py": {"_crosses", "_paint_plot", "_restyle"},
    "ui/bench/test_saved_runs.py": {"_series"},
    "ui/grid/test_alignment.py": {"_grid", "_painter"},
    "ui/grid/test_pinning.py": {"_painter"},
    "ui/window/test_block_editing.py": {"_menu_of"},
    "ui/window/test_cell_editors.py": {"_offers"},
    "ui/window/test_column_cards.py": {"_ask", "_soon"},
    "ui/window/test_group_rows.py": {"_names", "_words"},
    "ui/window/test_group_totals.py": {"_painter", "_tip"},
    "ui/window/test_monkey.py": {"_call_back"},
    # What is in memory, or no longer.
    "core/query/test_card_cache.py": {"_CardQuery", "_sweep"},
    "core/query/test_cards.py": {"_CardQuery", "_run"},
    "bench/test_entities.py": {"_digests"},
    "core/datasets/test_int96.py": {"_footers", "_measured_int96"},
    "core/query/test_decoded.py": {"_keep"},
    "core/query/test_number_sort.py": {"_orders"},
    "core/query/test_sql.py": {"_numbers"},
    "core/query/test_statements.py": {"_statements"},
    "ui/bench/test_results_view.py": {"_lines", "_redraw", "_take"},
    "ui/grid/test_pages.py": {"_pages"},
    # What the catalog names, and how rows are laid out, which no public call says.
    "core/store/kill.py": {"_catalog", "_reader"},
    "core/store/test_indexes.py": {"_catalog", "_reader", "_state"},
    "core/store/test_races.py": {"_catalog", "_reader"},
    "core/store/test_reading_pending.py": {"_state"},
    "core/store/test_small_changes.py": {"_state"},
    "core/store/test_transactions.py": {"_catalog", "_reader"},
    "core/store/test_vacuum.py": {"_catalog"},
    "core/store/test_writers.py": {"_catalog"},
    "property/test_indexes_agree.py": {"_state"},
    # A fault put where no public call can put it.
    "core/store/test_log_room.py": {"_catalog", "_lengthen"},
    "core/store/test_media.py": {"_mounts"},
    "core/store/test_opening.py": {"_layout"},
    "core/store/test_paths.py": {"_checksum", "_code"},
    "core/store/test_search_upkeep.py": {"lamella.core.index.fulltext.part._add"},
    # Steps of a larger piece of work, one at a time.
    "core/query/test_view.py": {"_join_rows"},
    "core/store/test_placement.py": {"_reader", "_tidier", "_writer"},
    "ui/bench/conftest.py": {"_take", "_tasks"},
    "ui/bench/test_benchmark_controls.py": {"_nothing"},
    "ui/bench/test_benchmark_panel.py": {"_benchmark"},
}
"""By file. A new test does without; one that no longer needs its line loses it."""


PRIVATE = re.compile(
    r"""^\s*(?:from|import)\b.*\b_(?!_)\w   # an import
    | ^\s+_\w+(?:\ as\ \w+)?,?$             # a line of a longer one
    | (?<!\bself)(?<!\bcls)\._(?!_)\w       # looked up, or a part of a path
    | ["']_(?!_|id\b)\w                      # patched; `_id` is a column""",
    re.MULTILINE | re.VERBOSE,
)
"""In the texts of files that may have a private name; most have none, and walking a tree takes long."""


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_names(text: str) -> Iterator[str]:
    """Private names that are imported, patched, or attributes of anything but the test's own `self`."""
    if not PRIVATE.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lamella"):
            yield from (f"{alias.name}" for alias in node.names if is_private(f"{node.module}.{alias.name}"))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}):
                yield node.attr
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PATCHES
        ):
            words = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            yield from (word for word in words if isinstance(word, str) and is_private(word))


def used() -> dict[str, set[str]]:
    names_by_file = {
        path.relative_to(TESTS).as_posix(): set(private_names(path.read_text("utf8"))) - OF_PYTHON
        for path in TESTS.rglob("*.py")
    }
    return {file: names for file, names in names_by_file.items() if names}


def test_tests_use_no_private_names_but_those_that_are_listed():
    assert used() == EXCEPTIONS


@pytest.mark.parametrize(
    "line",
    [
        "from lamella.core.errors import _private",
        "import lamella.core._private",
        "table._reader.current()",
        'monkeypatch.setattr(table, "_reader", None)',
        'monkeypatch.setattr("lamella.core.errors._private", None)',
        "class Fake:\n    def read(self):\n        return self.table._reader",
    ],
)
def test_a_private_name_is_seen(line):
    assert len(list(private_names(line))) == 1


@pytest.mark.parametrize("line", ["from lamella import __version__", "self._own = 1", "row._replace(n=1)"])
def test_what_is_public_is_not_taken_for_private(line):
    assert set(private_names(line)) <= OF_PYTHON
