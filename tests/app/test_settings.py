"""A settings file sets known names to values that fit; anything else is reported and costs only itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamella.app import settings as settings_file
from lamella.core.errors import FileProblem, LamellaError
from lamella.core.settings import SETTINGS, BadSetting, Origin, Settings, UnknownSetting, setting_named
from tests.mounts import filled, small_disk

PATH = "settings.json"


def written(folder: Path, **items: object) -> Path:
    path = folder / PATH
    path.write_text(json.dumps({"version": settings_file.VERSION, **items}), encoding="utf8")
    return path


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_accepts_its_own_default_and_says_what_it_is_for(setting):
    assert setting.convert(setting.default) == setting.default
    assert setting.help and setting.expects


def test_names_are_unique():
    names = [setting.name for setting in SETTINGS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "blue"),
        ("theme", 1),
        ("text_scale", 5.0),
        ("text_scale", "1"),
        ("page_cache_mb", 256.5),
        ("page_cache_mb", True),
        ("page_cache_mb", -1),
        ("query_memory_mb", 10_000_000),
        ("default_store", None),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_the_old_one_stays(name, value):
    settings = Settings()
    with pytest.raises(BadSetting, match=name):
        settings[name] = value
    assert settings[name] == setting_named(name).default


def test_a_whole_number_is_a_fine_fraction():
    settings = Settings()
    settings["text_scale"] = 2
    assert settings["text_scale"] == 2.0 and isinstance(settings["text_scale"], float)


def test_an_unknown_name_comes_with_the_nearest_one():
    with pytest.raises(UnknownSetting, match="text_scale"):
        setting_named("text_scal")


def test_what_is_saved_is_what_is_loaded(tmp_path):
    settings = Settings()
    settings["theme"] = "dark"
    settings["page_cache_mb"] = 7
    settings_file.save(settings, tmp_path / PATH)
    loaded, problems = settings_file.load(tmp_path / PATH)
    assert problems == []
    assert loaded.values == settings.values
    assert [path.name for path in tmp_path.iterdir()] == [PATH]


def test_without_a_file_the_defaults_hold(tmp_path):
    loaded, problems = settings_file.load(tmp_path / PATH)
    assert problems == [] and loaded.values == Settings().values


def test_one_bad_value_costs_only_itself_and_is_told_with_file_and_name(tmp_path):
    path = written(tmp_path, theme="blue", page_cache_mb=9)
    loaded, (problem,) = settings_file.load(path)
    assert loaded["theme"] == "system" and loaded["page_cache_mb"] == 9
    assert str(path) in str(problem) and "'theme'" in str(problem) and "light" in str(problem)


def test_an_unknown_key_is_told_and_survives_saving(tmp_path):
    path = written(tmp_path, thema="dark")
    loaded, (problem,) = settings_file.load(path)
    assert "theme" in str(problem) and str(path) in str(problem)
    settings_file.save(loaded, path)
    assert json.loads(path.read_text())["thema"] == "dark"


@pytest.mark.parametrize("content", ["", "{", "[1]", '"x"', '{"version": "one"}'])
def test_a_file_that_cannot_be_followed_is_told_and_never_written_over(tmp_path, content):
    path = tmp_path / PATH
    path.write_text(content)
    loaded, (problem,) = settings_file.load(path)
    assert loaded.values == Settings().values and problem.path == path
    settings_file.save(loaded, path)
    assert path.with_name(PATH + settings_file.KEPT_BESIDE).read_text() == content
    assert settings_file.load(path) == (loaded, [])


def test_settings_of_a_newer_program_are_left_as_they_are(tmp_path):
    path = written(tmp_path, version=99, theme="of tomorrow")
    content = path.read_text()
    loaded, (problem,) = settings_file.load(path)
    assert "version 99" in str(problem) and loaded.values == Settings().values
    with pytest.raises(FileProblem, match="newer Lamella"):
        settings_file.save(loaded, path)
    assert path.read_text() == content and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_settings_as_they_were():
    with small_disk(64) as disk:
        path = disk / PATH
        settings_file.save(Settings(), path)
        before = path.read_text()
        with filled(disk), pytest.raises(FileProblem, match="No space left"):
            settings_file.save(Settings(unknown={"text": "x" * 10_000}), path)
        assert path.read_text() == before and list(disk.iterdir()) == [path]


def test_migrations_run_in_order_from_the_version_of_the_file(tmp_path):
    steps = [lambda items: items | {"a": 1}, lambda items: items | {"b": items.get("a", 0) + 1}]
    assert settings_file.migrate({}, 1, tmp_path, steps) == {"a": 1, "b": 2}
    assert settings_file.migrate({}, 2, tmp_path, steps) == {"b": 1}
    assert settings_file.migrate({}, 3, tmp_path, steps) == {}
    with pytest.raises(FileProblem):
        settings_file.migrate({}, 4, tmp_path, steps)


def test_bounds_are_written_out():
    assert setting_named("page_cache_mb").expects == "a whole number from 0 to 1,048,576"
    assert setting_named("text_scale").expects == "a number from 0.8 to 2"


def test_environment_and_command_line_hold_for_this_run_alone(tmp_path):
    settings = Settings()
    settings["theme"] = "light"
    environment = {"LAMELLA_THEME": "dark", "LAMELLA_TEXT_SCALE": "1.5", "LAMELLA_RESTORE_WORKSPACE": "false"}
    assert settings_file.take_environment(settings, environment) == []
    settings_file.take_command_line(settings, ["text_scale=2", "query_memory_mb=64"])
    names = ("theme", "text_scale", "restore_workspace", "query_memory_mb", "page_cache_mb")
    assert [settings[name] for name in names] == ["dark", 2.0, False, 64, 0]
    origins = ["environment", "command line", "environment", "command line", "default"]
    assert [settings.origin(name).value for name in names] == origins
    settings_file.save(settings, tmp_path / PATH)
    loaded, _ = settings_file.load(tmp_path / PATH)
    assert loaded["theme"] == "light" and loaded.origin("theme") is Origin.FILE
    assert loaded["text_scale"] == 1.0 and loaded["restore_workspace"] is True


def test_environment_that_does_not_fit_is_said_and_not_used():
    settings = Settings()
    (problem,) = settings_file.take_environment(settings, {"LAMELLA_TEXT_SCALE": "huge"})
    assert "LAMELLA_TEXT_SCALE" in str(problem) and settings["text_scale"] == 1.0


@pytest.mark.parametrize("word", ["theme", "theme=blue", "text_scale=x", "page_cache_mb=1.5", "them=dark"])
def test_command_line_that_does_not_fit_is_refused(word):
    with pytest.raises(LamellaError):
        settings_file.take_command_line(Settings(), [word])


@pytest.mark.parametrize("uri", ["", "localhost", "mongodb:/x", "http://mongodb"])
def test_server_is_an_address_of_mongodb(uri):
    with pytest.raises(BadSetting, match="mongodb://"):
        Settings()["mongodb_uri"] = uri
