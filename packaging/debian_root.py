"""A clean Debian in a folder: created by debootstrap, with the network settings of this machine, and run in
its own namespaces, so that nothing stays mounted however it ends. Needs root."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SETTINGS = ("PIP_", "SSL_CERT_", "REQUESTS_CA_", "CURL_CA_", "GIT_SSL_")
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
PIP_FILES = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts")
HOMES = {"root": "/root", "plain": "/home/plain"}
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CARRIED = "/srv/host"
VARIABLES = "/srv/variables.json"


class Problem(Exception):
    """The reason why the work cannot begin or continue."""


# ------------------------------------------------------ how this machine reaches the others


def environment() -> dict[str, str]:
    """The environment variables that configure downloads of pip and apt."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(SETTINGS) or name.lower() in PROXIES
    }


def pip_settings() -> configparser.RawConfigParser:
    settings = configparser.RawConfigParser()
    settings.read([Path(name).expanduser() for name in PIP_FILES], "utf8")
    return settings


def carry(value: str, root: Path) -> str:
    """Copy every file of this machine that a setting names (certificates, a folder of wheels) into the root,
    to a place that no Debian package writes to, and return the setting with the new names."""
    return re.sub(r"(?<![\w:/.])/[^\s\"';,]+", lambda found: _carried(found[0], root), value)


def _carried(name: str, root: Path) -> str:
    path = Path(name)
    if not path.exists():
        return name
    place = f"{CARRIED}{name}"
    target = root / place[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True)
    else:
        shutil.copy(path, target)
    return place


def debian_sources() -> list[tuple[str, str, str]]:
    """(address, release, component) of this machine's apt sources that are Debian's, of the same suite."""
    if not shutil.which("apt-get"):
        return []
    form = ["--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian"]
    targets = subprocess.run(["apt-get", "indextargets", *form], capture_output=True, text=True, check=True)
    found = {tuple(line.split()) for line in targets.stdout.splitlines()}
    return sorted(each for each in found if len(each) == 3 and each[1].partition("-")[0] == SUITE)


def fetching() -> list[str]:
    """The apt settings about proxies and certificates."""
    if not shutil.which("apt-config"):
        return []
    dump = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True)
    return [line for line in dump.stdout.splitlines() if line.startswith("Acquire::http")]


def configure(root: Path) -> None:
    """Give the new root the network settings of this machine."""
    for name in NETWORK_FILES:
        if Path(name).exists():
            shutil.copy(name, root / name[1:])
    settings = pip_settings()
    for section in settings.sections():
        for key, value in settings.items(section):
            settings.set(section, key, carry(value, root))
    with (root / "etc/pip.conf").open("w", encoding="utf8") as file:
        settings.write(file)
    variables = {name: carry(value, root) for name, value in environment().items()}
    (root / VARIABLES[1:]).write_text(json.dumps(variables), "utf8")
    lines = "\n".join(carry(line, root) for line in fetching())
    (root / "etc/apt/apt.conf.d/99-of-the-host").write_text(f"{lines}\n", "utf8")
    if sources := debian_sources():
        lines = "".join(f"deb [signed-by={KEYRING}] {' '.join(source)}\n" for source in sources)
        (root / "etc/apt/sources.list").write_text(lines, "utf8")


# ------------------------------------------------------------------------ the bare machine


def apart(script: str, *words: str) -> list[str]:
    """The command that runs a shell script in its own mount and process namespaces: its mounts and processes
    end with it."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", script, "sh", *words]


def make_root(root: Path, packages: str = "") -> None:
    """Create a file system with a user `plain`, and `packages` (separated by commas) besides the minimal
    set."""
    mirrors = [uri for uri, release, _ in debian_sources() if release == SUITE][:1]  # else debootstrap's own
    command = ["debootstrap", "--variant=minbase", *([f"--include={packages}"] if packages else []), SUITE]
    step(shlex.join(command), apart('exec "$@"', *command, str(root), *mirrors), quiet=True)
    configure(root)
    step("a plain user", inside(root, "root", "useradd --create-home --shell /bin/sh plain"))


INSIDE = """
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for name in null zero full random urandom tty; do cp -a "/dev/$name" "$1/dev/"; done
ln -s /proc/self/fd "$1/dev/fd"
for name in shm pts; do mkdir "$1/dev/$name"; done
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
root=$1 user=$2; shift 2
exec chroot --userspec="$user" "$root" /usr/bin/env -i "$@"
"""


def inside(root: Path, user: str, line: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """The command that runs a shell line in the new root, as this user, with the variables of a login and
    `variables`, but no others of this machine."""
    home = HOMES[user]
    login = {"HOME": home, "USER": user, "LOGNAME": user, "PATH": SEARCH_PATH, "TERM": "dumb"}
    fetching_by = json.loads((root / VARIABLES[1:]).read_text("utf8"))
    pairs = [f"{name}={value}" for name, value in (fetching_by | login | dict(variables or {})).items()]
    return apart(INSIDE, str(root), user, *pairs, "/bin/sh", "-c", f"cd {home} && {line}")


# ------------------------------------------------------------------------------------ steps


def step(name: str, command: list[str], quiet: bool = False) -> None:
    began = time.monotonic()
    output = subprocess.DEVNULL if quiet else None
    code = subprocess.call(command, stdout=output)
    end = "done" if code == 0 else f"exit code {code}"
    print(f"-- {name}: {end}, {time.monotonic() - began:.0f} s", flush=True)
    if code:
        raise Problem(f"this command failed: {shlex.join(command)}")


@contextmanager
def temporary_folder(parent: Path | None, prefix: str = "bare-machine-") -> Iterator[Path]:
    """A folder that is removed at the end, unless something is unexpectedly still mounted in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    folder.chmod(0o755)  # the plain user walks through it
    try:
        yield folder
    finally:
        mounts = Path("/proc/self/mounts").read_text("utf8").splitlines()
        mounted = [line for line in mounts if f" {folder}/" in line]
        if mounted:
            print(f"{folder} stays: something is mounted there\n" + "\n".join(mounted), file=sys.stderr)
        else:
            subprocess.call(["rm", "-rf", "--one-file-system", str(folder)])


def refuse(**programs: str) -> None:
    """Raise Problem without root, debootstrap or one of these programs; the values are their Debian
    packages."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Problem("this needs root on Linux")
    for command, package in {"debootstrap": "debootstrap", "unshare": "util-linux", **programs}.items():
        if not shutil.which(command):
            raise Problem(f"this needs {command}: apt-get install -y {package}")
