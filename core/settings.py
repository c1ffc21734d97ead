"""Every setting, declared once, and the values in force."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lamella.core.errors import LamellaError, UnknownName

Value = str | int | float | bool


class UnknownSetting(UnknownName):
    kind = "setting"


class BadSetting(LamellaError):
    """A value that a setting cannot have."""


ENVIRONMENT_PREFIX = "LAMELLA_"


class Origin(StrEnum):
    """Where the value in force comes from; a later origin takes precedence over an earlier one."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


@dataclass(frozen=True)
class Setting:
    """A setting; its type is that of its default.

    Allowed values are given by `choices`, by `low` and `high`, or by a `pattern` that the whole text must
    match, which `form` describes in words. A setting that needs a `restart` takes effect at the next start.
    `title`, `group` and `unit` are shown on the settings page, and `unset` instead of 0 or an empty text.
    """

    name: str
    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    title: str = ""
    group: str = "General"
    pattern: str = ""
    form: str = "text"
    is_folder: bool = False
    restart: bool = False
    unit: str = ""
    unset: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that overrides the settings file."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def expects(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return "one of " + ", ".join(map(str, self.choices))
        if self.low is not None:
            kind, form = ("a whole number", ",") if isinstance(self.default, int) else ("a number", "g")
            return f"{kind} from {self.low:{form}} to {self.high:{form}}"
        return "true or false" if isinstance(self.default, bool) else self.form

    def convert(self, value: Any) -> Value:
        """Return `value` as this setting's type; raises BadSetting if that is not possible."""
        kind = type(self.default)
        same = type(value) is kind or (kind is float and type(value) is int)
        fits = same and (not self.choices or value in self.choices)
        if fits and self.low is not None and self.high is not None:
            fits = self.low <= value <= self.high
        if fits and self.pattern:
            fits = re.fullmatch(self.pattern, value) is not None
        if not fits:
            raise BadSetting(f"'{self.name}' cannot be {value!r}", fix=f"It must be {self.expects}")
        return kind(value)

    def read(self, text: str) -> Value:
        """Parse a text from the environment or the command line. Raises BadSetting."""
        value: Value = text
        try:
            if isinstance(self.default, bool):
                value = {"true": True, "false": False}[text.strip().lower()]
            elif isinstance(self.default, int | float):
                value = type(self.default)(text)
        except (KeyError, ValueError) as error:
            raise BadSetting(f"'{self.name}' cannot be {text!r}", fix=f"It must be {self.expects}") from error
        return self.convert(value)


SETTINGS = (
    Setting("theme", "system", "Light, dark, or whatever the system uses", ("system", "light", "dark"),
            group="Appearance"),
    Setting("text_scale", 1.0, "Size of the font, relative to the system's", low=0.8, high=2.0,
            title="Text size", group="Appearance", unit="×"),
    Setting("restore_workspace", True, "Reopen at startup what was open when the program ended",
            title="Restore what was open", group="Start"),
    Setting("default_store", "", "The folder of the store that imports go to; empty is 'My tables' in the "
            "user's data folder", title="Store for imports", group="Start", is_folder=True, restart=True,
            unset="My tables"),
    Setting("page_cache_mb", 0, "Memory for data already read, in MB; 0 is a quarter of what the machine "
            "has, at most 2 GB", low=0, high=1_048_576, title="Memory for data", group="Memory and disk",
            restart=True, unit="MB", unset="Automatic"),
    Setting("query_memory_mb", 0, "Memory a query may use before it spills to disk, in MB; 0 is half of what "
            "the machine has", low=0, high=1_048_576, title="Memory for a query", group="Memory and disk",
            restart=True, unit="MB", unset="Automatic"),
    Setting("remote_cache_mb", 10_240, "Disk space for data read from remote files, in MB; 0 keeps nothing",
            low=0, high=104_857_600, title="Disk for remote files", group="Memory and disk", restart=True,
            unit="MB", unset="None"),
    Setting("spark_rows", 1_000_000, "Rows of an answer that are fetched from a Spark server for display",
            low=1_000, high=100_000_000, title="Rows from a Spark server", group="Memory and disk",
            restart=True, unit="rows"),
    Setting("mongodb_uri", "mongodb://localhost:27017", "The MongoDB server that benchmarks may use",
            title="MongoDB server", group="Benchmark", pattern=r"mongodb(\+srv)?://\S+",
            form="an address that begins with mongodb:// or mongodb+srv://"),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}


@dataclass
class Settings:
    """The saved values, and the values for this run only, which take precedence. `unknown` holds unknown
    entries of the settings file, so that saving preserves them."""

    values: dict[str, Value] = field(default_factory=lambda: {s.name: s.default for s in SETTINGS})
    unknown: dict[str, Any] = field(default_factory=dict)
    overrides: dict[str, tuple[Origin, Value]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """The value in force."""
        name = setting_named(name).name
        return self.overrides[name][1] if name in self.overrides else self.values[name]

    def origin(self, name: str) -> Origin:
        setting = setting_named(name)
        if name in self.overrides:
            return self.overrides[name][0]
        return Origin.DEFAULT if self.values[name] == setting.default else Origin.FILE

    def override(self, origin: Origin, name: str, text: str) -> None:
        """Set a value for this run. Raises UnknownSetting and BadSetting."""
        setting = setting_named(name)
        self.overrides[name] = (origin, setting.read(text))

    def __setitem__(self, name: str, value: Any) -> None:
        self.values[name] = setting_named(name).convert(value)

    def take(self, items: Iterable[tuple[str, Any]]) -> list[LamellaError]:
        """Set each item; a setting with an invalid value keeps its default, and the error is returned."""
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
    """Return the setting; raises UnknownSetting, with the nearest name, if there is none."""
    if name not in BY_NAME:
        raise UnknownSetting(name, "Lamella", BY_NAME)
    return BY_NAME[name]
