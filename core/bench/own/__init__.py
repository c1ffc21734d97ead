"""A race that somebody wrote: one Python file with its data, its systems and what they are asked.

`SYSTEMS` of the family is empty: the file brings its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from lamella.core.bench.own.file import OwnFileProblem, is_own, load_file, system_names

SYSTEMS: Mapping[str, str] = {}

__all__ = ["SYSTEMS", "OwnFileProblem", "is_own", "load_file", "system_names"]
