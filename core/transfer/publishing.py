"""Files and folders that appear when they are whole, or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamella.core.errors import FileProblem


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """A path beside `target` to write a file or a folder at; it takes the target's place at the block's end.

    An error leaves the target as it was. Raises `FileProblem` where it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        try:
            yield draft
            _replace(draft, target)
        finally:
            _remove(draft)  # a read-only disk refuses even to remove what is not there
    except OSError as error:
        raise FileProblem(
            target, "could not be written", error.strerror or str(error), "Choose another folder or make room"
        ) from error


def refuse_special(target: Path) -> None:
    """Raise `FileProblem` for what is neither a file nor a folder: it would be a file afterwards."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise FileProblem(
            target, "is not a file", "It is a device, a pipe or a socket", "Choose another name"
        )


def _replace(draft: Path, target: Path) -> None:
    if not target.is_dir():
        draft.replace(target)
        return
    old = target.with_name(f"{draft.name}.old")
    target.replace(old)
    try:
        draft.replace(target)
    except OSError:
        old.replace(target)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
