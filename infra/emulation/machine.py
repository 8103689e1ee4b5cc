"""A machine under QEMU's software emulation, started as a cloud starts one.

From an image, with local NVMe disks that do no more than they should, and a metadata service on its own link.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.emulation.metadata import MAC

ADDRESS = "169.254.169.15"
"""What QEMU's DHCP gives the machine."""
DISK_MODEL = "QEMU NVMe Ctrl"
USER = "debian"
_SERVICE = "169.254.169.254"
_CONTROL = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>c])|\r|\x00")


class EmulationError(RuntimeError):
    """The machine did not do what was waited for. The text ends with the last lines of its console."""


@dataclass(frozen=True)
class LocalDisk:
    """A local NVMe disk and its limits, for reads and writes together."""

    image: Path
    iops: int
    """Requests per second."""
    bandwidth: int
    """Bytes per second."""

    @classmethod
    def blank(cls, image: Path, *, size: int, iops: int, bandwidth: int) -> LocalDisk:
        """A disk of `size` bytes that nothing was ever written to."""
        with image.open("wb") as file:
            file.truncate(size)
        return cls(image, iops, bandwidth)

    def written(self) -> int:
        """Bytes of it that anything was ever written to."""
        return self.image.stat().st_blocks * 512


def root_disk(image: Path, target: Path) -> Path:
    """A machine's own root disk: `target`, which keeps only what differs from the image."""
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(image.resolve()), str(target)]
    subprocess.run(command, check=True)
    return target


@dataclass
class Machine:
    """A running machine."""

    process: subprocess.Popen[bytes]
    console: Path
    port: int
    key: Path

    def run(self, command: str, *, limit: float = 60) -> str:
        """What a shell command printed there, as root. Raises EmulationError when it fails or takes `limit` seconds."""
        try:
            done = self._ssh(f"sudo sh -c {_quoted(command)}", limit)
        except subprocess.TimeoutExpired:
            raise EmulationError(f"`{command}` took more than {limit:.0f} s\n{self.last_lines()}") from None
        if done.returncode != 0:
            raise EmulationError(f"`{command}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, command: str, *, limit: float = 60) -> Any:
        """The JSON that a command prints, however the command ends."""
        text = self.run(f"{command} || true", limit=limit)
        try:
            return json.loads(text)
        except ValueError:
            problem = self._ssh(f"sudo {command} >/dev/null", limit).stderr
            raise EmulationError(f"`{command}` printed no JSON: {text}{problem}") from None

    def wait(self, *, limit: float) -> None:
        """Until it has booted, whatever became of its units. Raises EmulationError after `limit` seconds."""
        deadline = time.monotonic() + limit
        # `is-system-running --wait` would end with the connection when the SSH server restarts.
        booted = "test -n \"$(systemctl is-system-running | grep -E 'running|degraded')\""
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise EmulationError(f"QEMU ended with {self.process.returncode}\n{self.last_lines()}")
            try:
                if self._ssh(booted, 20).returncode == 0:
                    return
            except subprocess.TimeoutExpired:
                pass
            time.sleep(1)
        raise EmulationError(f"it has not booted within {limit:.0f} s\n{self.last_lines()}")

    def power_off(self, *, limit: float = 60) -> None:
        """As an operating system does it. Raises EmulationError when it still runs after `limit` seconds."""
        self._ssh("sudo systemctl poweroff", 20)
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise EmulationError(f"it has not ended within {limit:.0f} s\n{self.last_lines()}") from None

    def last_lines(self, count: int = 60) -> str:
        """The end of what its console showed."""
        text = _CONTROL.sub("", self.console.read_text(errors="replace")) if self.console.exists() else ""
        lines = [line for line in text.splitlines() if line.strip()]
        return "\n".join([f"the last lines of its console, {self.console}:", *lines[-count:]])

    def _ssh(self, command: str, limit: float) -> subprocess.CompletedProcess[str]:
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"]
        options += ["ConnectTimeout=10", "IdentitiesOnly=yes"]
        words = ["ssh", "-i", str(self.key), "-p", str(self.port), *(word for one in options for word in ("-o", one))]
        return subprocess.run(
            [*words, f"{USER}@127.0.0.1", command],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            stdin=subprocess.DEVNULL,
        )


@contextmanager
def machine(
    root: Path, disks: Sequence[LocalDisk], *, metadata_port: int, machine_type: str, console: Path, key: Path
) -> Iterator[Machine]:
    """A machine that boots now; it is gone at the end, and its disks stay. `metadata_port` is on 127.0.0.1."""
    port = _free_port()
    # As EC2's firmware names itself: cloud-init and the agent know by it whom to ask.
    identity = "ec2e1916-9099-7caf-fd21-012345abcdef"
    firmware = f"type=1,manufacturer=Amazon EC2,product={machine_type},serial={identity},uuid={identity}"
    link = f"net=169.254.169.0/24,hostfwd=tcp:127.0.0.1:{port}-:22"
    service = f"guestfwd=tcp:{_SERVICE}:80-cmd:nc 127.0.0.1 {metadata_port}"
    # Killed with us, however we end.
    command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-machine", "pc"]
    command += ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2"]
    command += ["-m", "1536", "-display", "none", "-monitor", "none", "-serial", f"file:{console}", "-no-reboot"]
    command += ["-smbios", "type=0,vendor=Amazon EC2", "-smbios", firmware]
    command += [
        "-netdev",
        f"user,id=link,ipv6=off,{link},{service}",
        "-device",
        f"virtio-net-pci,netdev=link,mac={MAC}",
    ]
    command += ["-drive", f"file={root},if=virtio,format=qcow2,cache=unsafe", "-object", "rng-random,id=chance"]
    command += ["-device", "virtio-rng-pci,rng=chance"]
    for number, disk in enumerate(disks):
        throttle = f"throttling.iops-total={disk.iops},throttling.bps-total={disk.bandwidth}"
        backing = f"file={disk.image},if=none,format=raw,id=local{number},cache=none,aio=threads,discard=unmap"
        command += ["-drive", f"{backing},{throttle}", "-device", f"nvme,drive=local{number},serial=local-{number}"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        time.sleep(0.2)
        if process.poll() is not None and process.stderr is not None:
            raise EmulationError(f"QEMU did not start: {process.stderr.read().decode(errors='replace')}")
        yield Machine(process, console, port, key)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
