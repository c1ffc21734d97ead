"""`lamella bench --list`: what can be raced here."""

from __future__ import annotations

from core.bench.backends import ENTRIES
from core.bench.choice import ready
from core.bench.workloads import GROUPS, WORKLOADS, Workload


def show() -> int:
    print("Workloads:")
    for workload in WORKLOADS.values():
        print(f"  {workload.id:26}{workload.about}")
        print(f"  {'':26}{_sizes(workload)}")
        print(f"  {'':26}Ready for it: {' '.join(entry.id for entry in ready(workload))}")
    print("\nGroups:")
    for name, members in GROUPS.items():
        print(f"  {name:26}{' '.join(members)}")
    print(f"  {'all':26}every workload")
    print("\nSystems:")
    for entry in ENTRIES.values():
        print(f"  {entry.id:26}{entry.title}. {entry.missing or 'Ready.'}")
    return 0


def _sizes(workload: Workload) -> str:
    scales = {
        "rows": workload.default_rows,
        "small": workload.small_rows,
        "published": workload.published_rows,
    }
    told = [f"{name} {', '.join(f'{rows:,}' for rows in sizes)}" for name, sizes in scales.items() if sizes]
    return f"Sizes: {'; '.join(told)}."
