"""The folders of the user's data, settings and logs. LAMELLA_HOME moves all of them into one folder.

`core` manages the caches of text files, which follow LAMELLA_HOME as well.
"""

from __future__ import annotations

import os
from pathlib import Path

from lamella.core.errors import FileProblem

NAME = "Lamella"
DEFAULT_STORE = "My tables"
SAMPLE_STORE = "sample"


def _place(kind: str) -> Path:
    home = os.environ.get("LAMELLA_HOME")
    return Path(home).absolute() / kind if home else _system_folder(kind)


def _folder(kind: str) -> Path:
    folder = _place(kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        way_out = "Set LAMELLA_HOME to a folder you can write to"
        raise FileProblem(folder, "cannot be created", why, way_out) from error
    return folder


def _system_folder(kind: str) -> Path:
    import platformdirs

    places = platformdirs.PlatformDirs(NAME, appauthor=False)
    return Path(getattr(places, f"user_{kind}_dir"))


def data_folder() -> Path:
    return _folder("data")


def config_folder() -> Path:
    return _folder_if_possible("config")


def log_folder() -> Path:
    return _folder_if_possible("log")


def _folder_if_possible(kind: str) -> Path:
    """The folder, created if possible. The program works without it; writing there reports the problem."""
    try:
        return _folder(kind)
    except FileProblem:
        return _place(kind)


def is_remembered() -> bool:
    """Whether settings, recent files and the log can be written."""
    return all(os.access(folder, os.W_OK) for folder in (config_folder(), log_folder()))


def default_store() -> Path:
    """The store that tables go to by default."""
    return data_folder() / DEFAULT_STORE


def saved_runs() -> Path:
    """The file of saved benchmark runs."""
    return data_folder() / "races.sqlite"


def saved_views() -> Path:
    """The file of saved views of files (a store saves its own). Its folder is created with the first view."""
    return _place("data") / "views.json"


def sample_store() -> Path:
    return data_folder() / SAMPLE_STORE
