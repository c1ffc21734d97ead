"""The files opened last, newest first: state, kept apart from settings."""

from __future__ import annotations

import logging
from pathlib import Path

from app import paths, settings_file
from core.errors import FileProblem

LIMIT = 20
log = logging.getLogger(__name__)


def _path() -> Path:
    return paths.config_folder() / "recent.json"


def load() -> list[Path]:
    """A list that cannot be read is lost without harm: it is logged, and starts anew."""
    try:
        items = settings_file.read_object(_path()).get("files", [])
    except FileProblem as problem:
        log.warning("%s", problem)
        return []
    return [Path(item) for item in items if isinstance(item, str)] if isinstance(items, list) else []


def remember(path: Path) -> list[Path]:
    """Put `path` first and return the list."""
    path = path.absolute()
    files = [path, *(other for other in load() if other != path)][:LIMIT]
    settings_file.write_object(_path(), {"files": [str(file) for file in files]})
    return files
