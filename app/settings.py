"""Reads, writes and applies the settings file; `lamella.core.settings` has the table of settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lamella.app import paths
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.settings import BY_NAME, SETTINGS, BadSetting, Origin, Settings, setting_named

Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Sequence[Migration] = ()  # the first converts version 1 to version 2, and so on
VERSION = 1 + len(MIGRATIONS)
KEPT_BESIDE = ".unreadable"
WRITABLE = "Free some space, make it writable, or set LAMELLA_HOME to another folder"
DEFAULTS_USED = "The defaults are used; fix or remove the file"


def settings_path() -> Path:
    return paths.config_folder() / "settings.json"


def load(path: Path) -> tuple[Settings, list[FileProblem]]:
    """The settings, and the problems in their file. Settings with problems have their defaults."""
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


def take_environment(settings: Settings, environment: Mapping[str, str]) -> list[LamellaError]:
    """Take settings from the environment, for this run. Values that do not fit are ignored and returned as
    errors."""
    problems: list[LamellaError] = []
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        if text and text != _exported_variables.get(setting.variable):
            try:
                settings.override(Origin.ENVIRONMENT, setting.name, text)
            except BadSetting as problem:
                where = f"It comes from the environment variable {setting.variable}"
                problems.append(BadSetting(problem.what, where, problem.fix))
    return problems


def take_command_line(settings: Settings, words: Sequence[str]) -> None:
    """Take settings written `NAME=VALUE`, for this run. Raises UnknownSetting and BadSetting."""
    for word in words:
        name, sign, text = word.partition("=")
        if not sign:
            raise BadSetting(f"{word!r} sets nothing", fix="Write NAME=VALUE, such as theme=dark")
        settings.override(Origin.COMMAND_LINE, name.strip(), text)


def save(settings: Settings, path: Path) -> None:
    """Save the settings. A file that cannot be read is renamed first, and one written by a newer program is
    left unchanged. Raises FileProblem if nothing was saved."""
    keep_unreadable(path)
    write_object(path, {"version": VERSION, **settings.values, **settings.unknown})


def migrate(
    items: dict[str, Any], version: Any, path: Path, steps: Sequence[Migration] = MIGRATIONS
) -> dict[str, Any]:
    """Convert the settings of an earlier version, step by step."""
    newest = 1 + len(steps)
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise FileProblem(
            path,
            f"has settings of version {version!r}",
            f"This program reads versions 1 to {newest}",
            "The defaults are used; update Lamella or remove the file",
        )
    for step in steps[version - 1 :]:
        items = step(items)
    return items


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FileProblem(path, "cannot be read", error.strerror or str(error), DEFAULTS_USED) from error
    except ValueError as error:
        raise FileProblem(path, "is not JSON", str(error), DEFAULTS_USED) from error
    if not isinstance(value, dict):
        raise FileProblem(path, "is not a JSON object", fix=DEFAULTS_USED)
    return value


def keep_unreadable(path: Path) -> None:
    try:
        version = read_object(path).get("version", VERSION)
        readable = isinstance(version, int) and version >= 1
    except FileProblem:
        version, readable = VERSION, False
    if readable and version > VERSION:
        raise FileProblem(
            path,
            "is left unchanged",
            "A newer Lamella wrote these settings",
            "Update Lamella, or remove the file",
        )
    try:
        if not readable:
            path.replace(path.with_name(path.name + KEPT_BESIDE))
    except OSError as error:
        raise _unwritten(path, error) from error


def write_object(path: Path, item: dict[str, Any]) -> None:
    staged = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(json.dumps(item, indent=2) + "\n", encoding="utf8")
        staged.replace(path)
    except OSError as error:
        with suppress(OSError):  # even a full disk may have room for the empty file
            staged.unlink(missing_ok=True)
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> FileProblem:
    return FileProblem(path, "cannot be written", error.strerror or str(error), WRITABLE)


MEGABYTE = 1 << 20


def apply_limits(settings: Settings) -> None:
    """Apply the limits of memory and rows. Defaults need no action, and do not load the libraries."""
    if settings["page_cache_mb"]:
        from lamella.core.scan import cache as caches

        caches.limit(settings["page_cache_mb"] * MEGABYTE)
    if settings["remote_cache_mb"] != setting_named("remote_cache_mb").default:
        from lamella.core.remote import cache as remote_cache

        remote_cache.limit(settings["remote_cache_mb"] * MEGABYTE)
    if settings["query_memory_mb"]:
        from lamella.core.query.engine import limit_memory

        limit_memory(settings["query_memory_mb"] * MEGABYTE)
    if settings["spark_rows"] != BY_NAME["spark_rows"].default:
        from lamella.core.query.spark import spill

        spill.limit_rows(settings["spark_rows"])


MONGODB_URI = "LAMELLA_MONGODB_URI"
"""The environment variable from which the benchmark's engine reads the server's address."""

_exported_variables: dict[str, str] = {}
"""The variables that this process has set in its own environment."""


def apply_servers(settings: Settings) -> None:
    """Set the servers for this process and its children, unless the environment already does."""
    if MONGODB_URI not in os.environ:
        use(settings["mongodb_uri"])


def use(uri: str) -> None:
    """Use another MongoDB server for processes started from now on."""
    os.environ[MONGODB_URI] = _exported_variables[MONGODB_URI] = uri
