"""Files lie where each system expects them."""

from __future__ import annotations

import sys

import pytest

from lamella import open_dataset, resources
from lamella.app import paths
from lamella.core.errors import FileProblem
from lamella.core.store.views import FileViews

FOLDERS = (paths.data_folder, paths.config_folder, paths.log_folder)


def test_everything_is_below_lamella_home_and_exists(lamella_home):
    actual = [folder() for folder in FOLDERS]
    assert all(folder.is_dir() and folder.parent == lamella_home for folder in actual)
    assert len(set(actual)) == len(actual)
    assert paths.default_store().parent == paths.sample_store().parent == paths.data_folder()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="XDG folders are Linux's")
def test_without_it_the_system_says_where(monkeypatch, tmp_path):
    monkeypatch.delenv("LAMELLA_HOME")
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert paths.data_folder() == tmp_path / "DATA" / paths.NAME
    assert paths.config_folder() == tmp_path / "CONFIG" / paths.NAME
    assert tmp_path in paths.log_folder().parents


def test_a_home_that_cannot_be_made_says_so(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAMELLA_HOME", str(tmp_path / "file"))
    with pytest.raises(FileProblem, match="LAMELLA_HOME"):
        paths.data_folder()


def test_without_a_home_files_have_no_views_and_none_can_be_saved(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAMELLA_HOME", str(tmp_path / "file"))
    views, airlines = FileViews(paths.saved_views()), resources.sample("airlines")
    assert views.names([airlines]) == []
    with pytest.raises(FileProblem, match="could not be written"):
        views.save("some", open_dataset(airlines).where("carrier > 'M'"), [airlines])
