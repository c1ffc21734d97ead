"""Public functions and commands return a result or raise a `LamellaError`, whatever the arguments.

LAMELLA_LONG_RUNS=30000 tries every function with every odd argument, and as many commands and files.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import shlex
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lamella import Store, agg, col, open_dataset
from lamella.app import cli
from lamella.core.errors import LamellaError
from lamella.core.filters import Filter
from lamella.core.query.builder import Query
from tests.property.odd_arguments import Call, calls
from tests.slow_tests import examples

RUNS = examples(600)
FILES, COMMANDS = max(60, RUNS // 20), max(60, RUNS // 20)
OF_THE_CALLER = (
    "of the caller's that fails",  # raised by the caller's iterator
    "The truth value of",  # an array instead of a flag
    "takes 0 positional arguments",  # the caller's function, called with rows
    "int() argument must be",  # the caller's class, called with rows
)
"""Errors that the caller's own objects raise may pass through."""


@pytest.fixture
def randomly(request: pytest.FixtureRequest) -> random.Random:
    """A generator with a fixed seed if `CI` is set; otherwise the seed is in the report of a failure."""
    seed = 1 if "CI" in os.environ else random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


class Shop:
    """A small store that is recreated whenever a call has changed it."""

    def __init__(self, folder: Path) -> None:
        self._template, self._place = folder / "template", folder / "shop"
        with Store.open(self._template) as store:
            rows = [{"n": i, "word": f"w{i}", "inner": {"a": i}, "items": [i]} for i in range(6)]
            store.create_table("t", rows)
            store.create_table("u", [{"n": i, "t_id": i} for i in range(3)])
        self._open()

    def _open(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._template, self._place)
        self.store = Store.open(self._place)

    def close(self) -> None:
        self.store.close()

    def owner(self, name: str) -> Any:
        table = self.store["t"]
        owner, _, collaborator = name.partition(".")
        owners = {"store": self.store, "table": table, "query": table.where("n >= 0")}
        object_ = {**owners, "col": col("n"), "agg": agg}[owner]
        return getattr(object_, collaborator) if collaborator else object_

    def renew(self) -> None:
        """Recreate the store if a call has changed or closed it."""
        try:
            as_it_was = self.store.tables == ["t", "u"] and self.store["t"].version == 1
        except LamellaError:
            as_it_was = False
        if not as_it_was:
            self.store.close()
            self._open()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A store in its own folder, to which odd paths are relative."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shop_ = Shop(tmp_path)
    yield shop_
    shop_.close()


def answered(answer: Any, shop: Shop) -> None:
    """Read lazy results."""
    table = shop.store["t"]
    if isinstance(answer, Filter):
        table.where(answer).read()
    elif isinstance(answer, Query):
        answer.read()
    elif isinstance(answer, pa.RecordBatchReader):
        answer.read_all()
    elif isinstance(answer, contextlib.AbstractContextManager):
        with answer:
            pass


def foreign(work: Callable[[], object], what: object) -> str:
    """Describe an exception that is not an error of ours; empty if there was none."""
    try:
        work()
    except LamellaError:
        return ""
    except Exception as error:  # noqa: BLE001 -- to find them is what this is for
        if any(words in str(error) for words in OF_THE_CALLER):
            return ""
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{what}: {type(error).__name__}: {str(error)[:100]} ({place.filename}:{place.lineno})"
    return ""


def test_public_functions_with_odd_arguments(shop: Shop, randomly: random.Random) -> None:
    all_calls = calls()
    assert len(all_calls) > 10_000

    def work(call: Call) -> None:
        answered(call(getattr(shop.owner(call.owner), call.method)), shop)

    problems = []
    for call in randomly.sample(all_calls, min(RUNS, len(all_calls))):
        problems.append(foreign(lambda call=call: work(call), call))
        shop.renew()
    actual = list(filter(None, problems))
    assert not actual, "\n".join(actual)


# ------------------------------------------------------------------------------ files


def _parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


ROWS = pa.table({"n": [1, 2, 3], "word": ["a", "b", None], "inner": [{"a": 1}, None, {"a": 3}]})
WHOLE = {
    "rows.parquet": _parquet(ROWS),
    "none.parquet": _parquet(pa.table({})),
    "rows.csv": b"n,word\n1,a\n2,\"b\nc\"\n3,\n",
    "rows.tsv": b"n\tword\n1\ta\n",
    "rows.jsonl": b'{"n": 1, "inner": {"a": [1, 2]}}\n{"n": 2, "word": "a"}\n',
    "rows.json": b'[{"n": 1}, {"n": "a"}]',
    "rows.csv.gz": gzip.compress(b"n,word\n1,a\n"),
    "rows.arrow": b"ARROW1\0\0" + bytes(64),
}  # fmt: skip
ODD_FILES = {
    "empty.csv": b"",
    "empty.parquet": b"",
    "empty.jsonl": b"",
    "line ends.csv": b"\n\r\n\n",
    "nul.csv": bytes(99),
    "mark alone.csv": b"\xef\xbb\xbf",
    "utf16.csv": "n,word\n1,é\n".encode("utf-16"),
    "latin.csv": b"n,\xe9\n1,\xff\n",
    "quote.csv": b'n,"word\n1,2\n',
    "ragged.csv": b"a,b\n1\n1,2,3\n",
    "names alike.csv": b"a,a,\n1,2,3\n",
    "magic.parquet": b"PAR1",
    "magics.parquet": b"PAR1PAR1",
    "footer.parquet": b"PAR1\xff\xff\xff\x7fPAR1",
    "numbers.jsonl": b"1\n2\n",
    "null.jsonl": b"null\n",
    "half.jsonl": b'{"n": 1}\n{"n": ',
    "big number.jsonl": b'{"n": ' + b"9" * 5_000 + b"}\n",
    "names alike.jsonl": b'{"n": 1, "n": 2}\n',
    "not gzip.csv.gz": b"n\n1\n",
    "zip.csv": b"PK\x03\x04" + bytes(40),
    "no suffix": b"n,word\n1,a\n",
    "a'b\"[1]*?.csv": b"n\n1\n",
}


def odd_file(folder: Path, randomly: random.Random) -> Path:
    """Write an odd file, or a valid one that is damaged at random."""
    if randomly.random() < 0.3:
        name, content = randomly.choice(list(ODD_FILES.items()))
    else:
        name, content = randomly.choice(list(WHOLE.items()))
        damaged = bytearray(content)
        for _ in range(randomly.choice([0, 1, 1, 3, 20])):
            damaged[randomly.randrange(len(damaged))] = randomly.randrange(256)
        content = bytes(damaged[: randomly.choice([len(damaged), randomly.randrange(len(damaged))])])
    path = folder / name
    path.write_bytes(content)
    return path


def look_at(path: Path) -> None:
    rows = open_dataset(path)
    names = rows.schema.names
    rows.read(limit=5)
    rows.count()
    rows.read(sort=names[:1], limit=3)
    for name in names[:3]:
        rows.profile(name)


def test_odd_and_damaged_files(shop: Shop, randomly: random.Random) -> None:
    problems = []
    for number in range(FILES):
        folder = Path(f"f{number}")
        folder.mkdir()
        path = odd_file(folder, randomly)
        problem = foreign(lambda path=path: look_at(path), path)
        problems.append(problem and f"{problem} {path.read_bytes()[:300]!r}")
    for place in (Path("missing"), Path(os.devnull), Path(), Path("x" * 300), Path("a\0b")):
        problems.append(foreign(lambda place=place: look_at(place), place))
    actual = list(filter(None, problems))
    assert not actual, "\n".join(actual)


# --------------------------------------------------------------------------- commands

STORE, FILE = "{store}", "{file}"
ODD_WORDS = [
    "",
    " ",
    "-1",
    "0",
    "1e99",
    "nan",
    "99999999999999999999",
    "no-such",
    "no-such.parquet",
    "../up",
    "n",
    "t",
    "u",
    "n >",
    "n = 1",
    "n = 'a",
    "\udcff",
    "a\nb",
    "\x1b[2J",
    "'\"`",
    "x" * 3_000,
    "{",
    "[]",
    '{"$x": 1}',
    "*",
    "?",
    "💥",
    "$n",
    "select",
    "select * from t",
    "select * from nothing",
    "drop table t",
    "n=count()",
    "x=nothing(n)",
    STORE,
    FILE,
]
COMMAND_FORMS = [
    shlex.split(line)
    for line in """
        query {store} ?
        query {store} --table ?
        query ? --table t
        query {file} ?
        query {store} --table t --where ?
        query {store} --table t --sort ?
        query {store} --table t --group-by ? --agg ?
        query {store} --table t --limit ?
        query {store} --table t --columns ? --format csv
        query {store} --saved ?
        query {store} --table t --aggregate ?
        query {store} --table t --profile ?
        query {store} --table t --search ?
        query {store} --table t --as-of ?
        query {store} 'select ?' --param ?
        query {store} ? --write
        query {store} ? --files
        import ? {store}
        import {file} ?
        import {file} {store}:?
        index {store} ?
        index {store} t ?
        index {store} t n ?
        export {store} ? out.csv
        export {store} t ?
        export {store} t out.csv --where ?
        compact ?
        export {store} t out --format ? --overwrite
        export {store} t o --partition-by ?
        export ? o.csv
        export {file} ? --overwrite
        export {file} o.csv --delimiter ? --overwrite
        export {file} o.csv --quote ? --null ? --overwrite
        export {file} o.xlsx --sheet ? --overwrite
        export {file} o.sqlite --table-name ? --overwrite
        export {file} o.duckdb --table-name ? --overwrite
        export {file} o.parquet --codec ? --row-group-rows ? --overwrite
        export {store} o.json --view ? --overwrite
        export {file} o.sqlite --primary-key ? --indexes ? --overwrite
        compact {store} ?
        verify ?
        verify {store} ?
        backup {store} ?
        backup ? copy
        summary ?
        summary {store} ?
        relations ?
        relations {store} ?
        relations {store} --check ?
        make-data ? out.parquet
        make-data mixed --rows -? o
        bench --show ?
        bench --compare ? ?
        bench --delete ?
        bench --again ?
        bench --workload ? --systems sqlite --rows x
        bench --systems ? --rows x
        sqlite {store} --command ?
        sqlite ? --command .tables
        ?
        ? ?
        --tour
    """.strip().splitlines()
]


def said_of(words: list[str]) -> tuple[int, str]:
    """The exit code and the messages of a command."""
    out, messages = (io.TextIOWrapper(io.BytesIO(), "utf8", errors="surrogateescape") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
        try:
            code = cli.main(words)
        except SystemExit as end:  # how argparse ends
            code = int(end.code or 0)
    messages.flush()
    return code, messages.buffer.getvalue().decode("utf8", "replace")


def test_commands_with_odd_words(
    shop: Shop, randomly: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    Path("rows.csv").write_bytes(WHOLE["rows.csv"])
    problems = []
    for _ in range(COMMANDS):
        shop.close()
        words = [
            word.replace("?", randomly.choice(ODD_WORDS)) if "?" in word else word
            for word in randomly.choice(COMMAND_FORMS)
        ]
        words = [word.replace(STORE, str(shop.store.path)).replace(FILE, "rows.csv") for word in words]
        problems.append(foreign(lambda words=words: refuse_bug(words), words))
        shop.renew()
    actual = list(filter(None, problems))
    assert not actual, "\n".join(actual)


def refuse_bug(words: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, messages = said_of(words)
    own = "Nothing was measured" in messages
    assert code in (cli.OK, cli.REFUSED, cli.DAMAGED) or own, f"exit code {code}: {messages}"
    assert "Traceback" not in messages, messages
    assert code == 0 or messages.strip(), "it failed without a word"


# ----------------------------------------------- what was found by hand


def _json_file(text: str) -> Callable[[], object]:
    def work() -> object:
        path = Path("known.jsonl")
        path.write_text(text, "utf8")
        return look_at(path)

    return work


KNOWN: dict[str, Callable[[], object]] = {
    "deep JSON": _json_file('{"n": ' + "[" * 1_000 + "]" * 1_000 + "}\n"),
    "half a character in JSON": _json_file('{"n": "\\ud800"}\n'),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_found_by_hand(name: str, shop: Shop) -> None:
    assert not foreign(KNOWN[name], name)
