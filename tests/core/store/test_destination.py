"""What is said about a folder before a store is written to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamella import Store
from lamella.core.store.destination import destination, folder_name_problem, free_name, nearest_folder


def test_a_folder_that_does_not_exist_yet_has_the_disk_of_the_nearest_one(tmp_path: Path) -> None:
    place = destination(tmp_path / "a" / "b")
    assert nearest_folder(tmp_path / "a" / "b") == tmp_path
    assert place.is_on_disk_of(tmp_path) and place.free and not place.problem and not place.is_occupied


def test_only_an_empty_folder_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "below").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    taken = {name for name in ("empty", "full", "file", "link") if destination(tmp_path / name).is_occupied}
    assert taken == {"full", "file", "link"}
    assert free_name(tmp_path / "full") == tmp_path / "full 2"


def test_a_store_and_what_is_below_it_are_no_places_for_another(tmp_path: Path) -> None:
    Store.open(tmp_path / "shop").close()
    assert destination(tmp_path / "shop").has_store
    assert destination(tmp_path / "shop" / "data" / "new").problem.startswith(
        f"{tmp_path / 'shop'} is the folder"
    )


def test_paths_that_cannot_be_folders_say_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert destination(tmp_path / "file" / "a" / "b").problem == f"{tmp_path / 'file'} is not a folder."
    assert destination(tmp_path / ("n" * 300)).problem == "The name is too long."
    assert "null" in destination(Path(f"{tmp_path}/a\0b")).problem


def test_every_folder_that_would_be_created_needs_a_valid_name(tmp_path: Path) -> None:
    (tmp_path / "a\x1bb").mkdir()
    new = tmp_path / "c\nd" / "e"
    assert destination(new).problem == "The name of a folder cannot contain a line break."
    assert destination(tmp_path / "a\x1bb" / "e").problem == "", "the folder of this name exists already"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a\nb", "The name of a folder cannot contain a line break."),
        ("a\0b", "The name of a folder cannot contain a null character."),
        ("a\x1bb", "The name of a folder cannot contain the control character U+001B."),
        ("a/b", "The name of a folder cannot contain '/'."),
        ("..", "'..' cannot be the name of a folder."),
        ("~", "'~' cannot be the name of a folder."),
        ("", "A folder needs a name."),
        ("nul.txt", "Windows does not allow 'nul.txt' as the name of a folder."),
        ("tables.", "Windows does not allow 'tables.' as the name of a folder."),
        ("console", ""),
        ("My tables, 2", ""),
    ],
)
def test_names_of_folders_that_some_system_refuses_say_why(name: str, reason: str) -> None:
    assert folder_name_problem(name) == reason
