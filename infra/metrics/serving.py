"""Debian's Prometheus with given samples in it, and Alertmanager, for tests and benchmarks: on any free port."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.local import ports, services

_START_SECONDS = 20.0


def load(folder: Path, lines: Iterable[str], *, block: str = "2h") -> None:
    """Puts samples into the store in `folder`: lines of OpenMetrics with times in seconds, without `# EOF`.

    `block`: how much time a block of the store holds, 2h times a power of three; everything is read once for each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "samples.txt"
    with file.open("w") as opened:
        opened.writelines(lines)
        opened.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", f"--max-block-duration={block}"]
    command += [str(file), str(folder / "data")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    file.unlink()
    if result.returncode != 0:
        raise RuntimeError(f"promtool: {result.stdout}{result.stderr}")


@contextmanager
def serving(folder: Path, *, configuration: str = "global: {}\n", more: tuple[str, ...] = ()) -> Iterator[str]:
    """The address of a Prometheus that serves what is in `folder` until the block ends."""
    program = shutil.which("prometheus")
    if program is None:
        raise RuntimeError("Prometheus is missing: apt-get install prometheus")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text(configuration)
    arguments = (
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        *more,
    )
    with _running(program, arguments, folder) as url:
        yield url


@contextmanager
def alertmanager(folder: Path, *, configuration: str) -> Iterator[str]:
    """The address of an Alertmanager that works in `folder` until the block ends."""
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        raise RuntimeError("Alertmanager is missing: apt-get install prometheus-alertmanager")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "alertmanager.yml").write_text(configuration)
    arguments = (
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'data'}",
        "--cluster.listen-address=",
    )
    with _running(program, arguments, folder) as url:
        yield url


@contextmanager
def _running(program: str, arguments: tuple[str, ...], folder: Path) -> Iterator[str]:
    """The address of a program of Prometheus' family, as soon as it is ready."""
    port = ports.choose(["prometheus"], remembered={}, preferred={})["prometheus"]
    address = f"{ports.LOOPBACK}:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(*services.dying_with_parent("TERM", wanted=True), program),
                *arguments,
                f"--web.listen-address={address}",
                "--log.level=warn",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait(f"http://{address}", process, folder / "log")
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"It does not start:\n{log.read_text()}") from None
        time.sleep(0.02)
