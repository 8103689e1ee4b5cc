"""A folder: for one machine, or a file system that all nodes and the control plane have mounted."""

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from provisioner.stores.base import (
    PROBE,
    ObjectMissing,
    Part,
    Store,
    Stored,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreRefused,
    StoreSpec,
    StoreUnreachable,
    checked,
)

_CHUNK = 1 << 20
_PARTIAL = ".partial-"
"""Begins the names of files that are being written; a list leaves them out."""


class FolderStore:
    def __init__(self, spec: StoreSpec) -> None:
        self._folder = Path(spec.folder)
        self._root = self._folder / spec.prefix if spec.prefix else self._folder

    def put(self, name: str, content: bytes) -> None:
        path = self._path(name)
        with _translating(self._folder):
            self._folder.stat()
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.parent / f"{_PARTIAL}{secrets.token_hex(8)}"
            try:
                with partial.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                partial.rename(path)
                _sync(path.parent)
            finally:
                partial.unlink(missing_ok=True)

    def get(self, name: str) -> bytes:
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        with _translating(self._folder, name), self._path(name).open("rb") as file:
            while piece := file.read(_CHUNK):
                yield piece

    def size(self, name: str) -> int | None:
        try:
            with _translating(self._folder, name):
                return self._path(name).stat().st_size
        except ObjectMissing:
            return None

    def delete(self, names: Sequence[str]) -> None:
        with _translating(self._folder):
            for name in names:
                self._path(name).unlink(missing_ok=True)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        with _translating(self._folder):
            self._folder.stat()
            found = [
                (path.relative_to(self._root).as_posix(), path)
                for path in self._root.rglob("*")
                if path.is_file() and not path.name.startswith(_PARTIAL)
            ]
            for name, path in sorted(found):
                if not name.startswith(prefix) or name <= after:
                    continue
                stat = path.stat()
                modified = datetime.fromtimestamp(stat.st_mtime, UTC)
                yield Stored(name=name, size=stat.st_size, modified_at=modified)

    def read(self, name: str, begin: int, length: int) -> bytes:
        with _translating(self._folder, name), self._path(name).open("rb") as file:
            file.seek(begin)
            return file.read(length)

    def begin_upload(self, name: str, size: int) -> str:
        upload = secrets.token_hex(8)
        with _translating(self._folder):
            self._folder.stat()
            self._path(name).parent.mkdir(parents=True, exist_ok=True)
            self._upload(name, upload).touch()
        return upload

    def put_part(self, name: str, upload: str, part: Part, content: bytes) -> str:
        with _translating(self._folder, name), self._upload(name, upload).open("r+b") as file:
            file.seek(part.begin)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return str(part.number)

    def copy_part(self, source: Store, name: str, upload: str, part: Part) -> str | None:
        return None

    def finish_upload(self, name: str, upload: str, receipts: Sequence[str]) -> None:
        path = self._path(name)
        with _translating(self._folder, name):
            self._upload(name, upload).rename(path)
            _sync(path.parent)

    def abort_upload(self, name: str, upload: str) -> None:
        with _translating(self._folder):
            self._upload(name, upload).unlink(missing_ok=True)

    def _upload(self, name: str, upload: str) -> Path:
        return self._path(name).parent / f"{_PARTIAL}{checked(upload)}"

    def lock(self, name: str, until: datetime) -> None:
        self.check_lock()

    def check_lock(self) -> None:
        raise StoreRefused("A folder has no object lock.", hint="Use a bucket that was made with object lock.")

    def probe(self) -> None:
        name = f"{PROBE}-{secrets.token_hex(8)}"
        self.put(name, b"probe")
        if self.get(name) != b"probe":
            raise StoreUnreachable(f"{self._folder} gives back something else than was written")
        self.delete([name])

    def _path(self, name: str) -> Path:
        return self._root / checked(name)


@contextmanager
def _translating(folder: Path, name: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _in_words(folder, name, error) from error


def _in_words(folder: Path, name: str, error: OSError) -> StoreError:
    match error.errno:
        case errno.ENOENT if name and folder.is_dir():
            return ObjectMissing(f"There is no {name} in {folder}.")
        case errno.ENOENT | errno.ENOTDIR:
            return StoreMissing(f"There is no folder {folder}.", hint="Make it, or mount what it is on.")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return StoreRefused(
                f"The folder {folder} cannot be written: {error.strerror}.",
                hint="Give the account that the control plane and the agents run as the right to write there.",
            )
        case errno.ENOSPC | errno.EDQUOT:
            return StoreFull(f"The folder {folder} is full.", hint="Make room, or keep fewer backups.")
        case _:
            return StoreUnreachable(f"The folder {folder}: {error.strerror}.")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
