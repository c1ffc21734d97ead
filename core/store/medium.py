"""What kind of place a store's folder is: whether another computer may have it open too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

Mount = tuple[str, str]
"""Where a file system is mounted, and its type."""

NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "afpfs", "webdav", "ncpfs", "ceph"}
    | {"lustre", "beegfs", "gpfs", "gfs2", "ocfs2", "glusterfs", "virtiofs", "vboxsf", "prl_fs", "vmhgfs"}
    | {"drvfs", "coda", "davfs", "sshfs", "osxfuse", "macfuse"}
)
LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs", "fuse.ntfs-3g", "fuse.exfat", "fuse.portal"})
_DRIVE_REMOTE = 4


def network_type(folder: Path, mounts: Iterable[Mount] | None = None) -> str | None:
    """The type of the file system when others may reach it over a network, or from outside this machine.

    `mounts` are this machine's unless they are given; a later one hides an earlier one.
    """
    if mounts is None and sys.platform == "win32":
        return _remote_drive(folder)
    real = folder.resolve()
    kind = ""
    longest = -1
    for place, type_ in _mounts() if mounts is None else mounts:
        depth = len(Path(place).parts)
        if depth >= longest and real.is_relative_to(place):
            longest, kind = depth, type_
    fuse = kind.startswith("fuse") and kind not in LOCAL_FUSE
    return kind if fuse or kind in NETWORK else None


def _mounts() -> list[Mount]:
    return [(p.mountpoint, p.fstype) for p in psutil.disk_partitions(all=True)]


def _remote_drive(folder: Path) -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes

    root = os.path.splitdrive(folder.resolve())[0] + "\\"
    remote = root.startswith("\\\\") or ctypes.windll.kernel32.GetDriveTypeW(root) == _DRIVE_REMOTE
    return "network drive" if remote else None
