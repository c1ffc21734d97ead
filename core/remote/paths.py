"""`RemotePath`: a remote file in the form of a Python path.

The code that opens files in place takes paths, and needs from them only what is here: a name, the bytes from
any position, and a size and time by which it notices changes. So the same code opens files in a bucket and on
this machine. `str` returns the address, to be shown. `fspath` returns the path of a whole copy on this
machine, for libraries that only know local files, and fetches the copy if there is none yet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path, PurePath
from typing import IO, Any, Protocol

from lamella.core.remote.addresses import Address, is_address


class Opener(Protocol):
    """Reads remote files; `core.remote.files` has the implementation."""

    def status(self, path: RemotePath) -> os.stat_result: ...

    def open(self, path: RemotePath, buffering: int) -> IO[bytes]: ...

    def local_copy(self, path: RemotePath) -> Path: ...

    def is_folder(self, path: RemotePath) -> bool: ...

    def is_there(self, path: RemotePath) -> bool: ...


_openers: list[Opener] = []


def use(opener: Opener) -> None:
    _openers[:] = [opener]


def _opener() -> Opener:
    if not _openers:
        import_module("lamella.core.remote.files")  # it calls `use`
    return _openers[0]


class RemotePath(type(Path())):  # type: ignore[misc] # PosixPath or WindowsPath
    """The path of a remote file. Raises `UnknownScheme`, `BadData` and `FileProblem` if the text is not the
    address of a file; the methods that read raise `FileProblem`."""

    address: Address

    def __new__(cls, text: str | Path) -> RemotePath:
        path: RemotePath = super().__new__(cls, str(text))
        path.address = text.address if isinstance(text, RemotePath) else Address.parse(str(text))
        return path

    def __init__(self, text: str | Path) -> None:
        if sys.version_info >= (3, 12):  # it stores the text here; earlier versions do so in `__new__`
            super().__init__(str(text))

    def __str__(self) -> str:
        return str(self.address)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __reduce__(self) -> tuple[type[RemotePath], tuple[str]]:
        return RemotePath, (str(self),)

    def __fspath__(self) -> str:
        """Return the path of a whole copy on this machine; fetches it if there is none."""
        return str(_opener().local_copy(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __lt__(self, other: PurePath) -> bool:
        return str(self) < str(other)

    def __le__(self, other: PurePath) -> bool:
        return str(self) <= str(other)

    def __gt__(self, other: PurePath) -> bool:
        return str(self) > str(other)

    def __ge__(self, other: PurePath) -> bool:
        return str(self) >= str(other)

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def stem(self) -> str:
        return PurePath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix

    @property
    def suffixes(self) -> list[str]:
        return PurePath(self.name).suffixes

    @property
    def parts(self) -> tuple[str, ...]:
        root = str(self.address.at(""))
        return (root, *(part for part in self.address.key.split("/") if part))

    @property
    def parent(self) -> RemotePath:
        return RemotePath(str(self.address.parent))

    @property
    def parents(self) -> Any:
        folders, folder = [], self
        while folder.address.key:
            folder = folder.parent
            folders.append(folder)
        return folders

    def joinpath(self, *names: str | os.PathLike[str]) -> RemotePath:
        address = self.address
        for name in names:
            address = address.child(str(name))
        return RemotePath(str(address))

    def __truediv__(self, name: str | os.PathLike[str]) -> RemotePath:
        return self.joinpath(name)

    def with_name(self, name: str) -> RemotePath:
        return RemotePath(str(self.address.parent.child(name)))

    def with_suffix(self, suffix: str) -> RemotePath:
        return self.with_name(f"{self.stem}{suffix}")

    def relative_to(self, base: Any, *more: Any, **options: Any) -> PurePath:
        """Raises `ValueError` if the path is not below `base`."""
        folder = base.parts if isinstance(base, RemotePath) else ()
        if self.parts[: len(folder)] != folder:
            raise ValueError(f"{self} does not lie below {base}")
        return PurePath(*self.parts[len(folder) :])

    def match(self, pattern: str, **options: Any) -> bool:
        return fnmatchcase(self.name, pattern)

    def is_absolute(self) -> bool:
        return True

    def absolute(self) -> RemotePath:
        return self

    def resolve(self, strict: bool = False) -> RemotePath:
        return self

    def expanduser(self) -> RemotePath:
        return self

    def as_posix(self) -> str:
        return str(self)

    def as_uri(self) -> str:
        return str(self)

    def open(self, mode: str = "r", buffering: int = -1, *text: Any, **options: Any) -> Any:
        """Open the file for reading bytes; no other mode is supported."""
        if mode not in ("rb", "br"):
            raise ValueError(f"{self}: remote files can only be opened for reading bytes")
        return _opener().open(self, buffering)

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            return bytes(file.read())

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the size, the time of the last change, and as inode a number that differs for other content.
        The fraction of the second depends on that number, so that code that compares size and time notices
        every change."""
        return _opener().status(self)

    def lstat(self) -> os.stat_result:
        return self.stat()

    def exists(self, **options: Any) -> bool:
        return _opener().is_there(self)

    def is_file(self) -> bool:
        return _opener().is_there(self) and not self.is_dir()

    def is_dir(self) -> bool:
        return _opener().is_folder(self)

    def is_symlink(self) -> bool:
        return False

    def iterdir(self) -> Iterator[Any]:
        raise NotImplementedError(f"{self}: use core.remote.listing to list folders")


def path_or_address(text: str | os.PathLike[str]) -> Path:
    """Return the path that a user's text names: on this machine, or a `RemotePath` for an address."""
    if isinstance(text, Path):
        return text
    return RemotePath(str(text)) if is_address(text) else Path(text)
