"""An ASGI application of this repository in a uvicorn process of its own, as the launcher runs it, on any free port.

`python -m e2e.serving MODULE:NAME` is that process: it binds port 0 and prints the port it got.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).resolve().parents[1]
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """User and system time the process has used, in seconds (resolution: one clock tick, usually 10 ms)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


@contextmanager
def serving(
    application: str, *, environment: Mapping[str, str] = os.environ, log: IO[bytes] | None = None
) -> Iterator[Server]:
    """Serves `application` ("package.module:name") until the block ends. The first request waits until it is up."""
    process = subprocess.Popen(
        [sys.executable, "-m", "e2e.serving", application],
        cwd=CHECKOUT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline()
        if not port:
            raise RuntimeError(f"{application} does not start: exit code {process.wait()}")
        yield Server(int(port), process.pid)
    finally:
        process.terminate()
        process.wait(20)


def main() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    configuration = uvicorn.Config(
        sys.argv[1],
        access_log=False,
        log_level="warning",
        lifespan="off",
        timeout_keep_alive=600,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(configuration).run(sockets=[listener])


if __name__ == "__main__":
    main()
