"""The form of the product's code in figures, beside the goals that were set for it.

    python -m tests.house

Files, lines and imports are those of `app`, `core`, `ui` and `resources`. A circle is a set of modules that
import each other, also inside functions and for type checking alone. A walk is the modules that a piece of
work calls.
"""

from __future__ import annotations

import ast
import io
import os
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import grimp
import networkx

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("app", "core", "ui", "resources")
LONGEST = 600
WALKS = "tests/ui/window/test_walks.py"


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def import_lines(tree: ast.Module) -> int:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def comment_lines(text: str) -> int:
    return sum(
        token.type == tokenize.COMMENT for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def imports() -> networkx.DiGraph[str]:
    known = grimp.build_graph("lamella", cache_dir=None)
    graph = networkx.DiGraph()
    for module in known.modules:
        for imported in known.find_modules_directly_imported_by(module):
            if imported != "lamella":
                graph.add_edge(module, imported)
    return graph


def circles(graph: networkx.DiGraph[str]) -> list[list[str]]:
    return sorted((sorted(c) for c in networkx.strongly_connected_components(graph) if len(c) > 1), key=len)


def single_importers(graph: networkx.DiGraph[str]) -> int:
    packages = {module.rpartition(".")[0] for module in graph}
    return sum(graph.in_degree(module) == 1 for module in graph if module not in packages)


def walks() -> dict[str, int]:
    """The number of files in each walk, as its test prints it."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", WALKS]
    where = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
    result = subprocess.run(command, cwd=ROOT, env=where, capture_output=True, text=True, check=True)
    return {name: int(count) for name, count in re.findall(r"walk: (.+): (\d+) files", result.stdout)}


def main() -> None:
    texts = {path: path.read_text(encoding="utf8") for path in sources()}
    lines = {path: text.count("\n") for path, text in texts.items()}
    total = sum(lines.values())
    imported = sum(import_lines(ast.parse(text)) for text in texts.values())
    graph = imports()
    rooms = Counter(path.relative_to(ROOT).parts[0] for path in texts)
    modules = [count for path, count in lines.items() if path.name != "__init__.py"]
    rows = [
        ("files", f"{len(texts)} ({', '.join(f'{room} {count}' for room, count in rooms.items())})", "≤ 320"),
        ("lines", f"{total:,}", "≤ 66,000"),
        ("median file", f"{statistics.median(modules):.0f}", "150–300"),
        (f"files over {LONGEST} lines", str(sum(count > LONGEST for count in modules)), "0"),
        ("files with a single importer", str(single_importers(graph)), "≤ 60"),
        ("lines that are imports", f"{imported / total:.1%}", "≤ 6%"),
        ("comments", f"{sum(map(comment_lines, texts.values())) / total:.1%}", "where a line surprises"),
        ("import circles", "; ".join(str(len(c)) for c in circles(graph)) or "none", "none"),
        *((f"walk: {name}", f"{count} files", "≤ 35") for name, count in walks().items()),
    ]
    for name, figure, goal in rows:
        print(f"{name:38} {figure:44} {goal}")
    for circle in circles(graph):
        print("circle:", *circle)


if __name__ == "__main__":
    main()
