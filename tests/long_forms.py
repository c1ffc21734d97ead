"""The long forms of tests, which `dev.py test --long` runs by name. Standard library only, as dev.py."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class LongForm(NamedTuple):
    """Tests with so many examples that nobody waits for them before each commit."""

    about: str
    minutes: int
    """About how long, on two cores."""
    words: tuple[str, ...]
    """Of Python's command line."""
    environment: Mapping[str, str] = MappingProxyType({})
    needs: str = ""
    """A variable of the environment without which there is nothing to do."""


def property_test(about: str, minutes: int, runs: int, *files: str) -> LongForm:
    words = ("-m", "pytest", "-q", *files)
    return LongForm(about, minutes, words, {"LAMELLA_LONG_RUNS": str(runs)})


def cloud_test(about: str, name: str) -> LongForm:
    words = ("-m", "pytest", "-q", "-rs", "-k", name, "tests/core/remote/test_clouds.py")
    return LongForm(f"files of {about}", 2, words, {"LAMELLA_LONG_RUNS": "1"})


LONG_FORMS = {
    "kill": LongForm(
        "a writer is killed at random moments and the store looked at",
        4,
        ("-m", "tests.core.store.kill", "--times", "200"),
    ),
    "walk": LongForm(
        "actions, clicks, keys and texts at random in the window",
        10,
        ("-m", "tests.ui.random_walk", "--steps", "4000"),
    ),
    "changes": property_test(
        "random changes of tables against plain Python", 8, 2000, "tests/property/test_store_model.py"
    ),
    "checks": property_test(
        "random changes under checks and defaults", 4, 300, "tests/property/test_checks_model.py"
    ),
    "comparisons": property_test(
        "random comparisons against plain Python", 2, 3000, "tests/property/test_comparison_model.py"
    ),
    "operators": property_test(
        "updates of random columns against pandas", 1, 1000, "tests/core/store/test_operators_rows.py"
    ),
    "indexes": property_test(
        "answers with and without indexes", 8, 500, "tests/property/test_indexes_agree.py"
    ),
    "filters": LongForm(
        "random filters in Arrow, DuckDB, SQLite and plain Python",
        15,
        (
            *("-m", "pytest", "-q", "tests/property/test_filters_agree.py"),
            *("tests/property/test_filters_everywhere.py", "tests/property/test_filters_in_sqlite.py"),
            *("tests/core/filters/test_text.py", "tests/core/filters/test_mongo.py"),
        ),
        {"LAMELLA_LONG_RUNS": "1000"},
    ),
    "queries": property_test(
        "random queries and pipelines against plain Python",
        12,
        2000,
        *("tests/property/test_queries_agree.py", "tests/core/query/test_mongo_pipeline.py"),
        *("tests/core/query/test_few_in_order.py", "tests/core/query/test_exact_types.py"),
        *("tests/core/query/test_arithmetic.py", "tests/core/query/test_pruning.py"),
    ),
    "spark": property_test(
        "random queries on DuckDB and Sail", 3, 200, "tests/property/test_spark_agrees.py"
    ),
    "apache-spark": LongForm(
        "the same on Apache Spark itself, which needs Java",
        15,
        ("-m", "pytest", "-q", "-rs", "tests/property/test_spark_agrees.py"),
        {"LAMELLA_LONG_RUNS": "200", "LAMELLA_SPARK": "apache"},
    ),
    "bridge": property_test(
        "random statements over SQLite and tables", 3, 1000, "tests/core/bridge/test_same_answers.py"
    ),
    "charts": property_test(
        "charts by scans and by statements", 3, 1000, "tests/core/query/test_column_scan.py"
    ),
    "levels": property_test(
        "random groups under subtotals against plain Python", 2, 2000, "tests/property/test_group_levels.py"
    ),
    "expressions": property_test(
        "random expressions as text and back", 2, 5000, "tests/core/query/test_expression_text.py"
    ),
    "statements": property_test(
        "random queries as SQL and Python and back", 6, 1000, "tests/property/test_pipelines_as_sql.py"
    ),
    "search": property_test(
        "full-text searches against plain Python", 2, 1000, "tests/property/test_search_model.py"
    ),
    "relations": property_test(
        "random relations against plain Python", 8, 2000, "tests/property/test_relations_model.py"
    ),
    "window": property_test(
        "random clicks, keys and steps in the window", 6, 10_000, "tests/ui/window/test_monkey.py"
    ),
    "chips": property_test("words for random steps on chips", 2, 3000, "tests/ui/steps/test_kinds.py"),
    "edits": property_test(
        "random edits of a table in the window", 4, 3000, "tests/ui/window/test_edit_monkey.py"
    ),
    "paste": property_test(
        "random blocks pasted over random selections", 3, 3000, "tests/property/test_block_paste.py"
    ),
    "text": property_test("random text files and encodings", 7, 5000, "tests/property/test_text_files.py"),
    "files": property_test(
        "random edits of text and Parquet files in place", 5, 1000, "tests/property/test_file_edits.py"
    ),
    "opened": property_test(
        "Arrow, Excel, SQLite and JSON files read as what was written",
        5,
        300,
        "tests/core/datasets/test_arrow_files.py",
        "tests/core/datasets/test_excel.py",
        "tests/core/datasets/test_json_documents.py",
        "tests/core/datasets/test_sqlite_files.py",
    ),
    "exports": property_test(
        "exports of every type and format, read by other programs",
        2,
        500,
        "tests/property/test_export_round_trips.py",
        "tests/core/transfer/test_other_programs.py",
    ),
    "damage": property_test("300 files of each kind damaged", 8, 1200, "tests/property/test_damage.py"),
    "hostile": property_test(
        "every text of a catalog as each odd value", 5, 400, "tests/core/store/test_hostile_stores.py"
    ),
    "arguments": property_test(
        "every function with every odd argument", 5, 30000, "tests/property/test_no_foreign_exception.py"
    ),
    "counting": LongForm(
        "two processes count in one cell",
        1,
        ("-m", "pytest", "-q", "tests/core/store/test_changes_counting.py"),
        {"LAMELLA_INCREMENTS": "1000"},
    ),
    "corpus": LongForm(
        "Parquet files of other programs, in the folder LAMELLA_CORPUS (a clone of parquet-testing, say)",
        2,
        ("-m", "pytest", "-q", "tests/core/datasets/test_foreign_parquet.py"),
        needs="LAMELLA_CORPUS",
    ),
    "hdfs": LongForm(
        "files of HDFS, also through libhdfs, on Hadoop's own servers, which Maven and cargo fetch once",
        3,
        ("-m", "pytest", "-q", "-k", "hdfs", "tests/core/remote/test_hdfs.py", "tests/bench/test_catalog.py"),
        {"LAMELLA_LONG_RUNS": "1"},
    ),
    "gcs": cloud_test("Google Cloud Storage on fake-gcs-server, which Go builds once", "gcs"),
    "azure": cloud_test("Azure Blob Storage on Azurite, which npm fetches once", "azure"),
    "packages": LongForm(
        "the packages for Linux in a clean Debian, and the wheel; as root", 8, ("packaging/bundle_test",)
    ),
    "desktop": LongForm("dragging with a real mouse, under Xvfb", 1, ("-m", "tests.desktop")),
    "harness": LongForm("what the benchmark adds to what it times", 2, ("-m", "tests.bench.harness_bench")),
}
