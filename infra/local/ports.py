"""Ports that are free when chosen, remembered so that an address stays the same, and checked again at every start."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from pathlib import Path

LOOPBACK = "127.0.0.1"
CONSOLE = "console"
CONSOLE_PORT = 8080


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now. A wildcard listener counts as taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
        # As servers do: a port whose last connection is in TIME_WAIT is free, one with a listener is not.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((LOOPBACK, port))
            attempt.listen(1)
        except OSError:
            return False
    return True


def choose(names: Iterable[str], *, remembered: dict[str, int], preferred: dict[str, int]) -> dict[str, int]:
    """A free port for each name: the remembered one, else the preferred one, else any.

    All of them are held open until the last is chosen, so that no two names get the same port.
    """
    chosen: dict[str, int] = {}
    held: list[socket.socket] = []
    try:
        for name in names:
            wishes = [remembered.get(name), preferred.get(name)]
            usable = [port for port in wishes if port and port not in chosen.values() and is_free(port)]
            holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            held.append(holder)
            if usable:
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind((LOOPBACK, usable[0] if usable else 0))
            chosen[name] = holder.getsockname()[1]
    finally:
        for holder in held:
            holder.close()
    return chosen


def read(path: Path) -> dict[str, int]:
    """The ports remembered in `path`; none when there is no such file or it is damaged."""
    try:
        document = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {name: port for name, port in document.items() if isinstance(port, int) and 0 < port < 65536}


def write(path: Path, ports: dict[str, int]) -> None:
    """Remember `ports` in `path`, all or nothing."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(ports, indent=1, sort_keys=True) + "\n")
    new.replace(path)
