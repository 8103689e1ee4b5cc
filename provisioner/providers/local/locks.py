"""File locks that end with the process that holds them, so a crash leaves none behind."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provisioner.providers.base import ProviderError

_LONGEST_WAIT_SECONDS = 5.0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, made if need be. ProviderError (retryable) when another holds it for 5 s.

    The holder may delete the file: whoever waited then notices that its lock is on a file nobody else will find, and
    starts over.
    """
    give_up_at = time.monotonic() + _LONGEST_WAIT_SECONDS
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if _take(descriptor) and _still_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)
        if time.monotonic() > give_up_at:
            raise ProviderError(f"{path.name} is held by another worker.")
        time.sleep(0.005)


def is_held(path: Path) -> bool:
    """Whether some process holds the lock file exclusively; False when there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _still_at(path: Path, descriptor: int) -> bool:
    mine = os.fstat(descriptor)
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
