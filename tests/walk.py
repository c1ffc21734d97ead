"""Records the modules that a piece of work goes through, in order."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("app", "core", "ui", "resources")


class Walk:
    """Functions called on any thread between `begin` and `end`. Make it before the threads are started."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._known: dict[CodeType, str | None] = {}
        self._recording = False

    def begin(self) -> None:
        self.modules.clear()
        self._known.clear()
        self._recording = True

    def end(self) -> list[str]:
        """A module for each run of calls within it, so the same one may come several times."""
        self._recording = False
        return list(self.modules)

    @property
    def functions(self) -> list[str]:
        """`core.store.table.Table.update`, each once, in the order of the first calls."""
        known = list(self._known.items())  # another thread may still note its last call
        return [f"{module}.{code.co_qualname}" for code, module in known if module is not None]

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if self._recording and event == "call":
            code = frame.f_code
            if code not in self._known:
                self._known[code] = module_of(code)
            name = self._known[code]
            if name is not None and self.modules[-1:] != [name]:
                self.modules.append(name)

    @contextmanager
    def installed(self) -> Iterator[Walk]:
        sys.setprofile(self._note)
        threading.setprofile(self._note)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


def module_of(code: CodeType) -> str | None:
    """`core.store.table` for the code of a function there; None for other code, and for a module's own."""
    path = Path(code.co_filename).resolve()
    if code.co_name == "<module>" or not path.is_relative_to(ROOT):
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__") if parts[0] in ROOMS else None
