"""What travels with the program: icons, sample data, published figures.

Found through `importlib.resources`, so alike from source, from a wheel and in a bundle.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

SAMPLE_TABLES = ("flights", "airlines", "airports", "planes", "weather")


def path(*parts: str) -> Path:
    """The file or folder `parts` below this package, on disk; `FileNotFoundError` when it is not there."""
    found = Path(str(files(__name__).joinpath(*parts)))
    if not found.exists():
        raise FileNotFoundError(f"The installation lacks {found}: install Lamella again.")
    return found


def docs() -> Path:
    """The folder of the documentation's pages; `FileNotFoundError` when it is not there."""
    found = Path(str(files("lamella").joinpath("docs")))
    if not found.is_dir():
        raise FileNotFoundError(f"The installation lacks {found}: install Lamella again.")
    return found


def sample(table: str) -> Path:
    """The Parquet file of one of `SAMPLE_TABLES`."""
    return path("sample", f"{table}.parquet")
