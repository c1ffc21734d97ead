"""Every setting, declared once, and the files in which settings and state are kept."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lamella.app import paths
from lamella.core.errors import FileProblem, LamellaError, UnknownName

Value = str | int | float | bool


class UnknownSetting(UnknownName):
    kind = "setting"


class BadSetting(LamellaError):
    """A value that a setting cannot have."""


@dataclass(frozen=True)
class Setting:
    """Its type is that of its default. `choices` or `low` and `high` say what it may be."""

    name: str
    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def expects(self) -> str:
        """What it may be, in words."""
        if self.choices:
            return "one of " + ", ".join(map(str, self.choices))
        if self.low is not None:
            kind, form = ("a whole number", ",") if isinstance(self.default, int) else ("a number", "g")
            return f"{kind} from {self.low:{form}} to {self.high:{form}}"
        return "text"

    def checked(self, value: Any) -> Value:
        """`value` as this setting's type; raises BadSetting when it cannot be that."""
        wanted = type(self.default)
        same = type(value) is wanted or (wanted is float and type(value) is int)
        fits = same and (not self.choices or value in self.choices)
        if fits and self.low is not None and self.high is not None:
            fits = self.low <= value <= self.high
        if not fits:
            raise BadSetting(f"'{self.name}' cannot be {value!r}", fix=f"It must be {self.expects}")
        return wanted(value)


SETTINGS = (
    Setting("theme", "system", "Light, dark, or whatever the system uses", ("system", "light", "dark")),
    Setting("text_scale", 1.0, "How large text is, against the system's size", low=0.8, high=2.0),
    Setting("page_cache_mb", 0, "Memory for data already read, in MB; 0 is a quarter of what the machine "
            "has, at most 2 GB", low=0, high=1_048_576),
    Setting("query_memory_mb", 0, "Memory a query may use before it spills to disk, in MB; 0 is half of what "
            "the machine has", low=0, high=1_048_576),
    Setting("default_store", "", "The folder of the store that imports go to; empty is 'My tables' in the "
            "user's data folder"),
    Setting("mongodb_uri", "mongodb://localhost:27017", "The MongoDB server that a benchmark may ask"),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass
class Settings:
    """The values in force. `unknown` holds what a settings file said beyond them, so that saving keeps it."""

    values: dict[str, Value] = field(default_factory=lambda: {s.name: s.default for s in SETTINGS})
    unknown: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[setting_named(name).name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.values[name] = setting_named(name).checked(value)

    def take(self, items: Iterable[tuple[str, Any]]) -> list[LamellaError]:
        """Set each item; what does not fit keeps its default and is returned as an error."""
        problems: list[LamellaError] = []
        for name, value in items:
            try:
                self[name] = value
            except UnknownSetting as problem:
                self.unknown[name] = value
                problems.append(problem)
            except BadSetting as problem:
                problems.append(problem)
        return problems


def setting_named(name: str) -> Setting:
    """Raises UnknownSetting, with the nearest name, when there is no such setting."""
    if name not in BY_NAME:
        raise UnknownSetting(name, "Lamella", BY_NAME)
    return BY_NAME[name]


Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Sequence[Migration] = ()  # the first brings version 1 to version 2, and so on
VERSION = 1 + len(MIGRATIONS)
KEPT_BESIDE = ".unreadable"
WRITABLE = "Free some space, allow writing, or set LAMELLA_HOME to another folder"
DEFAULTS_USED = "The defaults are used; mend or remove the file"


def settings_path() -> Path:
    return paths.config_folder() / "settings.json"


def load(path: Path) -> tuple[Settings, list[FileProblem]]:
    """The settings, and everything in the file that could not be followed; defaults stand in for it."""
    settings = Settings()
    try:
        items = read_object(path)
        version = items.pop("version", VERSION)
        items = migrate(items, version, path)
    except FileProblem as unreadable:
        return settings, [unreadable]
    return settings, [
        FileProblem(path, problem.what, problem.why, f"{problem.fix}. Until then it is not used")
        for problem in settings.take(items.items())
    ]


def save(settings: Settings, path: Path) -> None:
    """A file that could not be read is kept beside the new one rather than written over; one of a newer
    program is left as it is. Raises FileProblem when nothing was saved."""
    keep_unreadable(path)
    write_object(path, {"version": VERSION, **settings.values, **settings.unknown})


def migrate(
    items: dict[str, Any], version: Any, path: Path, steps: Sequence[Migration] = MIGRATIONS
) -> dict[str, Any]:
    """Bring what an earlier version wrote up to date, step by step."""
    newest = 1 + len(steps)
    if not isinstance(version, int) or not 1 <= version <= newest:
        raise FileProblem(
            path,
            f"has settings of version {version!r}",
            f"This program knows versions 1 to {newest}",
            "The defaults are used; update Lamella or remove the file",
        )
    for step in steps[version - 1 :]:
        items = step(items)
    return items


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FileProblem(path, "cannot be read", error.strerror or str(error), DEFAULTS_USED) from error
    except ValueError as error:
        raise FileProblem(path, "is not JSON", str(error), DEFAULTS_USED) from error
    if not isinstance(value, dict):
        raise FileProblem(path, "is not a JSON object", fix=DEFAULTS_USED)
    return value


def keep_unreadable(path: Path) -> None:
    try:
        version = read_object(path).get("version", VERSION)
        readable = isinstance(version, int) and version >= 1
    except FileProblem:
        version, readable = VERSION, False
    if readable and version > VERSION:
        raise FileProblem(
            path,
            "is left as it is",
            "A newer Lamella wrote these settings",
            "Update Lamella, or remove the file",
        )
    try:
        if not readable:
            path.replace(path.with_name(path.name + KEPT_BESIDE))
    except OSError as error:
        raise _unwritten(path, error) from error


def write_object(path: Path, item: dict[str, Any]) -> None:
    staged = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(json.dumps(item, indent=2) + "\n", encoding="utf8")
        staged.replace(path)
    except OSError as error:
        with suppress(OSError):  # a full disk has room for its name
            staged.unlink(missing_ok=True)
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> FileProblem:
    return FileProblem(path, "cannot be written", error.strerror or str(error), WRITABLE)


RECENT_KEPT = 20
log = logging.getLogger(__name__)


def state_path() -> Path:
    return paths.config_folder() / "state.json"


class State:
    """Lost without harm: a file that cannot be read is logged, and everything starts anew."""

    def __init__(self) -> None:
        self._items = _read()

    @property
    def recent(self) -> list[Path]:
        """Newest first."""
        value = self._items.get("recent", [])
        return [Path(item) for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def remember(self, path: Path) -> None:
        path = path.absolute()
        files = [path, *(other for other in self.recent if other != path)][:RECENT_KEPT]
        self._write("recent", [str(file) for file in files])

    def forget(self, path: Path) -> None:
        self._write("recent", [str(file) for file in self.recent if file != path])

    @property
    def geometry(self) -> bytes:
        """Of the window, in Qt's own form; empty at the first start."""
        value = self._items.get("geometry", "")
        try:
            return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
        except binascii.Error:
            return b""

    def save_geometry(self, geometry: bytes) -> None:
        self._write("geometry", base64.b64encode(geometry).decode())

    def _write(self, name: str, value: Any) -> None:
        """Onto what the file says now: another window may have written meanwhile."""
        self._items = _read() | {name: value}
        write_object(state_path(), self._items)


def _read() -> dict[str, Any]:
    try:
        return read_object(state_path())
    except FileProblem as problem:
        log.warning("%s", problem)
        return {}


LAYOUTS_KEPT, LONGEST_LAYOUT, LONGEST_LAYOUTS = 200, 100_000, 1_000_000
"""Datasets, and characters of one layout and of all: the oldest make room."""


def layouts_path() -> Path:
    return paths.config_folder() / "layouts.json"


class Layouts:
    """How the columns of datasets were shown last, by the keys of their tabs. Lost without harm, as the state
    is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: Sequence[str]) -> dict[str, Any]:
        """Empty where there is none."""
        return next((layout for known, layout in self._read() if known == list(key)), {})

    def save(self, key: Sequence[str], layout: dict[str, Any]) -> None:
        """As the newest one; an empty one is forgotten, and so is one that is too long."""
        others = [(known, one) for known, one in self._read() if known != list(key)]
        entries = [*others, (list(key), layout)] if layout else others
        texts = [len(json.dumps(entry)) for entry in entries]
        while entries and (len(entries) > LAYOUTS_KEPT or sum(texts) > LONGEST_LAYOUTS):
            del entries[0], texts[0]
        kept = [entry for entry, length in zip(entries, texts, strict=True) if length <= LONGEST_LAYOUT]
        write_object(self._path, {"layouts": [{"key": known, "layout": one} for known, one in kept]})

    def _read(self) -> list[tuple[list[str], dict[str, Any]]]:
        try:
            entries = read_object(self._path).get("layouts", [])
        except FileProblem as problem:
            log.warning("%s", problem)
            return []
        found = []
        for entry in entries if isinstance(entries, list) else []:
            key, layout = (entry.get("key"), entry.get("layout")) if isinstance(entry, dict) else (None, None)
            if isinstance(key, list) and isinstance(layout, dict):
                found.append((key, layout))
        return found


MEGABYTE = 1 << 20


def apply_limits(settings: Settings) -> None:
    """A 0 leaves the engine's own choice, and its libraries unloaded."""
    if settings["page_cache_mb"]:
        from lamella.core.scan import cache as caches

        caches.limit(settings["page_cache_mb"] * MEGABYTE)
    if settings["query_memory_mb"]:
        from lamella.core.query.engine import limit_memory

        limit_memory(settings["query_memory_mb"] * MEGABYTE)


MONGODB_URI = "LAMELLA_MONGODB_URI"
"""What the engine reads it from."""


def apply_servers(settings: Settings) -> None:
    """For this process and those it starts. What the environment says already is left as it is."""
    os.environ.setdefault(MONGODB_URI, settings["mongodb_uri"])


def use(uri: str) -> None:
    """Another server, for what is started from now on."""
    os.environ[MONGODB_URI] = uri


class Memory:
    """`ui.window.memory.Memory`. `trouble` hears once that something could not be written; it holds all the
    same, until the program ends."""

    def __init__(self, settings: Settings, state: State, trouble: Callable[[FileProblem], None]) -> None:
        self._settings, self._state, self._trouble = settings, state, trouble
        self._layouts = Layouts(layouts_path())
        self._is_trouble_known = False

    def check_writable(self) -> None:
        """Say at the start what will not be remembered."""
        if not paths.is_remembered():
            self._report(
                FileProblem(
                    paths.config_folder(),
                    "settings, recent files and the log are not kept from here on",
                    f"Nothing can be written there or in {paths.log_folder()}",
                    WRITABLE,
                )
            )

    @property
    def theme(self) -> str:
        return str(self._settings["theme"])

    @theme.setter
    def theme(self, mode: str) -> None:
        self._set("theme", str(mode))

    @property
    def text_scale(self) -> float:
        return float(self._settings["text_scale"])

    @text_scale.setter
    def text_scale(self, scale: float) -> None:
        self._set("text_scale", scale)

    @property
    def mongodb_uri(self) -> str:
        return str(self._settings["mongodb_uri"])

    @mongodb_uri.setter
    def mongodb_uri(self, uri: str) -> None:
        use(uri)
        self._set("mongodb_uri", uri)

    @property
    def default_store(self) -> str:
        return str(self._settings["default_store"])

    @default_store.setter
    def default_store(self, path: str) -> None:
        self._set("default_store", path)

    @property
    def saved_runs(self) -> Path:
        return paths.saved_runs()

    @property
    def saved_views(self) -> Path:
        return paths.saved_views()

    @property
    def recent(self) -> list[Path]:
        return self._state.recent

    def remember(self, path: Path) -> None:
        self._save(lambda: self._state.remember(path))

    def forget(self, path: Path) -> None:
        self._save(lambda: self._state.forget(path))

    @property
    def geometry(self) -> bytes:
        return self._state.geometry

    def save_geometry(self, geometry: bytes) -> None:
        self._save(lambda: self._state.save_geometry(geometry))

    def layout(self, key: tuple[str, ...]) -> dict[str, Any]:
        return self._layouts.get(key)

    def save_layout(self, key: tuple[str, ...], layout: dict[str, Any]) -> None:
        self._save(lambda: self._layouts.save(key, layout))

    def _set(self, name: str, value: Value) -> None:
        if self._settings[name] != value:
            self._settings[name] = value
            self._save(lambda: save(self._settings, settings_path()))

    def _save(self, write: Callable[[], None]) -> None:
        try:
            write()
        except FileProblem as problem:
            self._report(problem)

    def _report(self, problem: FileProblem) -> None:
        log.warning("%s", problem)
        if not self._is_trouble_known:
            self._is_trouble_known = True
            self._trouble(problem)
