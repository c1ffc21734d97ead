"""What each command can be told."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation
from pathlib import Path

from lamella.app.bench_options import of_bench
from lamella.app.query_options import CHECKSUMS_HELP, WHERE_HELP, of_index, of_query

RAGGED_HELP = (
    "what to do with rows of a CSV file that do not fit its header (%(default)s): pad fills short ones up"
    " with nulls and cuts empty fields off long ones; a row with values beyond the header is always refused"
)
OUT_HELP = "a .parquet, .csv, .tsv or .jsonl file, or a folder with --partition-by"
PARTITION_HELP = "a folder for each value of these columns"
MOST_ROWS = 10**12


def bench(parser: argparse.ArgumentParser) -> None:
    of_bench(parser, names, whole_number)


def import_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("target", metavar="STORE[:TABLE]", help="a store's folder; made when missing")
    parser.add_argument("--ragged", choices=("refuse", "pad"), default="refuse", help=RAGGED_HELP)
    parser.add_argument("--checksums", choices=("verify", "ignore"), default="verify", help=CHECKSUMS_HELP)


def query(parser: argparse.ArgumentParser) -> None:
    of_query(parser, names, whole_number)


def index(parser: argparse.ArgumentParser) -> None:
    of_index(parser, names)


def sqlite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="STORE|FILE", help="stores, files, folders or patterns")
    parser.add_argument("--command", action="append", metavar="SQL", help="run this and end; may be repeated")


def make_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("mixed",), help="mixed: 20 columns of every common type")
    parser.add_argument("--rows", type=whole_number, default=1_000_000, metavar="N")
    parser.add_argument("out", type=Path, metavar="OUT.parquet")


def export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("table", metavar="TABLE")
    parser.add_argument("out", type=Path, metavar="OUT", help=OUT_HELP)
    parser.add_argument("--format", metavar="NAME", help="where the name of OUT does not say it")
    parser.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="these instead of all")
    parser.add_argument("--where", metavar="CONDITION", help=WHERE_HELP)
    parser.add_argument("--partition-by", type=names, default=[], metavar="NAME,NAME,…", help=PARTITION_HELP)
    parser.add_argument("--ids", action="store_true", help="with the _id of each row")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    parser.set_defaults(upkeep="export")


def compact(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--group-rows", type=whole_number, metavar="N", help="rows a row group")
    parser.add_argument("--file-rows", type=whole_number, metavar="N", help="rows a file")
    parser.set_defaults(upkeep="compact")


def verify(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--quick", action="store_true", help="leave the checksums of the files out")
    parser.set_defaults(upkeep="verify")


def backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder, or an earlier backup's")
    parser.add_argument("--link", action="store_true", help="hard links instead of copies, on the same disk")
    parser.set_defaults(upkeep="backup")


def summary(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.set_defaults(upkeep="summary")


def relations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("--check", action="store_true", help="look for rows that point at nothing")
    parser.add_argument("--suggest", action="store_true", help="look for relations nobody declared")
    parser.add_argument("--json", action="store_true", help="as JSON, an object a line")


def _store_and_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("table", metavar="TABLE", nargs="?", help="one table instead of all")


def whole_number(text: str) -> int:
    """Not negative; `1_000` and `1e6` are whole numbers, too."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= MOST_ROWS or number % 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to {MOST_ROWS:,}")
    return int(number)


def whole_numbers(text: str) -> list[int]:
    return [whole_number(word) for word in text.split(",") if word]


def names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
