"""A cluster's machines on the emulated AWS: by the provider, and by a script of plain boto3."""

import itertools
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from e2e.bench import launch_ours
from e2e.bench.launch_ours import TAGS, VERSION, Place

_REGION = "us-east-1"
_ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
_TYPE = "i3.large"
_PLACE = Place(_REGION, _ZONES, _TYPE, memory_mib=15616)


@contextmanager
def aws() -> Iterator["Aws"]:
    """The emulator serves from a process of its own, so that its work and ours do not share an interpreter."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    server.start()
    try:
        url, image = ours.recv()
        yield Aws(ours, url, image)
    finally:
        ours.send("end")
        server.join(30)


def _serve(orders: Connection) -> None:
    from provisioner.providers.aws_emulator.emulator import Emulator
    from provisioner.providers.aws_emulator.region import Pace

    with Emulator(pace=Pace(forget_seconds=0.1)) as cloud:
        orders.send((cloud.url, cloud.add_image("cassandra", VERSION)))
        while orders.recv() == "calls":
            orders.send(len(cloud.calls))


@dataclass
class Aws:
    orders: Connection
    url: str
    image: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        from provisioner.providers.aws.settings import AwsSettings, Placement
        from provisioner.providers.aws_emulator.emulator import CREDENTIALS

        os.environ.update(CREDENTIALS)
        self._settings = AwsSettings(
            endpoint_url=self.url, control_plane_cidrs=("192.0.2.0/24",), placement=Placement.PARTITION
        )
        self._client = _plain_client(self.url)

    def ours(self, machines: int) -> tuple[int, float]:
        from provisioner.providers.aws.provider import AwsProvider

        cluster = f"rm-clu-{next(self._numbers)}"
        provider = AwsProvider(self._settings)
        provider.list_networks(region=_REGION)  # connects, as a worker long has
        before, began = self._calls(), time.perf_counter()
        launch_ours.make(provider, _PLACE, cluster, machines)
        seconds = time.perf_counter() - began
        calls = self._calls() - before
        launch_ours.delete(provider, _PLACE, cluster)
        return calls, seconds

    def bare(self, machines: int) -> tuple[int, float]:
        name = f"bare-{next(self._numbers)}"
        before, began = self._calls(), time.perf_counter()
        made = _make_bare(self._client, name, machines)
        seconds = time.perf_counter() - began
        calls = self._calls() - before
        _delete_bare(self._client, made)
        return calls, seconds

    def _calls(self) -> int:
        self.orders.send("calls")
        return int(self.orders.recv())


def _plain_client(url: str) -> Any:
    import boto3

    return boto3.client("ec2", _REGION, endpoint_url=url)


def _make_bare(ec2: Any, name: str, machines: int) -> dict[str, Any]:
    """The same things with as few calls as there are things. Nothing is looked for, nothing can be repeated."""

    def tags(kind: str, **more: str) -> list[dict[str, Any]]:
        return [{"ResourceType": kind, "Tags": [{"Key": k, "Value": v} for k, v in {**TAGS, **more}.items()]}]

    found = ec2.describe_images(Filters=[{"Name": "tag:ringmaster:engine-version", "Values": [VERSION]}])
    image = found["Images"][0]["ImageId"]
    vpc = ec2.create_vpc(CidrBlock="10.200.0.0/16", TagSpecifications=tags("vpc"))["Vpc"]["VpcId"]
    group = ec2.create_security_group(
        GroupName=name, Description=name, VpcId=vpc, TagSpecifications=tags("security-group")
    )["GroupId"]
    agents = {"IpProtocol": "tcp", "FromPort": 7443, "ToPort": 7443, "IpRanges": [{"CidrIp": "192.0.2.0/24"}]}
    within = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[within, agents])
    subnets = []
    for position, zone in enumerate(_ZONES):
        made = ec2.create_subnet(
            VpcId=vpc,
            AvailabilityZone=zone,
            CidrBlock=f"10.200.{position * 16}.0/20",
            TagSpecifications=tags("subnet"),
        )
        subnets.append(made["Subnet"]["SubnetId"])
        ec2.create_placement_group(
            GroupName=f"{name}-{zone}",
            Strategy="partition",
            PartitionCount=7,
            TagSpecifications=tags("placement-group"),
        )
    instances = []
    for number in range(machines):
        position = number % len(_ZONES)
        launched = ec2.run_instances(
            ImageId=image,
            InstanceType=_TYPE,
            MinCount=1,
            MaxCount=1,
            UserData=f'{{"node_id": "{name}-{number}"}}',
            NetworkInterfaces=[
                {"DeviceIndex": 0, "SubnetId": subnets[position], "Groups": [group], "DeleteOnTermination": True}
            ],
            BlockDeviceMappings=[
                {
                    "DeviceName": "/dev/xvda",
                    "Ebs": {"VolumeSize": 30, "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True},
                }
            ],
            Placement={"AvailabilityZone": _ZONES[position], "GroupName": f"{name}-{_ZONES[position]}"},
            MetadataOptions={"HttpTokens": "required"},
            IamInstanceProfile={"Name": "ringmaster-node"},
            TagSpecifications=tags("instance", Name=f"{name}-{number}") + tags("volume") + tags("network-interface"),
        )
        instances.append(launched["Instances"][0]["InstanceId"])
    described = ec2.describe_instances(InstanceIds=instances)["Reservations"]
    states = [one["State"]["Name"] for reservation in described for one in reservation["Instances"]]
    if states != ["running"] * machines:
        raise RuntimeError(f"{states.count('running')} of {machines} machines run")
    return {"vpc": vpc, "group": group, "subnets": subnets, "instances": instances, "name": name}


def _delete_bare(ec2: Any, made: dict[str, Any]) -> None:
    ec2.terminate_instances(InstanceIds=made["instances"])
    for subnet in made["subnets"]:
        ec2.delete_subnet(SubnetId=subnet)
    for zone in _ZONES:
        ec2.delete_placement_group(GroupName=f"{made['name']}-{zone}")
    ec2.delete_security_group(GroupId=made["group"])
    ec2.delete_vpc(VpcId=made["vpc"])
