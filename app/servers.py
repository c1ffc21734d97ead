"""The servers that a benchmark may ask, as the settings say."""

from __future__ import annotations

import os

from lamella.app.settings import Settings

MONGODB_URI = "LAMELLA_MONGODB_URI"
"""What the engine reads it from."""


def apply(settings: Settings) -> None:
    """For this process and those it starts. What the environment says already is left as it is."""
    os.environ.setdefault(MONGODB_URI, settings["mongodb_uri"])


def use(uri: str) -> None:
    """Another server, for what is started from now on."""
    os.environ[MONGODB_URI] = uri
