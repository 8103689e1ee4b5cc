"""Offers one simulated world to all processes of an installation, on a unix socket.

python -m provisioner.fleet.server /path/to/fleet.sock
"""

import argparse
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from provisioner.fleet.simulator import Simulator

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def application(simulator: Simulator) -> Callable[[dict[str, Any], Receive, Send], Awaitable[None]]:
    """The world as an ASGI application. One request at a time: the answers are computed on the event loop."""

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, content = simulator.answer(
            scope["method"], scope["raw_path"].decode(), scope["query_string"].decode(), bytes(body)
        )
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return answer


def _server(simulator: Simulator, socket: Path) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            application(simulator),
            uds=str(socket),
            access_log=False,
            log_level="warning",
            lifespan="off",
            timeout_keep_alive=600,
        )
    )


@contextmanager
def serving(simulator: Simulator, socket: Path) -> Iterator[None]:
    """Serve in a thread of this process until the block ends."""
    server = _server(simulator, socket)
    thread = threading.Thread(target=server.run, name="fleet", daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError(f"The simulator cannot listen at {socket}.")
            time.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        thread.join(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("socket", type=Path)
    parser.add_argument("--boot-seconds", type=float, default=0.0)
    parser.add_argument("--delete-seconds", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    simulator = Simulator(boot_seconds=options.boot_seconds, delete_seconds=options.delete_seconds, seed=options.seed)
    _server(simulator, options.socket).run()


if __name__ == "__main__":
    main()
