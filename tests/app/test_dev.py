"""dev.py detects what a machine has and says what is missing."""

from __future__ import annotations

import gzip
import importlib.metadata
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.long_forms import LONG_FORMS, LongForm

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


@pytest.mark.parametrize(("shell", "flags"), [(None, ["--no-compile"]), ("1", [])])
def test_packages_are_compiled_when_they_are_imported_if_bytecode_is_written_then(shell, flags, monkeypatch):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    given = {} if shell is None else {"PYTHONDONTWRITEBYTECODE": shell}
    program = "import dev; print(dev.NO_BYTECODE)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment | given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{flags}\n", done.stderr


def says(word: str, status: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print('{word}'); raise SystemExit({status})"]


def test_a_failing_check_fails_the_whole_and_the_others_still_run(dev, capfd):
    checks = {"one": says("first", 1), "two": says("second")}
    assert dev.run_checks(checks, beside={"three": says("third", 2), "four": says("fourth")}) == [
        "one",
        "three",
    ]
    said = capfd.readouterr().out
    words = ("== one", "first", "one took", "== two", "second", "== three", "third", "== four", "fourth")
    assert [word for line in said.splitlines() for word in words if line.startswith(word)] == list(words)


def test_checks_write_bytecode_whatever_the_shell_says(dev, monkeypatch):
    """Else each of the processes that tests start compiles every module again."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    writes = [sys.executable, "-c", "import sys; raise SystemExit(sys.dont_write_bytecode)"]
    assert dev.run_checks({"one": writes}, beside={"two": writes}) == []


@linux
def test_files_of_all_tests_are_in_memory_where_there_is_room(dev, tmp_path, monkeypatch):
    memory = tmp_path / "meminfo"
    memory.write_text(f"MemFree: 1 kB\nMemAvailable: {dev.ENOUGH_MEMORY >> 10} kB\n")
    monkeypatch.setattr(dev.shutil, "disk_usage", lambda folder: SimpleNamespace(free=dev.ENOUGH_MEMORY))
    assert dev.has_room(tmp_path, memory) and not dev.has_room(tmp_path / "missing", memory)
    memory.write_text("MemAvailable: 100000 kB\n")
    assert not dev.has_room(tmp_path, memory)
    monkeypatch.setattr(dev, "has_room", lambda folder: True)
    with dev.tests_in_memory(tmp_path) as environment:
        place = Path(environment["TMPDIR"])
        assert place.parent == tmp_path and place.stat().st_mode & 0o7777 == 0o1777
    assert not place.exists()


def test_names_of_tests_that_may_differ_from_run_to_run_are_refused(request):
    suite = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    for data in (b"n,s", b"", "Öl"):
        assert suite.pytest_make_parametrize_id(data, "data") is None
    suite.pytest_collection_modifyitems([request.node])
    with pytest.raises(pytest.fail.Exception, match=r"data=.* needs an id"):
        suite.pytest_make_parametrize_id(gzip.compress(b"n,s"), "data")
    with pytest.raises(pytest.UsageError, match="its address differs"):
        suite.pytest_collection_modifyitems([SimpleNamespace(nodeid=f"test_of[{object()!r}]")])


@pytest.fixture
def prepared(dev, monkeypatch) -> ModuleType:
    """A machine that has everything dev.py needs."""
    monkeypatch.setattr(dev, "prepare_system", lambda with_display: None)
    monkeypatch.setattr(dev, "prepare_environment", lambda extras: None)
    return dev


@pytest.mark.parametrize(("failed", "last"), [([], "All checks passed"), (["mypy"], "Failed: mypy")])
def test_a_whole_run_ends_with_how_long_it_took_and_what_failed(prepared, monkeypatch, capsys, failed, last):
    monkeypatch.setattr(prepared, "run_checks", lambda checks, beside, environment: failed)
    assert prepared.main(["test"]) == len(failed)
    time, result = capsys.readouterr().out.splitlines()[-2:]
    assert "within the limit of 5 min 0 s" in time and result == last
    prepared.main(["test", "-k", "paths"])
    assert "limit" not in capsys.readouterr().out, "some of the tests say nothing about all of them"


def test_arguments_go_to_pytest_which_names_the_slowest_tests(prepared, monkeypatch):
    commands = {}
    monkeypatch.setattr(
        prepared, "run_checks", lambda checks, beside, environment: commands.update(checks | beside) or []
    )
    prepared.main(["test", "-k", "paths"])
    assert set(commands) == {"ruff", "mypy", "import-linter", "pytest"}
    assert commands["pytest"][-4:] == ["--durations", "10", "-k", "paths"]
    prepared.main(["test", "--all"])
    assert commands["pytest"][-3:] == ["--durations", "10", "--all"]


def test_a_run_over_the_limit_says_so(dev):
    assert dev.in_time(299).startswith(
        "All checks took 4 min 59 s on "
    ) and "within the limit" in dev.in_time(299)
    assert "over the limit of 5 min 0 s" in dev.in_time(301)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_program_that_crashed_is_said_to_have_crashed(prepared, monkeypatch, capfd, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n", "ascii")
    program.chmod(0o755)
    monkeypatch.setattr(prepared, "display_answers", lambda: False)
    monkeypatch.setattr(prepared, "venv_python", lambda: program)
    assert prepared.main(["run"]) == 128 + signal.SIGSEGV
    output = capfd.readouterr()
    assert "ended by SIGSEGV" in output.err and "The pictures are in" not in output.out


def test_long_forms_run_one_after_the_other_and_tell_how_they_went(prepared, monkeypatch, capfd):
    echo = "import os; raise SystemExit(int(os.environ['LAMELLA_LONG_RUNS']) - 7)"
    forms = {
        "good": LongForm("well", 1, ("-c", echo), {"LAMELLA_LONG_RUNS": "7"}),
        "bad": LongForm("badly", 1, ("-c", echo), {"LAMELLA_LONG_RUNS": "8"}),
        "missing": LongForm("never", 1, ("-c", echo), needs="LAMELLA_NOWHERE"),
    }
    monkeypatch.setattr(prepared, "LONG_FORMS", forms)
    monkeypatch.setattr(prepared, "venv_python", lambda: sys.executable)
    assert prepared.main(["test", "--long"]) == 1
    *_, good, bad, missing = capfd.readouterr().out.splitlines()
    assert good.startswith("good       passed in ") and bad.startswith(
        "bad        failed with exit code 1 after "
    )
    assert missing == "missing    not run: LAMELLA_NOWHERE is not set"
    assert prepared.main(["test", "--long", "good", "missing"]) == 0
    assert prepared.main(["test", "--long", "goood"]) == 2
    assert "no long form goood" in capfd.readouterr().err
    assert prepared.main(["test", "--long", "list"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == len(forms)


RUNS = re.compile(r"""environ(?:\.get\(|\[)"LAMELLA_(?:LONG_RUNS|INCREMENTS|CORPUS)"|= ?examples\(\d""")
"""How a test knows how long it is to run."""


def test_long_forms_are_there_and_follow_what_is_set_for_them():
    for form in LONG_FORMS.values():
        files = [ROOT / word for word in form.words if word.endswith(".py")]
        if form.words[0] != "-m":
            assert (ROOT / form.words[0]).is_file()
        elif form.words[1] != "pytest":
            assert importlib.util.find_spec(form.words[1])
        else:
            assert files
        variables = [*form.environment, *filter(None, [form.needs])]
        for text in (file.read_text("utf8") for file in files):
            assert RUNS.search(text) or all(variable in text for variable in variables)


def test_every_long_form_is_in_the_table():
    """Whatever reads how long it is to run from the environment."""
    files = {
        str(p.relative_to(ROOT))
        for p in (ROOT / "tests").rglob("test_*.py")
        if RUNS.search(p.read_text("utf8"))
    }
    assert files == {word for form in LONG_FORMS.values() for word in form.words if word.endswith(".py")}


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 10, 13), (3, 14, 0), (4, 0, 0)])
def test_a_python_that_was_not_tried_is_refused_with_those_that_were(dev, monkeypatch, capsys, version):
    monkeypatch.setattr(dev.sys, "version_info", version)
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    monkeypatch.setattr(dev, "prepare_system", lambda with_display: pytest.fail("it went on"))
    assert dev.main(["run"]) == 2
    assert "runs on Python 3.11, 3.12 and 3.13" in capsys.readouterr().err


def test_a_python_that_was_not_tried_names_the_one_to_use(dev, monkeypatch, capsys):
    monkeypatch.setattr(dev.sys, "version_info", (3, 14, 0))
    monkeypatch.setattr(dev.shutil, "which", lambda name: name if name == "python3.12" else None)
    assert dev.main(["run"]) == 2
    assert "Use python3.12 dev.py" in capsys.readouterr().err


def test_every_statement_about_versions_of_python_says_the_same(dev):
    lowest, highest = dev.TRIED_PYTHONS[0], dev.TRIED_PYTHONS[-1]
    project = pyproject()["project"]
    bounds = SpecifierSet(project["requires-python"])
    assert bounds == SpecifierSet(f">={dotted(lowest)},<{highest[0]}.{highest[1] + 1}")
    classified = {c.rpartition(" ")[2] for c in project["classifiers"] if "Python ::" in c}
    assert classified == set(map(dotted, dev.TRIED_PYTHONS))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = ", ".join(map(dotted, dev.TRIED_PYTHONS[:-1]))
        assert f"Python {named} or {dotted(highest)}" in (ROOT / page).read_text("utf8")


def test_what_nobody_can_do_here_ends_with_a_message_and_no_traceback(dev, capsys):
    assert dev.main(["test", "--long", "everything"]) == 2
    assert "everything" in capsys.readouterr().err


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))


def dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def constraints() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text("utf8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_constraints_pin_every_direct_dependency_to_one_version():
    project = pyproject()["project"]
    extras = project["optional-dependencies"].values()
    expected = [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]
    pinned = {canonicalize_name(pin.name) for pin in constraints()}
    assert {canonicalize_name(requirement.name) for requirement in expected} <= pinned
    for pin in constraints():
        assert [each.operator for each in pin.specifier] == ["=="], pin
        assert not pin.url and not pin.extras, pin


def test_every_pin_can_be_installed_on_the_first_release_of_each_python(dev):
    """A pin that only a later patch release can install is not seen by installing it here."""
    for python in dev.TRIED_PYTHONS:
        environment = {"python_version": dotted(python), "python_full_version": f"{dotted(python)}.0"}
        applying = [p for p in constraints() if p.marker is None or p.marker.evaluate(environment)]
        names = [canonicalize_name(pin.name) for pin in applying]
        assert len(names) == len(set(names)), "pinned twice"
        refused = {str(pin) for pin in applying if not installable(pin, environment["python_full_version"])}
        assert not refused, f"these cannot be installed on Python {dotted(python)}.0: {refused}"


def installable(pin: Requirement, python: str) -> bool:
    """By the metadata of the installed package; a pin of a version or package that is not installed here
    belongs to another Python or system, whose test run looks at it."""
    try:
        metadata = importlib.metadata.metadata(pin.name)
    except importlib.metadata.PackageNotFoundError:
        return True
    return not pin.specifier.contains(metadata["Version"]) or SpecifierSet(
        metadata.get("Requires-Python", "")
    ).contains(python)


def test_pins_of_this_python_are_the_versions_installed_here():
    """Else the test above would look at other metadata than that of the pins."""
    pins = [pin for pin in constraints() if pin.marker is None or pin.marker.evaluate()]
    versions = {dist.name: dist.version for dist in importlib.metadata.distributions()}
    by_name = {canonicalize_name(name): version for name, version in versions.items()}
    differences = {
        f"{pin} (installed: {by_name[name]})"
        for pin in pins
        if (name := canonicalize_name(pin.name)) in by_name and not pin.specifier.contains(by_name[name])
    }
    assert not differences
    assert len([pin for pin in pins if canonicalize_name(pin.name) in by_name]) > len(pins) * 0.9
