"""The program remembers files, layouts and the window's shape from one start to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella.app import settings as settings_file
from lamella.app.memory import (
    LONGEST_LAYOUT,
    LONGEST_LAYOUTS,
    MOST_LAYOUTS,
    MOST_RECENT,
    Layouts,
    Memory,
    State,
    layouts_path,
    state_path,
)
from lamella.core.settings import Settings


def memory(trouble=None) -> Memory:
    settings, problems = settings_file.load(settings_file.settings_path())
    assert problems == []
    return Memory(settings, State(), trouble or pytest.fail)


def test_the_next_start_finds_what_was_left():
    first = memory()
    first.theme, first.text_scale = "dark", 1.3
    first.save_geometry(b"\x00\x01\xff")
    first.remember(Path("/data/a.csv"))
    first.save_layout(("a.csv",), {"pinned": ["x"]})
    second = memory()
    assert (second.theme, second.text_scale, second.geometry) == ("dark", 1.3, b"\x00\x01\xff")
    assert second.recent == [Path("/data/a.csv")] and second.layout(("a.csv",)) == {"pinned": ["x"]}


def test_the_first_start_has_defaults():
    actual = memory()
    assert (actual.theme, actual.text_scale, actual.geometry, actual.recent) == ("system", 1.0, b"", [])


def test_recent_files_are_newest_first_without_repeats():
    state = State()
    for name in ("a", "b", "a"):
        state.remember(Path("/data") / name)
    assert State().recent == state.recent == [Path("/data/a"), Path("/data/b")]


def test_only_the_last_files_are_remembered():
    state = State()
    for number in range(MOST_RECENT + 5):
        state.remember(Path(f"/data/{number}"))
    assert len(state.recent) == MOST_RECENT and state.recent[0] == Path(f"/data/{MOST_RECENT + 4}")


def test_two_windows_do_not_forget_for_each_other():
    first, second = State(), State()
    first.remember(Path("/data/a"))
    second.save_geometry(b"g")
    second.remember(Path("/data/b"))
    assert State().recent == [Path("/data/b"), Path("/data/a")] and State().geometry == b"g"


@pytest.mark.parametrize("content", ["{", "[]", '{"recent": 1, "geometry": 2}', '{"geometry": "?"}'])
def test_a_broken_state_starts_anew(content):
    state_path().write_text(content)
    assert State().recent == [] and State().geometry == b""


def test_an_unreadable_state_is_logged(caplog):
    state_path().write_text("{")
    assert State().recent == []
    assert "state.json" in caplog.text


def test_what_cannot_be_written_is_told_and_holds_until_the_end(lamella_home):
    problems = []
    state = memory(problems.append)
    (lamella_home / "config").rmdir()
    (lamella_home / "config").write_text("")
    state.theme = "dark"
    assert state.theme == "dark" and len(problems) == 1
    assert str(lamella_home / "config") in str(problems[0])
    state.remember(Path("/data/a.csv"))
    assert state.recent == [Path("/data/a.csv")] and len(problems) == 1


def test_setting_what_is_already_so_writes_nothing():
    memory().theme = Settings()["theme"]
    assert not settings_file.settings_path().exists()


def test_layouts_are_kept_by_dataset_the_newest_last(lamella_home: Path) -> None:
    layouts = Layouts(layouts_path())
    assert layouts.get(("a.csv",)) == {}
    layouts.save(("a.csv",), {"widths": {"x": 100}})
    layouts.save(("store", "t"), {"hidden": ["y"]})
    layouts.save(("a.csv",), {"pinned": ["é"]})
    again = Layouts(layouts_path())
    assert again.get(("a.csv",)) == {"pinned": ["é"]} and again.get(("store", "t")) == {"hidden": ["y"]}
    assert again.get(("store",)) == {}
    again.save(("a.csv",), {})
    assert Layouts(layouts_path()).get(("a.csv",)) == {} and "a.csv" not in layouts_path().read_text()


@pytest.mark.slow
def test_layouts_are_bounded(lamella_home: Path) -> None:
    layouts = Layouts(layouts_path())
    for number in range(MOST_LAYOUTS + 5):
        layouts.save((str(number),), {"hidden": ["x"]})
    assert layouts.get(("4",)) == {} and layouts.get(("5",)) == {"hidden": ["x"]}
    layouts.save(("huge",), {"hidden": ["x" * LONGEST_LAYOUT]})
    assert layouts.get(("huge",)) == {}
    for number in range(12):
        layouts.save((f"large {number}",), {"hidden": ["x" * (LONGEST_LAYOUT - 100)]})
    assert layouts_path().stat().st_size < 1.2 * LONGEST_LAYOUTS
    assert layouts.get(("large 11",)) and not layouts.get(("large 0",))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"layouts": 3}', '{"layouts": [1, {"key": "a", "layout": []}]}']
)
def test_layouts_that_cannot_be_read_are_begun_anew(lamella_home: Path, text: str) -> None:
    layouts_path().parent.mkdir(parents=True, exist_ok=True)
    layouts_path().write_text(text)
    layouts = Layouts(layouts_path())
    assert layouts.get(("a",)) == {}
    layouts.save(("a",), {"hidden": ["x"]})
    assert layouts.get(("a",)) == {"hidden": ["x"]}
