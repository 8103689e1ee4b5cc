"""A network and machines on the emulated AWS, as tests ask for them."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import boto3

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws_emulator.emulator import Emulator
from provisioner.providers.base import MachineSpec, NetworkSpec, ProviderError

REGION = "us-east-1"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
VERSION = "5.0.5"
NETWORK = NetworkSpec(name="rm-clu-1", region=REGION, zones=ZONES, tags={"ringmaster-cluster": "clu_1"})


def plain(cloud: Emulator) -> Any:
    """EC2 as anybody else sees it."""
    return boto3.client("ec2", REGION, endpoint_url=cloud.url)


Answer = TypeVar("Answer")


def spec(provider: AwsProvider, name: str = "rm-nod-1", zone: int = 0, machine_type: str = "i3.large") -> MachineSpec:
    image = provider.find_image(region=REGION, engine="cassandra", version=VERSION)
    return MachineSpec(
        name=name,
        network=NETWORK.name,
        region=REGION,
        zone=ZONES[zone],
        machine_type=machine_type,
        memory_mib=15616,
        image=image.id,
        user_data=json.dumps({"node_id": name}),
        tags={"ringmaster-cluster": "clu_1", "ringmaster-node": name},
    )


@dataclass(frozen=True)
class Patient:
    """Repeats a call that may be repeated, as operations do: for so many seconds."""

    seconds: float

    def __call__(self, call: Callable[[], Answer]) -> Answer:
        give_up_at = time.monotonic() + self.seconds
        while True:
            try:
                return call()
            except ProviderError as error:
                if not error.retryable or time.monotonic() > give_up_at:
                    raise
            time.sleep(0.01)
