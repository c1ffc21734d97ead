"""`lamella bench --list`: what can be measured here."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Collection

from lamella.core.bench.engine.choice import ready_systems
from lamella.core.bench.registry import ENTRIES, GROUPS, WORKLOADS, unready
from lamella.core.bench.workloads.model import Workload

WIDTH = 100
"""Where there is no terminal that says how wide it is."""


def show() -> int:
    reasons = unready()
    print("Workloads:")
    for workload in WORKLOADS.values():
        print(f"  {workload.id}")
        for about in (workload.about, _sizes(workload), _ready(workload, reasons)):
            print(_folded(about, "    "))
    print("\nGroups:")
    for name, members in (*GROUPS.items(), ("all", ("every workload",))):
        print(_folded(" ".join(members), f"  {name:26}"))
    print("\nSystems:")
    for entry in ENTRIES.values():  # a command to install one stays on one line, to be copied
        print(f"  {entry.id:26}{entry.title}. {reasons.get(entry.id, 'Ready.')}")
    return 0


def _sizes(workload: Workload) -> str:
    scales = {
        "rows": workload.default_rows,
        "small": workload.small_rows,
        "published": workload.published_rows,
    }
    told = [f"{name} {', '.join(f'{rows:,}' for rows in sizes)}" for name, sizes in scales.items() if sizes]
    return f"Sizes: {'; '.join(told)}."


def _ready(workload: Workload, reasons: Collection[str]) -> str:
    return f"Ready for it: {' '.join(entry.id for entry in ready_systems(workload, reasons))}"


def _folded(text: str, first: str) -> str:
    """In lines of the terminal, all of them behind the first; names are not cut at their hyphens."""
    return textwrap.fill(
        text,
        shutil.get_terminal_size((WIDTH, 0)).columns,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
