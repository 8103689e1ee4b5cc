"""Whether what goes on is a dry run: for the few writes that reach something which cannot take back."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RUNNING = ContextVar("rehearsing", default=False)


def rehearsing() -> bool:
    return _RUNNING.get()


@contextmanager
def a_rehearsal() -> Iterator[None]:
    token = _RUNNING.set(True)
    try:
        yield
    finally:
        _RUNNING.reset(token)
