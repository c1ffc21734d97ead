"""What `lamella query` and `lamella index` can be told."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

CHECKSUMS_HELP = "what to do with Parquet pages whose checksums differ (%(default)s): ignore reads them"
WHERE_HELP = "the rows that meet it alone, such as: delay > 60 and carrier in ('AA', 'UA')"
Words = Callable[[str], list[str]]
Number = Callable[[str], int]


def of_query(parser: argparse.ArgumentParser, names: Words, number: Number) -> None:
    parser.add_argument("source", metavar="STORE|FILE", help="a store, or a file, folder or pattern of files")
    parser.add_argument("sql", nargs="?", metavar="SQL", help="a statement; a file's table is called like it")
    rows = parser.add_argument_group("rows of a table, without SQL")
    rows.add_argument("--table", metavar="TABLE", help="of a store")
    rows.add_argument("--where", metavar="CONDITION", help=WHERE_HELP)
    rows.add_argument("--search", metavar="WORDS", help="rows that words are in, the best 20 first")
    rows.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="these instead of all")
    rows.add_argument("--group-by", type=names, metavar="NAME,NAME,…", help="a row for each value")
    rows.add_argument("--agg", nargs="+", metavar="NAME=AGGREGATE(COLUMN)", help="n=count() m=mean(price)")
    rows.add_argument("--having", metavar="CONDITION", help="of the groups")
    rows.add_argument("--sort", type=names, metavar="NAME,-NAME,…", help="a minus descends: --sort=-n")
    rows.add_argument("--limit", type=number, metavar="N", help="at most so many rows")
    rows.add_argument("--offset", type=number, metavar="N", help="after so many rows")
    rows.add_argument("--profile", metavar="COLUMN", help="what a column holds, at a glance")
    rows.add_argument("--aggregate", metavar="JSON", help="a list of MongoDB's aggregation stages")
    rows.add_argument("--saved", type=Path, metavar="QUERY.json", help="a query that was saved as JSON")
    rows.add_argument("--explain", action="store_true", help="say what is read instead of the answer")
    statement = parser.add_argument_group("SQL")
    statement.add_argument(
        "--param", action="append", metavar="[NAME=]VALUE", help="for $NAME or ?; may be repeated"
    )
    statement.add_argument("--seconds", type=float, metavar="S", help="end the statement after so long")
    statement.add_argument("--files", action="store_true", help="let it read files that it names")
    statement.add_argument("--write", action="store_true", help="let it change tables of the store")
    parser.add_argument("--as-of", metavar="VERSION", help="an earlier version: its number, name or time")
    parser.add_argument("--checksums", choices=("verify", "ignore"), default="verify", help=CHECKSUMS_HELP)
    parser.add_argument("--format", choices=("table", "csv", "json", "jsonl"), default="table")


def of_index(parser: argparse.ArgumentParser, names: Words) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("table", metavar="TABLE")
    parser.add_argument(
        "columns", nargs="?", type=names, metavar="NAME,NAME,…", help="left out: list the indexes there are"
    )
    parser.add_argument("--words", action="store_true", help="for --search, instead of a sorted index")
    parser.add_argument("--language", default="english", help="of the words (%(default)s); none for no stems")
    parser.add_argument("--drop", action="store_true", help="take the index away")
