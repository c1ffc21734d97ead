"""libhdfs, Hadoop's own client as a C library: where it is installed, and the functions that pyarrow lacks.

It starts a Java virtual machine inside this process, which runs until the process ends.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LIBRARY = {"darwin": "libhdfs.dylib", "win32": "hdfs.dll"}.get(sys.platform, "libhdfs.so")
JVM = {"darwin": "lib/server/libjvm.dylib", "win32": "bin/server/jvm.dll"}.get(
    sys.platform, "lib/server/libjvm.so"
)
CLASSPATH_SECONDS = 20
JAVA_OPTIONS = "-Xrs -Xmx1g"
"""Leave Ctrl+C to Python, and limit the heap. The variable LIBHDFS_OPTS overrides these options."""
REMEDY = "Set HADOOP_HOME, or ARROW_LIBHDFS_DIR and CLASSPATH, and JAVA_HOME to use it"
_CLASSES = {
    "org/apache/hadoop/fs/FileSystem": "hadoop-common",
    "org/apache/hadoop/hdfs/DistributedFileSystem": "hadoop-hdfs-client",
}
_EXCEPTION_CLASSES = {
    f"org/apache/commons/{package}/exception/ExceptionUtils": f"commons-{package}"
    for package in ("lang3", "lang")
}
"""libhdfs crashes at its first error if the class that it was compiled with is missing."""


@dataclass(frozen=True)
class Installation:
    """What libhdfs needs: the library, a Java installation, and a class path of jars and configuration."""

    library: Path
    java_home: Path
    classpath: str


class NotInstalled(Exception):
    """Why libhdfs cannot be used here, as a part of a sentence."""


def installation() -> Installation:
    """Find the installation by the environment variables that pyarrow and Hadoop read themselves. The first
    call may run `hadoop classpath`, for about a second. Raises `NotInstalled`."""
    names = ("ARROW_LIBHDFS_DIR", "HADOOP_HOME", "JAVA_HOME", "CLASSPATH", "PATH")
    result = _search(*(os.environ.get(name, "") for name in names))
    if isinstance(result, str):
        raise NotInstalled(result)
    return result


@cache
def _search(
    arrow_folder: str, hadoop_home: str, java_home: str, classpath: str, path: str
) -> Installation | str:
    """Return the installation, or the reason why there is none."""
    hadoop = Path(hadoop_home, "bin", "hadoop") if hadoop_home else _program("hadoop", path)
    folders = [Path(arrow_folder)] if arrow_folder else []
    folders += [hadoop.parent.parent / "lib" / "native"] if hadoop is not None else []
    library = next((file for folder in folders if (file := folder / LIBRARY).is_file()), None)
    if library is None:
        places = " or ".join(map(str, folders))
        return f"{LIBRARY} is not in {places}" if places else "libhdfs was not found"
    java = Path(java_home) if java_home else _home_of(_program("java", path))
    if java is None or not (java / JVM).is_file():
        return f"{library} needs Java, which is not at {java}" if java else f"{library} needs Java"
    try:
        classpath = classpath or _classpath(hadoop, java)
        _check_classes(library, classpath)
    except NotInstalled as problem:
        return f"{library} cannot be used: {problem}"
    return Installation(library, java, classpath)


def _program(name: str, path: str) -> Path | None:
    program = shutil.which(name, path=path)
    return Path(program).resolve() if program else None


def _home_of(program: Path | None) -> Path | None:
    return program.parent.parent if program is not None else None


def _classpath(hadoop: Path | None, java: Path) -> str:
    """Return the class path of Hadoop's configuration and jars, from the command `hadoop`."""
    if hadoop is None or not hadoop.is_file():
        raise NotInstalled("neither CLASSPATH nor the command hadoop says where Hadoop's jars are")
    try:
        process = subprocess.run(
            [hadoop, "classpath", "--glob"],
            capture_output=True,
            encoding="utf-8",
            timeout=CLASSPATH_SECONDS,
            check=False,
            env={**os.environ, "JAVA_HOME": str(java)},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{hadoop} classpath: {error}") from None
    if process.returncode or not process.stdout.strip():
        why = (process.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise NotInstalled(f"{hadoop} classpath: {why}")
    return process.stdout.strip()


def _check_classes(library: Path, classpath: str) -> None:
    """Raise `NotInstalled` if jars are missing without which libhdfs fails or ends the process."""
    code = library.read_bytes()
    missing = _CLASSES | {name: jar for name, jar in _EXCEPTION_CLASSES.items() if name.encode() in code}
    for entry in classpath.split(os.pathsep):
        folder, star = Path(entry.removesuffix("*")), entry.endswith("*")
        if not star and folder.is_dir():
            missing = {name: jar for name, jar in missing.items() if not (folder / f"{name}.class").is_file()}
        for file in sorted(folder.glob("*.jar")) if star else [folder]:
            if missing and zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as jar_file:
                    names = set(jar_file.namelist())
                missing = {name: jar for name, jar in missing.items() if f"{name}.class" not in names}
    if missing:
        raise NotInstalled(f"the class path lacks {', '.join(missing.values())}")


class Library:
    """libhdfs in this process, for functions that pyarrow lacks: the cause of an error, and a rename that
    never replaces a file. Call `load` first. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._java: Any = None
        self._functions: Any = None

    def load(self, hadoop: Installation) -> None:
        """Load the libraries, and set the environment variables that pyarrow and libhdfs read. The Java
        virtual machine starts with the first connection. Raises `OSError`."""
        with self._lock:
            if self._functions is not None:
                return
            java = ctypes.CDLL(
                str(hadoop.java_home / JVM), ctypes.RTLD_GLOBAL
            )  # libhdfs does not look for it
            functions = ctypes.CDLL(str(hadoop.library))
            pointer, text = ctypes.c_void_p, ctypes.c_char_p
            functions.hdfsNewBuilder.restype = pointer
            functions.hdfsBuilderSetForceNewInstance.argtypes = [pointer]
            functions.hdfsBuilderSetForceNewInstance.restype = None
            functions.hdfsBuilderSetNameNode.argtypes = [pointer, text]
            functions.hdfsBuilderSetNameNodePort.argtypes = [pointer, ctypes.c_uint16]
            functions.hdfsBuilderSetUserName.argtypes = [pointer, text]
            functions.hdfsBuilderConfSetStr.argtypes = [pointer, text, text]
            functions.hdfsBuilderConnect.argtypes = [pointer]
            functions.hdfsBuilderConnect.restype = pointer
            functions.hdfsRename.argtypes = [pointer, text, text]
            if hasattr(functions, "hdfsGetLastExceptionRootCause"):  # of Hadoop 3
                functions.hdfsGetLastExceptionRootCause.restype = text
            os.environ["ARROW_LIBHDFS_DIR"] = str(hadoop.library.parent)
            os.environ["JAVA_HOME"] = str(hadoop.java_home)
            os.environ["CLASSPATH"] = hadoop.classpath
            os.environ.setdefault("LIBHDFS_OPTS", JAVA_OPTIONS)
            self._java, self._functions, self._process = java, functions, os.getpid()

    @property
    def is_of_parent(self) -> bool:
        """Whether this is a forked process whose parent loaded libhdfs: the Java virtual machine does not
        work here."""
        return self._process not in (0, os.getpid())

    @property
    def has_java(self) -> bool:
        """Whether the Java virtual machine has started."""
        if self._java is None:
            return False
        count = ctypes.c_int(0)
        self._java.JNI_GetCreatedJavaVMs(ctypes.byref(ctypes.c_void_p()), 1, ctypes.byref(count))
        return count.value > 0

    def root_cause(self) -> str:
        """Return what Java last threw on this thread, such as `ConnectException: Connection refused`. Empty
        if there is no Java virtual machine, or with libhdfs before Hadoop 3."""
        if not self.has_java or not hasattr(self._functions, "hdfsGetLastExceptionRootCause"):
            return ""
        return (self._functions.hdfsGetLastExceptionRootCause() or b"").decode("utf-8", "replace").strip()

    def connect(self, host: str, port: int, user: str, settings: dict[str, str]) -> Any:
        """Return a file system for `rename`; None if the connection failed, for which `root_cause` has the
        reason."""
        functions = self._functions
        builder = functions.hdfsNewBuilder()
        # The builder copies no text, and reads each when it connects: all of them have to live until then.
        namenode, account = host.encode(), user.encode()
        configuration = [(name.encode(), value.encode()) for name, value in settings.items()]
        functions.hdfsBuilderSetForceNewInstance(builder)  # else one with other settings may be shared
        functions.hdfsBuilderSetNameNode(builder, namenode)
        functions.hdfsBuilderSetNameNodePort(builder, port)
        if user:
            functions.hdfsBuilderSetUserName(builder, account)
        for name_text, value_text in configuration:
            functions.hdfsBuilderConfSetStr(builder, name_text, value_text)
        return functions.hdfsBuilderConnect(builder)

    def rename(self, file_system: Any, old: str, new: str) -> bool:
        """Rename a file; return whether that worked. Fails if the new name exists, and keeps that file."""
        return bool(self._functions.hdfsRename(file_system, old.encode(), new.encode()) == 0)


library = Library()
