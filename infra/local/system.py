"""What the machine itself must offer, and Debian's packages for what it lacks.

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local import services

# Debian starts the servers that it installs, unless this file says no. Ours are private; nobody needs those.
_POLICY = Path("/usr/sbin/policy-rc.d")


class MissingError(RuntimeError):
    """The machine lacks something that may not or cannot be installed. The text names it and says what to run."""


@dataclass(frozen=True)
class Requirement:
    """A program. `package` is Debian's name, None when Debian 12 has none that is new enough."""

    title: str
    package: str | None
    present: Callable[[], bool]
    remedy: str = ""


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def _has_postgres() -> bool:
    try:
        return bool(services.postgres_program("initdb"))
    except services.ServiceError:
        return False


def java_home() -> Path | None:
    """The home of a Java 17, which Cassandra 5 asks for; None when there is none."""
    candidates = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    found = shutil.which("java")
    if found is not None:
        candidates.append(Path(found).resolve().parents[1])
    candidates += sorted(Path("/usr/lib/jvm").glob("*-17-*"))
    for home in candidates:
        release = home / "release"
        if (home / "bin" / "java").exists() and release.is_file() and 'JAVA_VERSION="17' in release.read_text():
            return home
    return None


def _go_is_new_enough(wanted: tuple[int, int]) -> bool:
    if shutil.which("go") is None:
        return False
    # GOTOOLCHAIN=local: the question is what is installed, not what Go could download.
    version = subprocess.run(
        ["go", "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOTOOLCHAIN": "local"},
        cwd="/",
    ).stdout
    match = re.match(r"go(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= wanted


def _can_make_environments() -> bool:
    probe = subprocess.run([sys.executable, "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return probe.returncode == 0


def _has_compose() -> bool:
    """As a program of its own, or as Docker's plugin: Docker alone has none."""
    if shutil.which("docker-compose") is not None:
        return True
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


# To run the product.
RUN = (
    Requirement("Python's venv", "python3-venv", _can_make_environments),
    Requirement("Postgres", "postgresql", _has_postgres),
    Requirement("Redis", "redis-server", _program("redis-server")),
    Requirement("Prometheus", "prometheus", _program("prometheus")),
    Requirement("Alertmanager", "prometheus-alertmanager", _program("prometheus-alertmanager")),
    Requirement("Java 17", "openjdk-17-jdk-headless", lambda: java_home() is not None),
    Requirement("Maven", "maven", _program("mvn")),
    Requirement(
        "Go 1.26 or newer",
        None,
        lambda: _go_is_new_enough((1, 26)),
        "unpack a current Go from https://go.dev/dl/ into /usr/local and put /usr/local/go/bin on the PATH",
    ),
)
# To check and test it.
DEVELOPMENT = (
    Requirement("Chromium", "chromium", _program("chromium")),
    Requirement("ShellCheck", "shellcheck", _program("shellcheck")),
    Requirement("Packer", "packer", _program("packer")),
    Requirement("fio", "fio", _program("fio")),
    Requirement("XFS programs", "xfsprogs", _program("mkfs.xfs")),
    Requirement("udev", "udev", _program("udevadm")),
    Requirement("mdadm", "mdadm", _program("mdadm")),
    Requirement("systemd-analyze", "systemd", _program("systemd-analyze")),
    Requirement("Docker Compose", "docker-compose", _has_compose),
)
# To bake the machine image under emulation and boot it.
IMAGES = (
    Requirement("QEMU", "qemu-system-x86", _program("qemu-system-x86_64")),
    Requirement("QEMU's disk tools", "qemu-utils", _program("qemu-img")),
    Requirement("mmdebstrap", "mmdebstrap", _program("mmdebstrap")),
    Requirement("sfdisk", "fdisk", _program("sfdisk")),
    Requirement("mke2fs", "e2fsprogs", _program("mke2fs")),
    Requirement("netcat", "netcat-openbsd", _program("nc")),
    Requirement("SSH client", "openssh-client", _program("ssh-keygen")),
)


def ensure(requirements: tuple[Requirement, ...], run: Callable[[list[str], dict[str, str]], None]) -> None:
    """Install what is missing with apt. Raises MissingError when we are not root, there is no apt, or Debian has none.

    `run` executes a command with additional environment variables and raises when it fails.
    """
    missing = [requirement for requirement in requirements if not requirement.present()]
    if not missing:
        return
    unavailable = [requirement for requirement in missing if requirement.package is None]
    packages = [requirement.package for requirement in missing if requirement.package is not None]
    may_install = os.getuid() == 0 and shutil.which("apt-get") is not None
    if unavailable or not may_install:
        raise MissingError(_explanation(unavailable, packages))
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with _no_services_started():
        run(["apt-get", "update", "-q"], quiet)
        run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages], quiet)
    still = [requirement for requirement in missing if not requirement.present()]
    if still:
        raise MissingError(f"installed, and still not found: {', '.join(requirement.title for requirement in still)}")


def _explanation(unavailable: list[Requirement], packages: list[str]) -> str:
    lines = ["This machine lacks something that cannot be installed from here:"]
    lines += [f"  {requirement.title}: {requirement.remedy}" for requirement in unavailable]
    if packages:
        lines.append(f"  sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}")
    lines.append("Then run the same command again.")
    return "\n".join(lines)


@contextmanager
def _no_services_started() -> Iterator[None]:
    """Keep apt from starting the servers it installs; a policy that the machine has already is left alone."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
