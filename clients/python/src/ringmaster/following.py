"""Following operations, which is what slow things are, as the API tells them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from ringmaster.errors import OperationCancelled, OperationFailed, OperationStands, WaitTimeout

_FIRST_PAUSE, _LAST_PAUSE = 0.25, 3.0  # seconds


def follow(
    read: Callable[[], dict[str, Any]],
    *,
    timeout: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """How the operation stands, again and again until it has succeeded. `timeout` is in seconds.

    Raises OperationFailed, OperationCancelled, OperationStands, WaitTimeout, and what `read` raises.
    """
    began, pause = clock(), _FIRST_PAUSE
    while True:
        now = read()
        yield now
        match now["state"]:
            case "succeeded":
                return
            case "failed":
                raise OperationFailed(now)
            case "cancelled":
                raise OperationCancelled(now)
            case "blocked" | "paused":
                raise OperationStands(now)
        if timeout is not None and clock() - began + pause > timeout:
            raise WaitTimeout(f"{now['title']} ({now['id']}) is still {now['state']} after {timeout:.0f} seconds.")
        sleep(pause)
        pause = min(pause * 1.5, _LAST_PAUSE)
