import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.conformance import World
from provisioner.providers.local.provider import LocalProvider, LocalSettings

if TYPE_CHECKING:
    from provisioner.providers.aws_emulator.emulator import Emulator

REPOSITORY = Path(__file__).resolve().parents[3]
VERSION = "5.0.5"


@pytest.fixture(scope="session")
def agent_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real agent: the one RINGMASTER_AGENT_BINARY names, else built here."""
    if given := os.environ.get("RINGMASTER_AGENT_BINARY"):
        return Path(given)
    binary = tmp_path_factory.mktemp("agent") / "agent"
    subprocess.run(
        ["go", "build", "-o", str(binary), "./cmd/agent"],
        cwd=REPOSITORY / "images" / "agent",
        env=os.environ | {"CGO_ENABLED": "0"},
        check=True,
    )
    return binary


@pytest.fixture
def settings(tmp_path: Path, agent_binary: Path) -> LocalSettings:
    """A state folder of its own, and a cache that holds an engine tree as the bake leaves it, but empty."""
    tree = tmp_path / "cache" / f"cassandra-{VERSION}"
    tree.mkdir(parents=True)
    (tree / "manifest.json").write_text("{}")
    return LocalSettings(
        state_dir=tmp_path / "state",
        cache_dir=tmp_path / "cache",
        agent_binary=agent_binary,
        bake_script=REPOSITORY / "images" / "machine" / "cassandra" / "bake",
    )


def local_leftovers(settings: LocalSettings) -> list[str]:
    """Files and processes of any machine of this state folder, past what the provider says."""
    files = [str(path) for folder in ("machines", "networks") for path in (settings.state_dir / folder).glob("*")]
    return files + [f"process {process}" for process in processes_under(settings.state_dir)]


def processes_under(state_dir: Path) -> list[int]:
    machines = state_dir.resolve() / "machines"
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                environment = Path(f"/proc/{entry}/environ").read_bytes()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if f"RINGMASTER_MACHINE={machines}/".encode() in environment:
                found.append(int(entry))
    return found


@pytest.fixture
def world(settings: LocalSettings) -> Iterator[World]:
    yield World(
        open=lambda: LocalProvider(settings),
        leftovers=lambda: local_leftovers(settings),
        region="local-1",
        zones=("local-1a", "local-1b", "local-1c"),
        other_region="local-2",
        machine_type="local.small",
        memory_mib=64,
        engine="cassandra",
        version=VERSION,
        unknown_version="0.0.0",
        seconds=20,
    )
    assert processes_under(settings.state_dir) == []


@pytest.fixture
def aws_cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator["Emulator"]:
    """The emulated AWS. Whatever was called there, the policy document must allow."""
    from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
    from provisioner.providers.tests.aws_policy import allowed_actions, permissions, price_actions

    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with Emulator() as cloud:
        cloud.add_image("cassandra", VERSION)
        yield cloud
        assert permissions(cloud.calls) <= allowed_actions() | price_actions()


@pytest.fixture
def aws_settings(aws_cloud: "Emulator") -> AwsSettings:
    return AwsSettings(endpoint_url=aws_cloud.url, control_plane_cidrs=("192.0.2.0/24",))
