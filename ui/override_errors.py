"""Keeps an exception in an overridden Qt method from ending the program, under Python 3.11.

When Python calls Qt, and Qt calls an overridden method, PySide stores an exception that the method raises,
and raises it again where Python called Qt. Before Python 3.12, an exception from C code, such as an
`IndexError` of a list, may be stored as its message alone. PySide takes the message for the exception, and
crashes. An exception that has passed an `except` clause is always complete.

Also refuses to create a class on a thread other than the GUI thread, which could crash the program at any
later moment: before Python 3.12 PySide keeps the data of its classes in one hash map, and Qt reads that map
without holding the interpreter's lock.
"""

from __future__ import annotations

import functools
import sys
import threading
from types import FunctionType
from typing import Any

from shiboken6 import Shiboken

OVERRIDES = frozenset(
    [
        "blockBoundingRect", "boundingRect", "canFetchMore", "columnCount", "createEditor", "data",
        "drawPicture", "event", "eventFilter", "expandingDirections", "fetchMore", "flags",
        "hasHeightForWidth", "headerData", "heightForWidth", "highlightBlock", "index",
        "initStyleOption", "itemChange", "lessThan", "minimumSizeHint", "paint", "paintSection",
        "parent", "retrieveData", "rowCount", "scrollContentsBy", "sectionSizeFromContents", "setData",
        "setEditorData", "setModelData", "sizeHint", "sizeHintForColumn", "updateEditorGeometry",
        "updateGeometries", "validate", "visualRect",
    ]
)  # fmt: skip
"""The overridden methods besides those whose names end in `Event`. None of them is a slot: PySide counts the
arguments of slots."""


def complete_exceptions() -> None:
    """Wrap the overridden methods of all classes that are derived from Qt's from now on. Call on the GUI
    thread; creating such a class on another thread raises `RuntimeError`."""
    if sys.version_info < (3, 12):
        Shiboken.Object.__init_subclass__ = classmethod(_wrap_overrides)  # type: ignore[method-assign, assignment] # Qt is patched


def _wrap_overrides(cls: type[Shiboken.Object], /, **options: Any) -> None:
    super(Shiboken.Object, cls).__init_subclass__(**options)
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            f"{cls.__module__}.{cls.__qualname__} is derived from a class of Qt, so its module must be"
            f" imported on the GUI thread, not on the thread {threading.current_thread().name!r}"
        )
    for name, method in list(vars(cls).items()):
        is_override = name in OVERRIDES or name.endswith("Event")
        if is_override and isinstance(method, FunctionType):
            setattr(cls, name, _completing(method))


def _completing(method: FunctionType) -> Any:
    @functools.wraps(method)
    def override(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except BaseException:
            raise

    return override
