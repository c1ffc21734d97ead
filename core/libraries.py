"""Libraries that are slow to import, each loaded when it is first used.

DuckDB and sqlglot took a quarter of the time from the command to the window, and neither the window nor the
first page of a Parquet file needs them.
"""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = [
    "duckdb",
    "exp",
    "install_command",
    "load",
    "main_module_as_file",
    "qualifying",
    "scopes",
    "sqlglot",
]

if TYPE_CHECKING:
    import duckdb
    import sqlglot
    from sqlglot import exp
    from sqlglot.optimizer import qualify as qualifying
    from sqlglot.optimizer import scope as scopes

_lock = RLock()
logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # otherwise its warnings go to standard error


class _Library:
    """A stand-in for a module. After its first use, an attribute costs no more than in the module itself.

    One thread imports at a time: the modules of sqlglot import each other, some of them late, and two threads
    that start at different modules could deadlock.
    """

    def __init__(self, name: str, *before: str) -> None:
        self._module_name, self._before = name, before

    def __getattr__(self, name: str) -> Any:
        with _lock:
            for module in self._before:
                import_module(module)
            value = getattr(import_module(self._module_name), name)
        self.__dict__[name] = value
        return value


_DUCKDB, _SQLGLOT, _DIALECT = "duckdb", "sqlglot", "sqlglot.dialects.duckdb"
if not TYPE_CHECKING:
    duckdb = _Library(_DUCKDB)
    sqlglot = _Library(_SQLGLOT, _SQLGLOT, _DIALECT)
    exp = _Library("sqlglot.expressions", _SQLGLOT, _DIALECT)
    qualifying = _Library("sqlglot.optimizer.qualify", _SQLGLOT, _DIALECT)
    scopes = _Library("sqlglot.optimizer.scope", _SQLGLOT, _DIALECT)


def load() -> None:
    """Import all of them. Blocks for 0.1 s, on any thread."""
    with _lock:
        for name in (_DUCKDB, _SQLGLOT, _DIALECT):
            import_module(name)


@contextmanager
def main_module_as_file() -> Iterator[None]:
    """Give the main module a file for the block, which imports pyspark: pyspark 4.2 takes a program without a
    file, such as `python -c`, for a run of its own doctests, and ends it."""
    main = sys.modules["__main__"]
    has_file = hasattr(main, "__file__")
    if not has_file:
        main.__file__ = ""
    try:
        yield
    finally:
        if not has_file:
            del main.__file__


def install_command(packages: Sequence[str], use: str = "start Lamella there") -> str:
    """Return what to do to install these packages. `use` completes the advice if the program has no Python of
    its own to install them into."""
    if getattr(sys, "frozen", False):
        wheel = f"pip install lamella-VERSION-py3-none-any.whl {shlex.join(packages)}"
        return (
            "Packages cannot be added to the installed program, but to a Python of your own: there, run "
            f"{wheel}, then {use}"
        )
    return f"Run: {shlex.join([sys.executable, '-m', 'pip', 'install', *packages])}"
