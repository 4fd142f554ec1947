"""A disk that forgets, when its power is cut, whatever was not synced.

As strict as POSIX allows: `fsync` of a file keeps its bytes, of a directory its names, and nothing else is kept.
A FUSE server in a process of its own holds the unsynced part apart, in `cache/`; what is synced goes to `data/` (bytes)
and `names/` (directories). Killing that process is the cut; mounting again shows what `data/` and `names/` hold.
"""

import errno
import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

import mfusepy

from tests.lab.processes import Process

ROOT = "root"
REPOSITORY = Path(__file__).resolve().parents[2]


class Disk:
    """A mountable disk in `directory`; a context manager that unmounts it at the end.

    Args:
        directory: An absolute path; the disk keeps its state there and mounts at `directory/mnt`.
    """

    def __init__(self, directory: Path) -> None:
        self._state = directory / "state"
        self.path = directory / "mnt"
        self._server: Process | None = None
        for folder in (self.path, self._state / "data", self._state / "names"):
            folder.mkdir(parents=True)

    def mount(self) -> Path:
        """Turn the power on: the folder where what was synced so far can be seen and changed."""
        self._server = Process([sys.executable, "-m", "tests.lab.power_loss", self._state, self.path], cwd=REPOSITORY)
        self._server.wait_line("^mounted$")
        return self.path

    def cut(self) -> None:
        """Cut the power: what was not synced is lost, and files that are open fail from now on."""
        if self._server:
            self._server.kill9()
            self._server = None
            subprocess.run(["fusermount3", "-u", "-z", self.path], check=True, capture_output=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.cut()


@dataclass(eq=False)
class _Node:
    """A file or a directory: names below it, or stretches of bytes that are not synced."""

    key: str
    mode: int
    names: dict[str, "_Node"] = field(default_factory=dict)
    unsynced: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


class _Server(mfusepy.Operations):  # type: ignore[misc]  # mfusepy has no types
    """What the kernel asks of the disk. A file handle is a descriptor of the file's copy in `cache/`."""

    use_ns = True

    def __init__(self, state: Path) -> None:
        self._data, self._names, self._cache = state / "data", state / "names", state / "cache"
        shutil.rmtree(self._cache, ignore_errors=True)
        self._cache.mkdir()
        self._open: dict[int, _Node] = {}
        self._root = self._load(ROOT, stat.S_IFDIR | 0o755)

    def init(self, path: str) -> None:
        print("mounted", flush=True)

    # What survived.

    def _load(self, key: str, mode: int) -> _Node:
        node = _Node(key, mode)
        if not node.is_directory:
            durable = self._data / key
            if durable.exists():
                shutil.copyfile(durable, self._cache / key)
            else:
                (self._cache / key).touch()
        elif (self._names / key).exists():
            for name, (child, child_mode) in json.loads((self._names / key).read_bytes()).items():
                node.names[name] = self._load(child, child_mode)
        return node

    # Where things are.

    def _find(self, path: str) -> _Node:
        node = self._root
        for part in PurePosixPath(path).parts[1:]:
            if part not in node.names:
                raise mfusepy.FuseOSError(errno.ENOENT)
            node = node.names[part]
        return node

    def _place(self, path: str) -> tuple[dict[str, _Node], str]:
        where = PurePosixPath(path)
        return self._find(str(where.parent)).names, where.name

    def _file(self, node: _Node) -> Path:
        return self._cache / node.key

    # Names: volatile until their directory is synced.

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        node = self._find(path)
        seen = os.stat(self._cache if node.is_directory else self._file(node))
        return {
            "st_mode": node.mode,
            "st_nlink": 2 if node.is_directory else 1,
            "st_size": seen.st_size,
            "st_uid": os.getuid(),
            "st_gid": os.getgid(),
            "st_atime": seen.st_atime_ns,
            "st_mtime": seen.st_mtime_ns,
            "st_ctime": seen.st_ctime_ns,
        }

    def readdir(self, path: str, fh: int) -> Iterator[str]:
        yield from (".", "..", *self._find(path).names)

    def mkdir(self, path: str, mode: int) -> int:
        names, name = self._place(path)
        names[name] = _Node(secrets.token_hex(8), stat.S_IFDIR | mode)
        return 0

    def rmdir(self, path: str) -> int:
        names, name = self._place(path)
        if names[name].names:
            raise mfusepy.FuseOSError(errno.ENOTEMPTY)
        del names[name]
        return 0

    def unlink(self, path: str) -> int:
        names, name = self._place(path)
        del names[name]
        return 0

    def rename(self, old: str, new: str) -> int:
        node = self._find(old)
        names, name = self._place(new)
        names[name] = node
        return self.unlink(old) if old != new else 0

    def chmod(self, path: str, mode: int) -> int:
        node = self._find(path)
        node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        return 0

    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        node = self._find(path)
        synced = self._names / node.key
        fresh = synced.with_suffix(".new")
        fresh.write_text(json.dumps({name: (child.key, child.mode) for name, child in node.names.items()}))
        fresh.replace(synced)
        return 0

    def mknod(self, path: str, mode: int, dev: int) -> int:
        """A socket's name: the kernel needs no more of it than that it is there."""
        names, name = self._place(path)
        names[name] = node = _Node(secrets.token_hex(8), mode)
        self._file(node).touch()
        return 0

    # Bytes: volatile until their file is synced.

    def create(self, path: str, mode: int, flags: int) -> int:
        names, name = self._place(path)
        node = names[name] = _Node(secrets.token_hex(8), stat.S_IFREG | stat.S_IMODE(mode))
        self._file(node).touch()
        return self._handle(node)

    def open(self, path: str, flags: int) -> int:
        if flags & os.O_TRUNC:
            self.truncate(path, 0)
        return self._handle(self._find(path))

    def _handle(self, node: _Node) -> int:
        handle = os.open(self._file(node), os.O_RDWR)
        self._open[handle] = node
        return handle

    def release(self, path: str, fh: int) -> int:
        del self._open[fh]
        os.close(fh)
        return 0

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self._open[fh].unsynced.append((offset, len(data)))
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        node = self._find(path) if fh is None else self._open[fh]
        before = self._file(node).stat().st_size
        node.unsynced.append((min(before, length), abs(before - length)))
        os.truncate(self._file(node), length)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        node = self._open[fh]
        durable = os.open(self._data / node.key, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            for offset, length in node.unsynced:
                os.pwrite(durable, os.pread(fh, length, offset), offset)
            os.ftruncate(durable, os.fstat(fh).st_size)
        finally:
            os.close(durable)
        node.unsynced.clear()
        return 0

    def utimens(self, path: str, times: tuple[int, int]) -> int:
        node = self._find(path)
        if not node.is_directory:
            os.utime(self._file(node), ns=times)
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        seen = os.statvfs(self._cache)
        names = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_namemax")
        return {name: getattr(seen, name) for name in names}


def serve(state: Path, mount_point: Path) -> None:
    """Serve the disk until it is unmounted or killed."""
    everybody = {"allow_other": True} if os.geteuid() == 0 else {}
    mfusepy.FUSE(_Server(state), str(mount_point), foreground=True, nothreads=True, **everybody)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
