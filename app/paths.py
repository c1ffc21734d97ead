"""Where the user's data, settings, cache and logs are. LAMELLA_HOME moves all of them into one folder."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import FileProblem

NAME = "Lamella"
DEFAULT_STORE = "My tables"
SAMPLE_STORE = "sample"


def _folder(kind: str) -> Path:
    home = os.environ.get("LAMELLA_HOME")
    folder = Path(home).absolute() / kind if home else _system_folder(kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        way_out = "Set LAMELLA_HOME to a folder you may write to"
        raise FileProblem(folder, "cannot be made", why, way_out) from error
    return folder


def _system_folder(kind: str) -> Path:
    import platformdirs

    places = platformdirs.PlatformDirs(NAME, appauthor=False)
    return Path(getattr(places, f"user_{kind}_dir"))


def data_folder() -> Path:
    return _folder("data")


def config_folder() -> Path:
    return _folder("config")


def cache_folder() -> Path:
    """What can be made again: the columnar caches of text files, above all."""
    return _folder("cache")


def log_folder() -> Path:
    return _folder("log")


def default_store() -> Path:
    """Where tables go when nobody says where."""
    return data_folder() / DEFAULT_STORE


def sample_store() -> Path:
    return data_folder() / SAMPLE_STORE
