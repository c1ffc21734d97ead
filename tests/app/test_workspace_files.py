"""Each window's state is written once, by one program at a time, and survives any end of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamella.app.workspace_files import WorkspaceFiles
from lamella.core.errors import FileProblem
from tests.mounts import filled, seen_read_only, small_disk

HOLDER = """
import sys
from pathlib import Path
from lamella.app.workspace_files import WorkspaceFiles

files = WorkspaceFiles(Path(sys.argv[1]))
files.add().save({"tabs": ["of another program"]}, 1)
print("saved", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "workspace")


@pytest.fixture
def other_program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", HOLDER, str(tmp_path / "workspace")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "saved\n"
        yield process
        process.kill()


def again(files: WorkspaceFiles) -> WorkspaceFiles:
    return WorkspaceFiles(files.folder)


def test_window_that_was_released_is_claimed_by_the_next_start(files):
    entry = files.add()
    entry.save({"tabs": [1]}, 1)
    entry.release()
    (workspace,), problems = again(files).claim()
    assert workspace.state == {"tabs": [1]} and problems == []
    workspace.release()


def test_window_of_a_program_that_runs_is_left_to_it_until_it_is_killed(files, other_program):
    assert files.claim() == ([], [])
    other_program.kill()
    other_program.wait()
    (workspace,), _ = files.claim()
    assert workspace.state == {"tabs": ["of another program"]}
    workspace.release()


def test_two_programs_write_a_window_each(files, other_program):
    own = files.add()
    own.save({"tabs": ["own"]}, 1)
    assert len(list(files.folder.glob("*.json"))) == 2
    own.forget()
    assert len(list(files.folder.glob("*.json"))) == 1


def test_older_state_that_is_written_late_is_dropped(files):
    entry = files.add()
    entry.save({"tabs": ["new"]}, 2)
    entry.save({"tabs": ["old"]}, 1)
    assert json.loads(entry.path.read_text())["tabs"] == ["new"]
    entry.release()
    entry.save({"tabs": ["later"]}, 3)
    assert json.loads(entry.path.read_text())["tabs"] == ["new"]


def test_forgotten_window_leaves_nothing(files):
    entry = files.add()
    entry.save({"tabs": []}, 1)
    entry.forget()
    entry.save({"tabs": []}, 2)
    assert list(files.folder.iterdir()) == []


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '{"tabs": []}', '{"version": "x", "tabs": []}', "\x00\x01"]
)
def test_file_that_cannot_be_read_is_set_aside_and_said_once(files, content):
    files.folder.mkdir()
    path = files.folder / "w.json"
    path.write_text(content)
    workspaces, (problem,) = files.claim()
    assert workspaces == [] and path.name in str(problem) and not path.exists()
    assert path.with_name("w.json.unreadable").read_text() == content
    assert again(files).claim() == ([], [])


def test_file_of_a_newer_program_is_left_as_it_is(files):
    files.folder.mkdir()
    path = files.folder / "w.json"
    path.write_text('{"version": 99}')
    workspaces, (problem,) = files.claim()
    assert workspaces == [] and path.exists() and "newer" in str(problem)


def test_full_disk_leaves_the_last_state_whole():
    with small_disk(512) as disk:
        files = WorkspaceFiles(disk / "workspace")
        entry = files.add()
        entry.save({"tabs": ["whole"]}, 1)
        with filled(disk), pytest.raises(FileProblem, match="space"):
            entry.save({"tabs": ["x" * 300_000]}, 2)
        assert json.loads(entry.path.read_text())["tabs"] == ["whole"]
        entry.save({"tabs": ["again"]}, 3)
        assert json.loads(entry.path.read_text())["tabs"] == ["again"]
        entry.release()


def test_read_only_folder_is_restored_from_and_said_when_it_is_written(files, tmp_path):
    entry = files.add()
    entry.save({"tabs": [1]}, 1)
    entry.release()
    with seen_read_only(tmp_path) as place:
        files = WorkspaceFiles(place / "workspace")
        (workspace,), _ = files.claim()
        assert workspace.state == {"tabs": [1]}
        with pytest.raises(FileProblem, match="cannot be written"):
            workspace.save({"tabs": [2]}, 1)
        assert files.begin_start() == 0
        files.end_start()


def test_starts_that_broke_off_are_counted_until_one_ends(files):
    assert [files.begin_start(), again(files).begin_start(), again(files).begin_start()] == [0, 1, 2]
    files.end_start()
    assert files.begin_start() == 0


def test_window_set_aside_is_kept_and_not_restored(files):
    entry = files.add()
    entry.save({"tabs": ["crashes"]}, 1)
    aside = entry.set_aside()
    assert json.loads(aside.read_text())["tabs"] == ["crashes"]
    assert again(files).claim() == ([], [])
