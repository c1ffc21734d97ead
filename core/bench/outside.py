"""Databases that a server keeps for a race: each is noted in the race's folder, and goes with it.

A child process that is killed drops nothing; whoever removes its folder does.
"""

from __future__ import annotations

import shutil
from pathlib import Path

NOTE = "mongodb-database"


def remove(folder: Path, ignore_errors: bool = False) -> None:
    """The folder, and the databases that are noted anywhere in it."""
    for note in folder.rglob(NOTE):
        from lamella.core.bench import mongo

        mongo.drop(note.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=ignore_errors)
