"""What dev.py finds out about a machine, and what it says when something is missing."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lacks libraries")


@pytest.fixture
def dev() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@linux
def test_a_library_is_found_by_loading_it(dev):
    assert dev.loadable("libc.so.6")
    assert not dev.loadable("libof-lamella-that-nobody-has.so.6")


def test_a_font_is_found_in_folders_below(dev, tmp_path):
    assert not dev.has_font((str(tmp_path), str(tmp_path / "missing")))
    (tmp_path / "truetype").mkdir()
    (tmp_path / "truetype" / "readme.txt").write_text("")
    assert not dev.has_font((str(tmp_path),))
    (tmp_path / "truetype" / "Some.TTF").write_text("")
    assert dev.has_font((str(tmp_path),))


@linux
def test_only_what_is_missing_is_asked_for(dev, monkeypatch):
    monkeypatch.setattr(dev, "loadable", lambda library: library != "libEGL.so.1")
    monkeypatch.setattr(dev, "has_font", lambda: False)
    missing = dev.missing_packages(with_display=True)
    assert missing == {"libEGL.so.1": "libegl1", "a font": "fonts-dejavu-core"}


@linux
def test_libraries_of_the_display_are_not_needed_without_one(dev, monkeypatch):
    monkeypatch.setattr(dev, "loadable", lambda library: not library.startswith("libxcb"))
    monkeypatch.setattr(dev, "has_font", lambda: True)
    assert dev.missing_packages(with_display=False) == {}
    assert "libxcb-cursor0" in dev.missing_packages(with_display=True).values()


@linux
def test_who_may_not_install_gets_one_command_to_paste(dev, monkeypatch):
    missing = {"libEGL.so.1": "libegl1", "a font": "some-font"}
    monkeypatch.setattr(dev, "missing_packages", lambda with_display: missing)
    monkeypatch.setattr(dev.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/usr/bin/" + name)
    with pytest.raises(dev.SetupProblem) as refusal:
        dev.prepare_system(with_display=False)
    (command,) = [line.strip() for line in str(refusal.value).splitlines() if "apt-get" in line]
    assert command.startswith("sudo apt-get update && sudo apt-get install")
    assert command.endswith("libegl1 some-font")


@linux
def test_root_has_it_installed(dev, monkeypatch):
    calls = []
    monkeypatch.setattr(dev, "missing_packages", lambda with_display: {"libEGL.so.1": "libegl1"})
    monkeypatch.setattr(dev.os, "geteuid", lambda: 0)
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/usr/bin/" + name)
    monkeypatch.setattr(dev, "call", lambda command, environment=None: calls.append(command))
    dev.prepare_system(with_display=False)
    assert [call[:2] for call in calls] == [["apt-get", "update"], ["apt-get", "install"]]
    assert "libegl1" in calls[1]


@linux
def test_a_system_without_apt_hears_what_is_missing(dev, monkeypatch):
    monkeypatch.setattr(dev, "missing_packages", lambda with_display: {"libEGL.so.1": "libegl1"})
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    with pytest.raises(dev.SetupProblem, match=r"libEGL\.so\.1"):
        dev.prepare_system(with_display=False)


def test_an_installation_is_good_until_what_is_declared_changes(dev, tmp_path):
    (tmp_path / "pyproject.toml").write_text("a")
    (tmp_path / "constraints.txt").write_text("b")
    first, stamp = dev.fingerprint(tmp_path), tmp_path / "stamp"
    assert not dev.installed(stamp, set(), first)
    stamp.write_text(f"{first}\ndev\n")
    assert dev.installed(stamp, {"dev"}, first) and dev.installed(stamp, set(), first)
    assert not dev.installed(stamp, {"dev", "bench"}, first)
    (tmp_path / "constraints.txt").write_text("c")
    assert not dev.installed(stamp, {"dev"}, dev.fingerprint(tmp_path))


def test_a_failing_check_fails_the_whole_and_the_others_still_run(dev, monkeypatch, capsys):
    ran = []

    def run(command, cwd, env):
        ran.append(command)
        return int("mypy" in command)

    monkeypatch.setattr(dev, "prepare_system", lambda with_display: None)
    monkeypatch.setattr(dev, "prepare_environment", lambda extras: None)
    monkeypatch.setattr(dev.subprocess, "call", run)
    assert dev.main(["test", "-k", "paths"]) == 1
    assert "Failed: mypy" in capsys.readouterr().out
    assert len(ran) == 4 and ran[-1][-2:] == ["-k", "paths"]


def test_an_old_python_is_told_which_one_is_needed(dev, monkeypatch, capsys):
    monkeypatch.setattr(dev.sys, "version_info", (3, 9, 2))
    assert dev.main(["run"]) == 2
    assert "3.11" in capsys.readouterr().err


def test_what_nobody_can_do_here_ends_with_a_message_and_no_traceback(dev, capsys):
    assert dev.main(["shots"]) == 2
    assert "shots DIR" in capsys.readouterr().err


def test_constraints_pin_every_direct_dependency_and_name_no_registry():
    import tomllib

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for e in project["optional-dependencies"].values() for d in e)]
    names = {re.split("[<>=!]", item)[0].lower().replace("_", "-") for item in wanted}
    assert names <= pinned
    assert not any("://" in line or line.startswith("-") for line in lines)
