"""What files are, told cheaply: by a few bytes of each and nothing more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lamella.core.datasets.formats import common_format, data_files
from lamella.core.datasets.locate import locate
from lamella.core.errors import FileProblem


@dataclass(frozen=True)
class Kind:
    """`label` says what can be opened; `problem` why it cannot."""

    path: Path
    label: str = ""
    files: int = 1
    problem: FileProblem | None = None


def kind_of(path: Path) -> Kind:
    """A file, or a folder by the first of its data files."""
    try:
        found = data_files(locate(path))
        return Kind(path, common_format(found).label, len(found.files))
    except FileProblem as problem:
        return Kind(path, problem=problem)


def sentence(kinds: Sequence[Kind]) -> str:
    """`2 Parquet files, a folder of 12 Parquet files; notes.pdf cannot be opened`."""
    good = [kind for kind in kinds if kind.problem is None]
    files = Counter(kind.label for kind in good if not kind.path.is_dir())
    parts = [f"{_number(count)} {label} file{'' if count == 1 else 's'}" for label, count in files.items()]
    parts += [
        f"a folder of {k.files:,} {k.label} file{'' if k.files == 1 else 's'}"
        for k in good
        if k.path.is_dir()
    ]
    bad = [kind.path.name for kind in kinds if kind.problem is not None]
    refused = f"{_listed(bad)} cannot be opened" if bad else ""
    told = "; ".join(part for part in (", ".join(parts), refused) if part)
    return told[:1].upper() + told[1:]


def _number(count: int) -> str:
    return "one" if count == 1 else f"{count:,}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
