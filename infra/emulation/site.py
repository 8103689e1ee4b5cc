"""The one machine type of an emulated cloud: what the tests boot, and what it is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.emulation import metadata, prepared
from infra.emulation.image import make_key
from infra.emulation.machine import ADDRESS, DISK_MODEL, LocalDisk, Machine, machine, root_disk
from infra.local.layout import Layout

MACHINE_TYPE = "i3.large"
_BOOT_SECONDS = 280.0
_DISK_BYTES = 1 << 30


@dataclass
class Site:
    """Where machines run, and what they are told."""

    folder: Path
    image: Path
    key: Path
    instance: metadata.Instance
    metadata_port: int
    boots: int = 0

    @contextmanager
    def boot(self, root: Path, disks: Sequence[LocalDisk]) -> Iterator[Machine]:
        """A machine that has booted. Whatever goes wrong is raised with the end of its console as a note."""
        self.boots += 1
        console = self.folder / f"console-{self.boots}.log"
        with machine(
            root,
            disks,
            metadata_port=self.metadata_port,
            machine_type=self.instance.type,
            console=console,
            key=self.key,
        ) as booted:
            try:
                booted.wait(limit=_BOOT_SECONDS)
                yield booted
            except Exception as error:
                error.add_note(booted.last_lines())
                raise

    def root_disk(self, name: str) -> Path:
        """A new machine's."""
        return root_disk(self.image, self.folder / f"{name}.qcow2")

    def blank_disk(self, name: str, *, iops: int, bandwidth: int) -> LocalDisk:
        """1 GiB that nothing was ever written to."""
        return LocalDisk.blank(self.folder / name, size=_DISK_BYTES, iops=iops, bandwidth=bandwidth)


def user_data(*, membership: str) -> str:
    """What the control plane would say of a node; nobody answers where it says that the control plane is."""
    told = {
        "node_id": "nod_1",
        "cluster_id": "clu_1",
        "enrol_url": "https://192.0.2.1/v1/enrol",
        "ca_pem": "-",
        "token": "a-token",
        "machine": {"engine": "cassandra", "membership": membership, "generation": 1, "disk_models": [DISK_MODEL]},
    }
    return json.dumps(told)


@contextmanager
def cloud(place: Layout) -> Iterator[Site]:
    """Bakes the image first if need be. Disks and consoles stay until the next time, for a look at them."""
    image = prepared.node_image(place)
    # Not in /tmp, which may be memory: the disks are read and written directly.
    folder = image.parent / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    key = make_key(folder)
    public = key.with_suffix(".pub").read_text()
    instance = metadata.Instance("i-0123456789abcdef0", MACHINE_TYPE, ADDRESS, public, user_data(membership="new"))
    with metadata.serve(instance) as port:
        yield Site(folder, image, key, instance, port)
