"""The options of each command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

TYPE_CHECKING = False  # `typing` takes a fifth of the time of `lamella --version`
if TYPE_CHECKING:
    from typing import Any

    from lamella.core.transfer.formats import Format
    from lamella.core.transfer.writer import Option

CHECKSUMS_HELP = "what to do with Parquet pages with wrong checksums (%(default)s): ignore reads them"
WHERE_HELP = "only the rows that meet it, such as: delay > 60 and carrier in ('AA', 'UA')"
Words = Callable[[str], list[str]]
Number = Callable[[str], int]


def of_query(parser: argparse.ArgumentParser, names: Words, number: Number) -> None:
    parser.add_argument(
        "source", metavar="STORE|FILE[:TABLE]", help="a store, a file, folder or pattern of files, or -"
    )
    parser.add_argument("sql", nargs="?", metavar="SQL", help="a statement; a file's table has its name")
    rows = parser.add_argument_group("rows of a table, without SQL")
    rows.add_argument("--table", "--sheet", metavar="TABLE", help="the table, if the source has several")
    rows.add_argument("--where", metavar="CONDITION", help=WHERE_HELP)
    rows.add_argument("--search", metavar="WORDS", help="the 20 rows that match the words best")
    rows.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="only these columns")
    rows.add_argument("--group-by", type=names, metavar="NAME,NAME,…", help="one row per value")
    rows.add_argument("--agg", nargs="+", metavar="NAME=AGGREGATE(COLUMN)", help="n=count() m=mean(price)")
    rows.add_argument("--having", metavar="CONDITION", help="only the groups that meet it")
    rows.add_argument(
        "--totals", action="store_const", const=True, help="print the aggregates of all rows below the groups"
    )
    rows.add_argument("--sort", type=names, metavar="NAME,-NAME,…", help="a minus descends: --sort=-n")
    rows.add_argument("--limit", type=number, metavar="N", help="at most N rows")
    rows.add_argument("--offset", type=number, metavar="N", help="skip the first N rows")
    rows.add_argument("--profile", metavar="COLUMN", help="summarise a column")
    rows.add_argument("--aggregate", metavar="JSON", help="a list of MongoDB aggregation stages")
    rows.add_argument("--saved", type=Path, metavar="QUERY.json", help="a query that was saved as JSON")
    rows.add_argument("--steps", metavar="JSON|FILE", help="a query, or a list of steps on --table, as JSON")
    rows.add_argument("--view", metavar="NAME", help="a query that was saved as a view of the store or file")
    rows.add_argument("--explain", action="store_true", help="show how the query reads, not its result")
    statement = parser.add_argument_group("SQL")
    statement.add_argument(
        "--param", action="append", metavar="[NAME=]VALUE", help="for $NAME or ?; may be repeated"
    )
    statement.add_argument("--seconds", type=float, metavar="S", help="end the statement after S seconds")
    statement.add_argument(
        "--files", action="store_true", help="allow the statement to read the files that it names"
    )
    statement.add_argument(
        "--write", action="store_true", help="allow the statement to change tables of the store"
    )
    parser.add_argument("--as-of", metavar="VERSION", help="an earlier version: its number, name or time")
    parser.add_argument("--checksums", choices=("verify", "ignore"), default="verify", help=CHECKSUMS_HELP)
    parser.add_argument("--format", choices=("table", "csv", "json", "jsonl"), default="table")
    reading_options(parser)


def of_index(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser, "its name, unless it follows STORE and a colon")
    parser.add_argument(
        "columns",
        nargs="?",
        metavar="NAME,NAME,…",
        help="the indexed columns; without them, list the indexes",
    )
    parser.add_argument("--words", action="store_true", help="a full-text index instead of a sorted one")
    parser.add_argument("--language", default="english", help="for stemming (%(default)s); none turns it off")
    parser.add_argument("--drop", action="store_true", help="drop the index")


ABOUT = (
    "Measure systems against each other: each in its own processes, in shuffled order, with the same data,"
    " and with answers that must agree. The results are saved, unless --no-save is given."
)
STATUSES = (
    "exit status: 0 on success; 1 if a system failed, crashed or gave a wrong answer, if nothing was"
    " measured, and with --compare if something became slower (exceeding a limit is a normal result);"
    " 2 if the benchmark cannot run as requested; 130 if stopped with Ctrl+C, after which the results so far"
    " are still reported"
)
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def of_bench(parser: argparse.ArgumentParser, names: Words, number: Number) -> None:
    parser.description, parser.epilog = ABOUT, STATUSES
    _add_choice_options(parser.add_argument_group("what is measured"), names, number)
    _how(parser.add_argument_group("how"), names, number)
    _results(parser.add_argument_group("results"))
    _saved_run_options(parser.add_argument_group("instead of a benchmark"), number)


def _add_choice_options(group: argparse._ArgumentGroup, names: Words, number: Number) -> None:
    group.add_argument(
        "--workload",
        action="extend",
        type=names,
        metavar="NAME|GROUP|all",
        help="what each system has to do (small); several with commas, or by repeating the option",
    )
    group.add_argument(
        "--systems",
        action="extend",
        type=names,
        metavar="NAME|all",
        help="the systems (lamella,sqlite); all: each that supports the workload and can run here",
    )
    group.add_argument("--backends", dest="systems", action="extend", type=names, help=argparse.SUPPRESS)
    size = group.add_mutually_exclusive_group()
    size.add_argument(
        "--rows",
        type=lambda text: [number(word) for word in names(text)],
        metavar="N,N,…",
        help="the sizes (the workload's own)",
    )
    size.add_argument(
        "--scale",
        metavar="small|published|N,N,…",
        help="small: a few minutes for all workloads together; published: the sizes of published results,"
        " if there are any",
    )
    group.add_argument(
        "--table-rows", type=number, metavar="N", help="the table's size, if --rows counts changed rows"
    )
    group.add_argument(
        "--table", metavar="FILE|STORE:TABLE", help="a table of your own, instead of a workload"
    )
    group.add_argument("--where", metavar="CONDITION", help=f"with --table: {WHERE_HELP}")
    group.add_argument(
        "--columns", type=names, metavar="NAME,NAME,…", help="with --table: only these columns"
    )


def _how(group: argparse._ArgumentGroup, names: Words, number: Number) -> None:
    group.add_argument("--repeats", type=number, metavar="N", help="per operation (the workload's own)")
    group.add_argument("--limit", type=seconds, metavar="SECONDS", help="time limit of each step")
    group.add_argument(
        "--limit-memory",
        type=byte_count,
        metavar="SIZE",
        help="memory limit of each child process, such as 4GB (nine tenths of the free memory)",
    )
    group.add_argument("--folder", type=Path, help="where databases are created: it decides which disk")
    group.add_argument("--fresh", action="store_true", help="a new process per step, so that reads are cold")
    group.add_argument("--interpreter", metavar="PATH", help="the Python that runs the systems, such as PyPy")
    group.add_argument("--seed", type=number, metavar="N", help="of the shuffled order, to repeat it")


def _results(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", type=Path, metavar="OUT", help="write every sample to this file")
    group.add_argument(
        "--report", type=Path, metavar="OUT.md", help="write tables, machine, versions and the command to it"
    )
    group.add_argument(
        "--export", type=Path, metavar="OUT", help="write a results file, which --show opens on any computer"
    )
    group.add_argument("--quiet", action="store_true", help="print nothing before the benchmark is over")
    group.add_argument(
        "--no-save",
        dest="save",
        action="store_false",
        help="do not save the run; --runs, --show, --again and --compare will not find it",
    )
    group.add_argument("--note", metavar="TEXT", help="saved with the run, or with the run of --show")


def _saved_run_options(group: argparse._ArgumentGroup, number: Number) -> None:
    act = group.add_mutually_exclusive_group()
    act.add_argument("--list", action="store_true", help="the workloads, and the systems with what they need")
    act.add_argument(
        "--runs",
        nargs="*",
        metavar="WORD",
        help="list saved runs, newest first: those that have every WORD in their title, measurements or note;"
        " '#word' finds a tag, which is a word in a note",
    )
    act.add_argument(
        "--show",
        nargs="+",
        metavar="RUN|FILE",
        help="report a saved run or a results file, or several as one: each workload and size is taken from"
        " the last that has it; --workload chooses some, --json, --report and --export write the report",
    )
    act.add_argument("--again", type=number, metavar="RUN", help="repeat the benchmark of a saved run")
    act.add_argument("--delete", type=number, nargs="+", metavar="RUN", help="delete saved runs")
    act.add_argument(
        "--compare",
        nargs=2,
        metavar=("BEFORE", "AFTER"),
        help="numbers of saved runs, results files or files written by --json. Times differ if their medians"
        " are more than 5%% apart and the middle halves of at least 3 samples do not overlap; --systems"
        " chooses some systems",
    )
    group.add_argument(
        "--tolerance",
        type=factor,
        default=1.0,
        metavar="FACTOR",
        help="with --compare: exit with 1 only if something takes FACTOR times as long, such as 1.3",
    )


def factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 1")
    return value


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def byte_count(text: str) -> int:
    """Bytes, or with a unit: 500MB."""
    from decimal import Decimal, InvalidOperation

    digits = text.strip().upper().rstrip("BKMGT").strip()
    unit = text.strip().upper()[len(digits) :].strip()
    try:
        amount = Decimal(digits) * UNITS[unit]
    except (InvalidOperation, KeyError):
        amount = Decimal(0)
    if not 0 < amount < 10**18:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 500MB or 4GB")
    return int(amount)


RAGGED_HELP = (
    "what to do with rows of a CSV file that do not fit its header (%(default)s): pad fills short rows"
    " with nulls and cuts empty fields off long ones; rows with values beyond the header are always refused"
)
MOST_ROWS = 10**12


def bench(parser: argparse.ArgumentParser) -> None:
    of_bench(parser, names, whole_number)


IMPORT_EXAMPLES = """examples:
  lamella import trips.csv taxi                        # a table trips of the store taxi
  lamella import bank.csv books:sales --decimal , --dates day-first --bad-lines set-aside
  lamella import 'months/*.csv' books:sales            # many as one table; with separate names, add --as-one
  lamella import shop.sqlite shop                      # all tables, with relations from foreign keys
  lamella import new.csv books:sales --mode upsert --key id

exit status: 0 if all rows were imported; 2 if the import is not possible as requested; 3 if the data read
turns out to be damaged; 130 if stopped with Ctrl+C. Either all tables are imported completely, or none."""


def import_file(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = IMPORT_EXAMPLES
    parser.add_argument(
        "file", type=path_of, nargs="+", metavar="FILE", help="files, folders, patterns or addresses"
    )
    parser.add_argument("target", metavar="STORE[:TABLE]", help="a store's folder; created if missing")
    parser.add_argument(
        "--as-one", action="store_true", help="the rows of all files in one table, matched by column name"
    )
    parser.add_argument(
        "--mode",
        choices=("new", "append", "replace", "upsert"),
        default="new",
        help="create a new table, or add rows to TABLE, replace its rows, or update and add rows by key",
    )
    parser.add_argument(
        "--key", type=names, default=[], metavar="COLUMNS", help="with --mode upsert: identify rows"
    )
    parser.add_argument(
        "--table", "--sheet", metavar="TABLE", help="one table of a file that has several, instead of all"
    )
    parser.add_argument("--checksums", choices=("verify", "ignore"), default="verify", help=CHECKSUMS_HELP)
    reading_options(parser)


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of how a file is read, from the table of opening options."""
    from lamella.core.datasets.options import READING

    group = parser.add_argument_group("how a text file or sheet is read, instead of what is detected")
    group.add_argument("--ragged", choices=("refuse", "pad"), default="refuse", help=RAGGED_HELP)
    for option in READING:
        text = option.help.replace("%", "%%")
        if option.kind == "switch":
            group.add_argument(option.flag, action=argparse.BooleanOptionalAction, default=None, help=text)
            continue
        kind = {"names": names, "yes-no": names, "pairs": pairs, "number": whole_number}.get(option.kind, str)
        choices = option.choices if option.kind == "choice" else None
        group.add_argument(
            option.flag, type=kind, choices=choices, metavar=option.metavar, default=None, help=text
        )


def reading_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of how a file is read that are given on the command line."""
    from lamella.core.datasets.options import READING

    values = {option.name: getattr(arguments, option.name) for option in READING}
    options = {name: value for name, value in values.items() if value is not None}
    return options if arguments.ragged == "refuse" else {"ragged": arguments.ragged, **options}


def pairs(text: str) -> list[tuple[str, str]]:
    """Read `a=date,b=decimal(10, 2)`; commas in brackets separate nothing."""
    values = []
    for part in re.split(r",(?![^()]*\))", text):
        column, sign, name = part.partition("=")
        if not sign or not column.strip():
            raise argparse.ArgumentTypeError(f"'{part.strip()}' is not COLUMN=…")
        values.append((column.strip(), name.strip()))
    return values


def change(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser, "its name, unless it follows STORE and a colon")
    parser.add_argument(
        "--where", metavar="CONDITION", help="only the rows that meet it; without it, all rows"
    )
    assign: list[tuple[str, str, str]] = [
        ("--set", "COLUMN=VALUE", "a value, as it is typed in the grid; may be repeated"),
        ("--compute", "COLUMN=EXPRESSION", 'a value computed from the row, price="price * 1.19"'),
    ]
    for option, metavar, about in assign:
        parser.add_argument(option, action="append", default=[], metavar=metavar, help=about)
    parser.add_argument("--operators", metavar="JSON", help="""update operators, '{"$inc": {"n": 1}}'""")
    parser.add_argument("--delete", action="store_true", help="delete the rows of --where")
    parser.add_argument(
        "--drop-duplicates",
        type=names,
        nargs="?",
        const=[],
        metavar="COLUMNS",
        help="drop rows that are equal in these columns, or in all columns",
    )
    parser.add_argument("--upsert", type=Path, metavar="FILE", help="update and add its rows by key (--on)")
    parser.add_argument("--on", type=names, default=[], metavar="COLUMNS", help="the key of --upsert")
    parser.add_argument(
        "--keep",
        choices=("refuse", "first", "last"),
        default="refuse",
        help="the row to keep among rows with the same key, and among duplicates",
    )
    parser.add_argument("--preview", action="store_true", help="show what would change, and change nothing")


COMPARE_EXAMPLES = """examples:
  lamella compare planes_2013.csv planes_2014.csv --key tailnum
  lamella compare shop:orders@12 shop:orders             # version 12 against the newest
  lamella compare shop:orders orders.parquet --tolerance 0.01 --out differences.xlsx
  lamella compare shop:orders orders.csv --key id --apply --preview

exit status: 0 if both were compared; with --exit-code, 1 if anything differs; 2 if they cannot be
compared; 3 if the data read turns out to be damaged; 130 if stopped with Ctrl+C."""


def compare(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = COMPARE_EXAMPLES
    side = "a file, FILE:TABLE, STORE:TABLE, or STORE:TABLE@VERSION by its number or name"
    parser.add_argument("before", metavar="BEFORE", help=side)
    parser.add_argument("after", metavar="AFTER", help="the other side, named in the same way")
    pairing = parser.add_mutually_exclusive_group()
    pairing.add_argument(
        "--key", type=names, metavar="NAME,NAME,…",
        help="columns that identify rows; without it, a column whose values are unique",
    )  # fmt: skip
    pairing.add_argument("--by-order", action="store_true", help="pair rows by their order")
    parser.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="only these common columns")
    parser.add_argument("--tolerance", type=float, default=0.0, metavar="X", help="numbers may differ by X")
    parser.add_argument("--ignore-case", action="store_true", help="texts may differ in case")
    parser.add_argument("--ignore-space", action="store_true", help="texts may differ in white space")
    parser.add_argument(
        "--format",
        choices=("summary", "table", "csv", "json", "jsonl"),
        default="summary",
        help="counts by column, or the rows that differ (%(default)s)",
    )
    parser.add_argument("--limit", type=whole_number, metavar="N", help="only the first N rows that differ")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows that differ to a file")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--apply", action="store_true", help="update and add rows of the table BEFORE, in one commit"
    )
    parser.add_argument("--delete", action="store_true", help="with --apply: delete rows that AFTER lacks")
    parser.add_argument("--preview", action="store_true", help="with --apply: show what would change")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if anything differs")


def query(parser: argparse.ArgumentParser) -> None:
    of_query(parser, names, whole_number)


def index(parser: argparse.ArgumentParser) -> None:
    of_index(parser)


CHECKS_EXAMPLES = """examples:
  lamella checks shop:people                                   # defaults and checks of all columns
  lamella checks shop:people email --required yes --unique yes
  lamella checks shop:people state --one-of new,paid --default new
  lamella checks shop:people state --any-value --no-default    # remove them; undo does so, too

exit status: 0 on success; 1 for a bug; 2 if rows violate a check (the first ones are listed) or if it cannot
be set; 130 if stopped with Ctrl+C. On failure nothing is set."""


def checks(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = CHECKS_EXAMPLES
    _store_and_table(parser, "its name, unless it follows STORE and a colon")
    parser.add_argument("column", nargs="?", metavar="COLUMN", help="one column; without it, list all")
    parser.add_argument("--required", choices=("yes", "no"), help="whether nulls are refused")
    parser.add_argument("--unique", choices=("yes", "no"), help="whether duplicates are refused")
    values = parser.add_mutually_exclusive_group()
    values.add_argument("--one-of", type=names, metavar="VALUE,VALUE,…", help="the only allowed values")
    values.add_argument("--any-value", action="store_true", help="allow any value again")
    default = parser.add_mutually_exclusive_group()
    default.add_argument("--default", metavar="VALUE", help="the value of new rows that leave the column out")
    default.add_argument("--no-default", action="store_true", help="such rows get null")


def sqlite(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="STORE|FILE", help="stores, files, folders or patterns")
    parser.add_argument(
        "--command", action="append", metavar="SQL", help="run this and exit; may be repeated"
    )


def make_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("mixed",), help="mixed: 20 columns of every common type")
    parser.add_argument("--rows", type=whole_number, default=1_000_000, metavar="N")
    parser.add_argument("out", type=Path, metavar="OUT.parquet")


EXPORT_EXAMPLES = """examples:
  lamella export shop:orders orders.xlsx                       # a table of a store
  lamella export trips.parquet trips.csv --delimiter ';' --decimal-sign , --encoding utf-8-bom
  lamella export 'logs/*.jsonl' errors.md --where "level = 'error'" --columns at,text --sort=-at
  lamella export taxi:trips by-zone --partition-by zone        # a folder of Parquet files
  lamella export shop:orders shop.sqlite --add --primary-key id
  lamella export trips.parquet trips.csv --losses              # what would be lost; nothing is written

exit status: 0 if the file was written completely; 1 for a bug; 2 if the export is not possible as requested;
3 if the data read turns out to be damaged; 130 if stopped with Ctrl+C. An existing target is replaced only on
success."""


def export(parser: argparse.ArgumentParser) -> None:
    from lamella.core.transfer.formats import FORMATS, all_options

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXPORT_EXAMPLES
    parser.add_argument(
        "source", metavar="STORE|FILE[:TABLE]", help="a store, or a file, folder or pattern of files"
    )
    parser.add_argument("table", nargs="?", metavar="TABLE", help="the table, if there are several")
    parser.add_argument(
        "target", metavar="TARGET", help=f"a file or address: {', '.join(f.suffixes[0] for f in FORMATS)}"
    )
    ids = ", ".join(format.id for format in FORMATS)
    parser.add_argument("--format", metavar="NAME", help=f"if the suffix of TARGET does not tell: {ids}")
    parser.add_argument("--columns", type=names, metavar="NAME,NAME,…", help="only these columns")
    parser.add_argument("--where", metavar="CONDITION", help=WHERE_HELP)
    parser.add_argument("--sort", type=names, metavar="NAME,-NAME,…", help="a minus descends: --sort=-n")
    parser.add_argument(
        "--view", metavar="NAME", help="a query that was saved as a view of the store or file"
    )
    parser.add_argument("--as-of", metavar="VERSION", help="an earlier version: its number, name or time")
    parser.add_argument("--ids", action="store_true", help="with the _id of each row")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing target")
    parser.add_argument("--losses", action="store_true", help="show what would be lost, and write nothing")
    parser.add_argument("--checksums", choices=("verify", "ignore"), default="verify", help=CHECKSUMS_HELP)
    group = parser.add_argument_group("options of formats")
    for name, pairs in all_options().items():
        _add_format_option(group, name, pairs)


def _add_format_option(
    group: argparse._ArgumentGroup, name: str, pairs: Sequence[tuple[Format, Option]]
) -> None:
    formats = ", ".join(format.id for format, _ in pairs)
    option = pairs[0][1]
    text = f"{formats}: {option.help}".replace("%", "%%")
    if option.kind == "switch":
        group.add_argument(option.flag, dest=name, action=argparse.BooleanOptionalAction, help=text)
        return
    choices = list(dict.fromkeys(choice for _, each in pairs for choice in each.choices))
    metavar = {"columns": "NAME,NAME,…", "number": "N", "text": "TEXT"}.get(option.kind, "|".join(choices))
    kind = names if option.kind == "columns" else str
    group.add_argument(option.flag, dest=name, type=kind, metavar=metavar, help=text)


def compact(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--group-rows", type=whole_number, metavar="N", help="rows per row group")
    parser.add_argument("--file-rows", type=whole_number, metavar="N", help="rows per file")
    parser.set_defaults(store_command="compact")


def verify(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.add_argument("--quick", action="store_true", help="skip the checksums of the files")
    parser.set_defaults(store_command="verify")


def backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder, or an earlier backup's")
    parser.add_argument("--link", action="store_true", help="hard links instead of copies, on the same disk")
    parser.set_defaults(store_command="backup")


def summary(parser: argparse.ArgumentParser) -> None:
    _store_and_table(parser)
    parser.set_defaults(store_command="summary")


def versions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="FOLDER", help="a Delta table")
    parser.set_defaults(store_command="versions")


def relations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("--check", action="store_true", help="find rows that refer to nothing")
    parser.add_argument("--suggest", action="store_true", help="suggest relations that are not declared")
    parser.add_argument("--json", action="store_true", help="as JSON, one object per line")


STORE_ACTS = {
    "sizes": "show its size by table, and what could be freed",
    "move": "move it to a new folder, or rename it: lamella store move STORE TO",
    "vacuum": "remove files that no version uses",
    "expire": "drop old versions: lamella store expire STORE TABLE --keep N",
    "restore": "copy a backup to a new folder: lamella store restore BACKUP TO",
    "salvage": "copy rows of damaged tables that can be read into new tables",
}


def store(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["acts:", *(f"  {name:8} {about}" for name, about in STORE_ACTS.items())])
    parser.add_argument("act", choices=list(STORE_ACTS), metavar="ACT", help=", ".join(STORE_ACTS))
    parser.add_argument("store", type=Path, metavar="STORE")
    parser.add_argument("target", nargs="?", metavar="TO|TABLE", help="the new folder, or one table")
    parser.add_argument(
        "--keep", type=whole_number, metavar="N", help="expire: how many of the newest versions to keep"
    )
    parser.add_argument("--columns", action="store_true", help="sizes: of every column, too")
    parser.add_argument(
        "--dry-run", action="store_true", help="vacuum, expire, salvage: only show what would be done"
    )


def _store_and_table(parser: argparse.ArgumentParser, about: str = "one table instead of all") -> None:
    parser.add_argument("store", metavar="STORE[:TABLE]")
    parser.add_argument("table", metavar="TABLE", nargs="?", help=about)


def path_of(text: str) -> Path | str:
    """A path, or an address as text: a `Path` would change its slashes."""
    return text if "://" in text else Path(text)


def whole_number(text: str) -> int:
    """Read a whole number that is not negative; `1_000` and `1e6` are accepted, too."""
    from decimal import Decimal, InvalidOperation

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
