"""cassandra-medusa as others run it, in a virtual environment of its own: to be compared with, and to import from."""

import configparser
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.local.layout import layout

VERSION = "0.31.0"


class CannotInstall(Exception):
    """The package index does not give it, or it does not run here; the message says why."""


def installed() -> Path:
    """The command. Installs it when it is not there. Raises CannotInstall."""
    folder = layout().cache / f"medusa-{VERSION}"
    command = folder / "bin" / "medusa"
    try:
        if not (folder / "installed").exists():
            _run(sys.executable, "-m", "venv", "--clear", folder)
            _run(folder / "bin" / "pip", "install", "-q", f"cassandra-medusa=={VERSION}")
            _run(command, "--version")
            (folder / "installed").touch()
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise CannotInstall(said.strip().splitlines()[-1] if said.strip() else str(error)) from error
    return command


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)


@dataclass(frozen=True, kw_only=True)
class Medusa:
    """Of one node. `store` is the folder that it backs up to, `prefix` what everything in it begins with."""

    command: Path
    settings: Path
    folder: Path

    @classmethod
    def of(
        cls, folder: Path, store: Path, *, engine_settings: Path, address: str, login: tuple[str, str], authority: Path
    ) -> "Medusa":
        """Writes its settings into `folder`. It names nodes by their addresses. Raises CannotInstall."""
        folder.mkdir(parents=True, exist_ok=True)
        written = configparser.ConfigParser(interpolation=None)
        written["cassandra"] = {
            "config_file": str(engine_settings),
            "cql_username": login[0],
            "cql_password": login[1],
            "certfile": str(authority),
            "resolve_ip_addresses": "False",
            "use_sudo": "False",
        }
        written["storage"] = {
            "storage_provider": "local",
            "base_path": str(store.parent),
            "bucket_name": store.name,
            "fqdn": address,
            "use_sudo_for_restore": "False",
            # Without these two it would be one file at a time; the bandwidth bounds buckets only.
            "concurrent_transfers": "2",
            "transfer_max_bandwidth": "0",
        }
        settings = folder / "medusa.ini"
        with settings.open("w") as file:
            written.write(file)
        return cls(command=installed(), settings=settings, folder=folder)

    def back_up(self, name: str, *, mode: str) -> float:
        """Of the snapshot of that name, which is kept. Mode: full or differential. CPU-seconds of its process."""
        before = os.times()
        self._do("backup", "--backup-name", name, "--mode", mode, "--use-existing-snapshot", "--keep-snapshot")
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def download(self, name: str, to: Path) -> None:
        """What a restore does first: its files, unverified."""
        to.mkdir(parents=True)
        self._do("download", "--backup-name", name, "--download-destination", str(to), "--ignore-system-keyspaces")

    def _do(self, *words: str) -> None:
        # It keeps a mark in the folder for temporary files, one for the whole machine.
        done = subprocess.run(
            [str(self.command), "--config-file", str(self.settings), *words],
            env=os.environ | {"TMPDIR": str(self.folder)},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"medusa {words[0]}: {(done.stderr + done.stdout)[-2000:]}")
