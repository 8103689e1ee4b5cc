"""Machines for emulated clouds: folders and processes on this computer, as the local provider has them.

An instance that boots gets the real agent, told what the cloud's metadata service would tell it. What cannot be had on
a computer that is shared is left out: the agent is not told that the machine is the node's alone, so it neither formats
disks nor tunes the kernel.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from google.cloud import compute_v1

from provisioner.providers.aws_emulator.boots import BootedInstance
from provisioner.providers.gcp.machines import USER_DATA
from provisioner.providers.local.power import cut_power, power_on, press_power_button

AGENT_PORT = 7443
_END_SECONDS = 5.0


@dataclass(frozen=True)
class Hardware:
    """Where the machines are, what runs on them, and the folder of baked engines that stands for their images."""

    folder: Path
    agent_binary: Path
    engine_cache: Path

    def boot_aws(self, instance: BootedInstance) -> "AwsMachine":
        return AwsMachine(self._boot(instance.name, instance.private_address, instance.user_data))

    def boot_gcp(self, instance: compute_v1.Instance) -> "GcpMachine":
        told = {item.key: item.value for item in instance.metadata.items}
        address = instance.network_interfaces[0].network_i_p
        return GcpMachine(self._boot(instance.name, address, told[USER_DATA]))

    def left(self) -> list[str]:
        """Names of machines that are still there."""
        return sorted(os.listdir(self.folder)) if self.folder.is_dir() else []

    def _boot(self, name: str, address: str, user_data: str) -> Path:
        machine = self.folder.resolve() / name
        (machine / "data").mkdir(mode=0o700, parents=True, exist_ok=True)
        told = {key: value for key, value in json.loads(user_data).items() if key != "machine"}
        place = {"address": address, "listen": f"{address}:{AGENT_PORT}", "engine_cache": str(self.engine_cache)}
        (machine / "user-data.json").write_text(json.dumps(told | place))
        power_on(machine, agent_binary=self.agent_binary)
        return machine


@dataclass(frozen=True)
class AwsMachine:
    """A `Handle` of the AWS emulator."""

    folder: Path

    def stop(self, *, force: bool) -> None:
        if force:
            cut_power(self.folder, within_seconds=_END_SECONDS)
        else:
            press_power_button(self.folder)

    def destroy(self) -> None:
        cut_power(self.folder, within_seconds=_END_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class GcpMachine:
    """A `Handle` of the emulated Compute Engine, which says "stop" also when an instance is deleted."""

    folder: Path

    def stop(self, *, orderly: bool) -> None:
        if orderly:
            press_power_button(self.folder)
        else:
            cut_power(self.folder, within_seconds=_END_SECONDS)
            shutil.rmtree(self.folder, ignore_errors=True)
