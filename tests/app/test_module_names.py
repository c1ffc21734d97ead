"""Modules, and what is in them, exist where strings and pages name them: no linter looks there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

import pytest

from lamella.core.bench.plain import worker
from lamella.core.bench.registry import ENTRIES, FAMILIES, WORKLOADS, load_place

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "core", "ui", "resources")
CODE = (*ROOMS, "tests", "packaging", "dev.py")
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "pyproject.toml", "docs")

DOTTED = re.compile(rf"(?<![\w./:-])(?:lamella|tests|{'|'.join(ROOMS)})(?:\.\w+)+(?::\w+)?")
"""`lamella.core.errors.BadData`, `core.errors` in docstrings, an entry point `lamella.app.cli:main`."""
IMPORT = re.compile(r"^(?:from|import) .*", re.MULTILINE)
SLASHED = re.compile(rf"`((?:{'|'.join(ROOMS)}|tests|docs|packaging)/[\w./-]*\w)/?`")
"""`core/errors.py`, or `core/errors` on a page."""

SHORT = re.compile(r"`([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?:[.(][^`]*)?`")
"""`parquet_file.unchanged_footer`, `Table.update(…)` in docstrings and on pages."""
DOCSTRING = re.compile(r'""".*?"""|`[^`\n]*`', re.DOTALL)
SUFFIXES = {"csv", "h", "json", "md", "py", "sqlite", "tar", "thrift", "toml", "txt"}
EXAMPLES = {
    *("_id", "a", "address", "airline", "airlines", "at", "customers", "f", "flights", "left", "size"),
    *("out", "table", "thing", "workload"),
}
"""What tables, columns and variables are called in examples."""
LIBRARIES = {"apsw", "importlib", "lamella", "networkx", "np", "numpy", "pa", "struct"}

NO_MODULES = {
    "app.processEvents": "of Qt's application, in a program for a child process",
    "lamella.1.gz": "a file",
    "lamella.deb": "a file",
    "lamella.desktop": "a file",
    "lamella.exe": "a file",
    "lamella.log": "a file",
    "lamella.metainfo.xml": "a file",
    "lamella.mime.xml": "a file",
    "lamella.nsi": "a file",
    "lamella.spec": "a file",
    "lamella.svg": "a file",
    "lamella.xml": "a file",
    "lamella.core._private": "a test wants to see it refused",
    "lamella.core.errors._private": "a test wants to see it refused",
    "lamella.Stores": "a test wants to see it refused",
    "tests.bench.odd_systems:NoSuchClass": "a test wants to see it refused",
}


@dataclass(frozen=True)
class Mention:
    name: str
    place: str


def files(roots: tuple[str, ...]) -> Iterator[Path]:
    """All below; not through the links in packaging/lamella, which `rglob` does not follow."""
    for root in roots:
        path = ROOT / root
        yield from [path] if path.is_file() else path.rglob("*")


def in_code(text: str, file: str) -> Iterator[Mention]:
    """The mentions in strings: docstrings, programs for child processes and paths of `monkeypatch`."""
    if not DOTTED.search(IMPORT.sub("", text)):
        return  # most files name modules only where they import them, and compiling takes long
    for string in strings_in(compile(text, file, "exec", dont_inherit=True)):
        for name in DOTTED.findall(string):
            yield Mention(name, f"{file}:{text.count(chr(10), 0, text.find(name)) + 1}")


def strings_in(constant: object) -> Iterator[str]:
    """The strings among the constants of compiled code, which Python finds sooner than a walk through a
    syntax tree."""
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, CodeType):
        for inner in constant.co_consts:
            yield from strings_in(inner)
    elif isinstance(constant, (tuple, frozenset)):
        for inner in constant:
            yield from strings_in(inner)


def on_page(text: str, file: str) -> Iterator[Mention]:
    for number, line in enumerate(text.splitlines(), 1):
        for name in DOTTED.findall(line) + SLASHED.findall(line):
            yield Mention(name, f"{file}:{number}")


def is_python(path: Path) -> bool:
    if path.suffix or not path.is_file():
        return path.suffix in {".py", ".spec"}
    return path.read_bytes().startswith(b"#!/usr/bin/env python3")


def mentions() -> Iterator[Mention]:
    for path in files(CODE):
        if is_python(path) and not path.samefile(__file__):
            yield from in_code(path.read_text("utf8"), str(path.relative_to(ROOT)))
    for path in files(PAGES):
        if path.suffix in {".md", ".toml"}:
            yield from on_page(path.read_text("utf8"), str(path.relative_to(ROOT)))


def short_names() -> Iterator[Mention]:
    for path in files((*CODE, *PAGES)):
        if path.suffix in {".py", ".md"} and not path.samefile(__file__):
            file = str(path.relative_to(ROOT))
            for number, line in enumerate(path.read_text("utf8").splitlines(), 1):
                yield from short_in(line, f"{file}:{number}")


def short_in(line: str, place: str) -> Iterator[Mention]:
    for owner, name in SHORT.findall(line):
        if owner not in EXAMPLES | LIBRARIES | {*ROOMS, "tests"} and name not in SUFFIXES:
            yield Mention(f"{owner}.{name}", place)


@cache
def words_by_owner() -> dict[str, set[str]]:
    """The words of the code of modules, packages and classes, without docstrings; a class has its
    module's."""
    names: dict[str, set[str]] = defaultdict(set)
    for path in (path for path in files((*ROOMS, "tests")) if path.suffix == ".py"):
        text = DOCSTRING.sub("", path.read_text("utf8"))
        words = set(re.findall(r"\w+", text))
        name = path.parent.name if path.name == "__init__.py" else path.stem
        names[path.parent.name].add(name)
        for owner in (name, *re.findall(r"^class (\w+)", text, re.MULTILINE)):
            names[owner] |= words
    return names


def wrong_short(found: Iterable[Mention]) -> list[str]:
    owners = words_by_owner()
    parts = ((mention, *mention.name.split(".")) for mention in found)
    return [f"{at.name} in {at.place}" for at, owner, name in parts if name not in owners[owner]]


def exists(name: str) -> bool:
    if "/" in name:
        return any((ROOT / each).exists() for each in (name, f"{name}.py"))
    module = name.replace(":", ".")
    if not module.startswith(("lamella.", "tests.")):
        module = f"lamella.{module}"
    inside: list[str] = []
    while not is_module(module):
        module, _, last = module.rpartition(".")
        inside.insert(0, last)
    thing: object = importlib.import_module(module) if inside else None
    for attribute in inside:
        if attribute in getattr(thing, "__annotations__", ()):
            return attribute == inside[-1]  # a field of a dataclass, which the class itself may lack
        if not hasattr(thing, attribute):
            return False
        thing = getattr(thing, attribute)
    return True


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # it would be inside a module that is no package
        return False


def wrong(found: Iterable[Mention]) -> list[str]:
    places = defaultdict(list)
    for mention in found:
        places[mention.name].append(mention.place)
    return [
        f"{name} in {', '.join(places[name])}"
        for name in sorted(places)
        if name not in NO_MODULES and not exists(name)
    ]


def test_modules_named_in_strings_and_on_pages_exist():
    actual = list(mentions())
    names = {mention.name for mention in actual}
    assert not wrong(actual)
    assert len(names) > 150, "the search itself finds too few"
    assert NO_MODULES.keys() - names == set(), "exceptions that nothing needs"


def test_short_names_in_docstrings_and_on_pages_exist():
    actual = list(short_names())
    assert not wrong_short(actual)
    assert len(actual) > 60, "the search itself finds too few"


@pytest.mark.parametrize(
    "text", ["`footers.unchanged`", "`parquet_file.changed_not`", "`Table.updates(rows)`"]
)
def test_a_wrong_short_name_is_seen(text):
    assert len(wrong_short(short_in(text, "planted.md"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        'setattr("lamella.core.errors.BadDatum", 1)',
        '"""Like `core.erors`."""',
        'call([python, "-m", "lamella.core.nothing"])',
        'program = "from lamella.core.store.table import Table; import lamella.core.stores"',
        'f"{room}: lamella.ui.nothing"',
    ],
)
def test_a_wrong_name_in_a_string_is_seen(line):
    assert len(wrong(in_code(line, "planted.py"))) == 1


@pytest.mark.parametrize("text", ["`core/erors.py`", "`core.erors`", 'main = "lamella.app.__main__:start"'])
def test_a_wrong_name_on_a_page_is_seen(text):
    assert len(wrong(on_page(text, "planted.md"))) == 1


def test_names_of_what_is_there_are_not_wrong():
    text = (
        "`core/errors`, `core/errors.py`, `core.errors.BadData`, `lamella.app.__main__:main`, `lamella.col`"
    )
    actual = [*on_page(text, "page.md"), *in_code('"core.scan.snapshot.Column.name"', "code.py")]
    assert len(actual) == 6 and not wrong(actual)


def test_what_the_tables_of_the_benchmark_name_exists():
    assert all(WORKLOADS[name].id for name in WORKLOADS)
    for family in FAMILIES.values():
        assert family.cycle and (family.answers is None or family.answer_function)
        assert family.prepares is None or load_place(f"lamella.core.bench.{family.prepares}")
        for system, place in family.places.items():
            assert ENTRIES[system].missing or load_place(place)
    for place in worker.PLACES.values():
        assert load_place(f"lamella.core.bench.plain.{place}")


def modules_of(room: str) -> set[str]:
    """The modules and folders of a room that have names of their own."""
    paths = [path for path in (ROOT / room).iterdir() if not path.name.startswith("_")]
    return {path.stem for path in paths if path.is_dir() or path.suffix == ".py"}


def rooms_of_the_map() -> dict[str, list[str]]:
    """For each room in "Where things are", the modules and folders that are named there."""
    block = (ROOT / "ARCHITECTURE.md").read_text("utf8").partition("## Where things are")[2].split("```")[1]
    lines = re.sub(r"\n +", " ", block).strip().splitlines()
    places = (line.partition(" ") for line in lines)
    return {room: re.sub(r"\([^)]*\)|/", "", names).split() for room, _, names in places}


def test_the_map_has_every_room_of_core():
    assert {f"core/{path.name}" for path in (ROOT / "core").iterdir() if (path / "__init__.py").exists()} <= (
        rooms_of_the_map().keys()
    )


@pytest.mark.parametrize("room", rooms_of_the_map())
def test_the_map_names_each_module_of_a_room_once(room):
    assert sorted(rooms_of_the_map()[room]) == sorted(modules_of(room))
