"""The page of results matches what the command writes from its results file, and is readable."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lamella.app.cli import command_parser
from lamella.core.bench.engine.protocol import WRONG, Failure
from lamella.core.bench.registry import WORKLOADS, workloads_named
from lamella.core.bench.results.results_file import read_results_file, write_results_file
from lamella.core.bench.results.run import SavedRun
from lamella.ui import theme
from tests.bench.example_records import BEGAN, record
from tests.bench.results_page import MOST_LINES, PAGE, PICTURES, PLAN, main, measure, page_text

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_the_page_of_results_is_made_of_its_results_file() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (file,) = set(re.findall(r"\]\((results/[^)]+\.results)\)", page))
    run = read_results_file(PAGE.parent / file)
    assert page == page_text(run, file, "results/plots")
    assert len(page.splitlines()) <= MOST_LINES
    measured = {sample.workload for sample in run.samples}
    assert {path.stem for path in PICTURES.iterdir()} == measured & set(WORKLOADS)
    for name in measured & set(WORKLOADS):
        assert f"### {WORKLOADS[name].title}\n" in page and f"(results/plots/{name}.svg)" in page


def test_the_page_counts_where_each_rival_alone_is_beaten() -> None:
    """Rivals in few workloads have no line, because their counts say little."""
    records = [
        replace(record(system, seconds, WORKLOADS[workload].operations[0].id, rows), workload=workload)
        for system, times in {"lamella": (0.1, 0.4), "sqlite": (0.3, 0.2)}.items()
        for workload in ("small", "update", "single", "partial", "needle", "scattered")
        for rows, seconds in zip((10, 1000), times, strict=True)
    ]
    few = [replace(sample, system="duckdb") for sample in records if sample.workload == "small"]
    run = SavedRun(BEGAN, "Six workloads", "lamella bench", 1.0, None, (*records, *few))
    text = page_text(run, "r.results", "plots")
    assert "Lamella is ahead of SQLite (synchronous off) in 0 of 6. These are" in text


@pytest.mark.usefixtures("qapp")
def test_a_results_file_becomes_a_page_with_pictures(tmp_path: Path) -> None:
    """Losses are listed beside wins; a wrong answer is red and has no time."""
    times = {"lamella": (0.1, 0.4), "sqlite": (0.3, 0.2), "duckdb": (0.5, 0.5), "csv": (0.9, 0.9)}
    records = [
        record(system, seconds + repeat / 1000, operation, rows, repeat)
        for system, pair in times.items()
        for operation, seconds in zip(("create", "read"), pair, strict=True)
        for rows in (10, 1000)
        for repeat in range(3)
    ]
    own = replace(record("lamella", 1.0), workload="own.py")
    wrong = Failure("small", "pyarrow", "read", 1000, 0, "9 rows instead of 10", kind=WRONG)
    run = SavedRun(BEGAN, "Two workloads", "lamella bench", 1.0, None, (*records, own), failures=(wrong,))
    file, page, pictures = tmp_path / "results" / "r.results", tmp_path / "page.md", tmp_path / "pictures"
    file.parent.mkdir()
    pictures.mkdir()
    (pictures / "of-earlier.svg").write_text("<svg/>")
    write_results_file(run, file)
    main([str(file), "--page", str(page), "--pictures", str(pictures)])
    text = page.read_text(encoding="utf-8")
    assert "**Of 4 measurements with other systems, Lamella is ahead in 2 and behind in 2.**" in text
    assert "fastest in 1 (Create 3.0 × SQLite); slower in 1 (Read 2.0 × SQLite)" in text
    assert "own.py" not in text and "(results/r.results)" in text
    assert [path.name for path in pictures.iterdir()] == ["small.svg"]
    drawing = ElementTree.parse(pictures / "small.svg")
    words = {"".join(element.itertext()).strip() for element in drawing.iter(f"{SVG}text")}
    assert {
        "Lamella",
        "SQLite",
        "DuckDB",
        "PyArrow",
        "Create",
        "Read",
        "▲ 3.0 × faster",
        "▼ 2.0 × slower",
    } <= words
    assert "✕ wrong answer" in words, words
    danger = theme.current().color("danger").name()
    assert [element for element in drawing.iter(f"{SVG}g") if element.get("stroke") == danger], (
        "the cross on the plot"
    )
    assert not list(drawing.iter(f"{SVG}image")), "sharp at any size"


@pytest.mark.slow
def test_what_is_measured_already_is_not_measured_again(tmp_path: Path) -> None:
    def part(number: int) -> Path:
        return tmp_path / f"new-{number}.part"

    earlier_run = SavedRun(
        BEGAN, "Needles", "lamella bench", 1.0, None, (replace(record("csv", 1.0), workload="needle"),)
    )
    write_results_file(earlier_run, part(1))
    line = "--workload floats --systems csv --rows 10 --repeats 1"
    measure(tmp_path / "new.results", ["--workload taxi", line])
    merged = read_results_file(tmp_path / "new.results")
    assert {(sample.workload, sample.system) for sample in merged.samples} == {
        ("needle", "csv"),
        ("floats", "csv"),
    }
    assert [path.name for path in tmp_path.iterdir()] == ["new.results"], "the parts are in it"


def test_every_workload_is_in_the_plan() -> None:
    lines = [command_parser("bench").parse_args(shlex.split(line)) for line in PLAN]
    sizes = [
        (workload.id, rows, line.interpreter)
        for line in lines
        for named in line.workload
        for workload in workloads_named(named)
        for rows in line.rows
    ]
    assert {name for name, _, _ in sizes} == set(WORKLOADS)
    assert len(sizes) == len(set(sizes)), "of a size that is measured twice only the last counts"
