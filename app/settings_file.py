"""Settings and state as JSON files in the user's config folder, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lamella.app import paths
from lamella.app.settings import Settings
from lamella.core.errors import FileProblem

Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Sequence[Migration] = ()  # the first brings version 1 to version 2, and so on
VERSION = 1 + len(MIGRATIONS)
KEPT_BESIDE = ".unreadable"
DEFAULTS_USED = "The defaults are used; mend or remove the file"


def settings_path() -> Path:
    return paths.config_folder() / "settings.json"


def load(path: Path) -> tuple[Settings, list[FileProblem]]:
    """The settings, and everything in the file that could not be followed; defaults stand in for it."""
    settings = Settings()
    try:
        items = read_object(path)
        version = items.pop("version", VERSION)
        items = migrate(items, version, path)
    except FileProblem as unreadable:
        return settings, [unreadable]
    return settings, [
        FileProblem(path, problem.what, problem.why, f"{problem.fix}. Until then it is not used")
        for problem in settings.take(items.items())
    ]


def save(settings: Settings, path: Path) -> None:
    """A file that could not be read is kept beside the new one rather than written over."""
    keep_unreadable(path)
    write_object(path, {"version": VERSION, **settings.values, **settings.unknown})


def migrate(
    items: dict[str, Any], version: Any, path: Path, steps: Sequence[Migration] = MIGRATIONS
) -> dict[str, Any]:
    """Bring what an earlier version wrote up to date, step by step."""
    newest = 1 + len(steps)
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise FileProblem(
            path,
            f"has settings of version {version!r}",
            f"This program knows versions 1 to {newest}",
            "The defaults are used; update Lamella or remove the file",
        )
    for step in steps[version - 1 :]:
        items = step(items)
    return items


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no file."""
    try:
        found = json.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FileProblem(path, "cannot be read", error.strerror or str(error), DEFAULTS_USED) from error
    except ValueError as error:
        raise FileProblem(path, "is not JSON", str(error), DEFAULTS_USED) from error
    if not isinstance(found, dict):
        raise FileProblem(path, "is not a JSON object", fix=DEFAULTS_USED)
    return found


def keep_unreadable(path: Path) -> None:
    try:
        version = read_object(path).get("version", VERSION)
        readable = isinstance(version, int) and 1 <= version <= VERSION
    except FileProblem:
        readable = False
    if not readable:
        path.replace(path.with_name(path.name + KEPT_BESIDE))


def write_object(path: Path, item: dict[str, Any]) -> None:
    staged = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        staged.write_text(json.dumps(item, indent=2) + "\n", encoding="utf8")
        staged.replace(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise FileProblem(path, "cannot be written", why, "Free some space or allow writing") from error
