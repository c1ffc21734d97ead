"""Every setting, declared once, and the values that are in force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lamella.core.errors import LamellaError, UnknownName

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
        return "true or false" if isinstance(self.default, bool) else "text"

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
    Setting("restore_workspace", True, "Open again at the start what was open when the program ended"),
    Setting("page_cache_mb", 0, "Memory for data already read, in MB; 0 is a quarter of what the machine "
            "has, at most 2 GB", low=0, high=1_048_576),
    Setting("query_memory_mb", 0, "Memory a query may use before it spills to disk, in MB; 0 is half of what "
            "the machine has", low=0, high=1_048_576),
    Setting("remote_cache_mb", 10_240, "Disk for what was read of files elsewhere, in MB; 0 keeps nothing",
            low=0, high=104_857_600),
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
