"""What can be asked of AWS before an order is taken: permissions, quota, offers. Nothing here makes anything."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from provisioner.providers.aws import tags
from provisioner.providers.aws.cloud import Cloud, Service
from provisioner.providers.aws.errors import quota_hint
from provisioner.providers.aws.machine_types import AwsMachineType, every_type, machine_type
from provisioner.providers.aws.settings import SPREAD_LIMIT, AwsSettings, Placement
from provisioner.providers.base import (
    AccessDenied,
    Capacity,
    OutOfCapacity,
    Quota,
    QuotaExceeded,
    Shortfall,
)

# "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", in vCPUs. All types of the catalogue count for it.
_VCPU_QUOTA = {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A"}
_STANDARD_FAMILIES = "acdhimrtz"

_NOBODY = "00000000000000000"
_NO_VPC, _NO_SUBNET, _NO_GROUP = f"vpc-{_NOBODY}", f"subnet-{_NOBODY}", f"sg-{_NOBODY}"
_NO_GATEWAY, _NO_TABLE, _NO_INTERFACE = f"igw-{_NOBODY}", f"rtb-{_NOBODY}", f"eni-{_NOBODY}"
_NO_PEERING, _NO_ENDPOINT, _NO_IMAGE = f"pcx-{_NOBODY}", f"vpce-{_NOBODY}", f"ami-{_NOBODY}"
_RULE = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "192.0.2.0/24"}]}

_LOOKS = (
    "describe_images",
    "describe_instance_status",
    "describe_instance_type_offerings",
    "describe_instances",
    "describe_internet_gateways",
    "describe_network_interfaces",
    "describe_placement_groups",
    "describe_route_tables",
    "describe_security_groups",
    "describe_subnets",
    "describe_vpc_endpoints",
    "describe_vpc_peering_connections",
    "describe_vpcs",
)
# What is done to a machine is allowed for machines of an installation only, so it is tried on one of those.
_ON_MACHINES = ("start_instances", "stop_instances", "terminate_instances")


class Checks:
    def __init__(self, cloud: Cloud, settings: AwsSettings) -> None:
        self._cloud = cloud
        self._settings = settings

    def missing_permissions(self, region: str) -> list[str]:
        """A dry run of every call, about things that are not there where it needs one.

        AWS looks at the permission first. What it allows for machines of ours only cannot be tried before there is one.
        AccessDenied when the account's role cannot be taken on; InvalidRequest when anybody's external id would do.
        """
        self._cloud.check_role(region)
        ec2 = self._cloud.ec2(region)
        missing = set()
        for operation, parameters in (*((look, {}) for look in _LOOKS), *self._changes(region)):
            if isinstance(ec2.refusal(operation, **parameters), AccessDenied):
                missing.add(ec2.permission(operation))
        if "ec2:DescribeInstances" not in missing:
            missing |= self._missing_on_machines(ec2)
        quotas = self._cloud.quotas(region)
        try:
            quotas.call("get_service_quota", **_VCPU_QUOTA)
        except AccessDenied:
            missing.add(quotas.permission("get_service_quota"))
        return sorted(missing)

    def shortfalls(self, *, region: str, machine: str, machines: Mapping[str, int]) -> list[Shortfall]:
        """`machines`: how many more of this type, by zone."""
        kind, ec2 = machine_type(machine), self._cloud.ec2(region)
        wanted = {zone: count for zone, count in machines.items() if count > 0}
        if not wanted:
            return []
        return [
            *self._not_offered(ec2, kind, wanted),
            *self._too_close(wanted),
            *self._over_quota(region, ec2, kind, sum(wanted.values())),
            *self._refused(ec2, kind, wanted),
        ]

    def capacity(self, region: str) -> Capacity:
        """The vCPU quota, how much of it runs, and which zones offer which types of the catalogue."""
        ec2, types = self._cloud.ec2(region), every_type()
        offers = ec2.all(
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": [kind.name for kind in types]}],
        )
        offered: dict[str, list[str]] = defaultdict(list)
        for offer in offers:
            offered[offer["Location"]].append(offer["InstanceType"])
        quota = Quota(
            name="vCPUs of running on-demand standard instances",
            limit=self._vcpu_quota(region),
            used=_running_vcpus(ec2),
            per_machine={kind.name: kind.vcpus for kind in types},
            hint=quota_hint("VcpuLimitExceeded"),
        )
        return Capacity(quotas=(quota,), offered={zone: tuple(sorted(names)) for zone, names in offered.items()})

    def _vcpu_quota(self, region: str) -> float:
        return float(self._cloud.quotas(region).call("get_service_quota", **_VCPU_QUOTA)["Quota"]["Value"])

    def _changes(self, region: str) -> list[tuple[str, dict[str, Any]]]:
        labels = {tags.INSTALLATION: self._settings.installation}

        def tagged(kind: str) -> list[dict[str, Any]]:
            return [tags.specification(kind, "permission check", labels)]

        rules = {"GroupId": _NO_GROUP, "IpPermissions": [_RULE]}
        route = {"RouteTableId": _NO_TABLE, "DestinationCidrBlock": "192.0.2.0/24"}
        attachment = {"InternetGatewayId": _NO_GATEWAY, "VpcId": _NO_VPC}
        profile = self._settings.instance_profile
        return [
            ("create_vpc", {"CidrBlock": "10.0.0.0/16", "TagSpecifications": tagged("vpc")}),
            ("delete_vpc", {"VpcId": _NO_VPC}),
            (
                "create_subnet",
                {"VpcId": _NO_VPC, "CidrBlock": "10.0.0.0/24", "TagSpecifications": tagged("subnet")},
            ),
            ("delete_subnet", {"SubnetId": _NO_SUBNET}),
            (
                "create_security_group",
                {
                    "GroupName": "permission-check",
                    "Description": "permission check",
                    "VpcId": _NO_VPC,
                    "TagSpecifications": tagged("security-group"),
                },
            ),
            ("delete_security_group", {"GroupId": _NO_GROUP}),
            ("authorize_security_group_ingress", rules),
            ("revoke_security_group_ingress", rules),
            ("create_internet_gateway", {"TagSpecifications": tagged("internet-gateway")}),
            ("attach_internet_gateway", attachment),
            ("detach_internet_gateway", attachment),
            ("delete_internet_gateway", {"InternetGatewayId": _NO_GATEWAY}),
            ("create_route", {**route, "GatewayId": _NO_GATEWAY}),
            ("delete_route", route),
            (
                "create_placement_group",
                {
                    "GroupName": "permission-check",
                    "Strategy": self._settings.placement.value,
                    "TagSpecifications": tagged("placement-group"),
                },
            ),
            ("delete_placement_group", {"GroupName": "permission-check"}),
            ("delete_network_interface", {"NetworkInterfaceId": _NO_INTERFACE}),
            (
                "create_vpc_peering_connection",
                {
                    "VpcId": _NO_VPC,
                    "PeerVpcId": _NO_VPC,
                    "TagSpecifications": tagged("vpc-peering-connection"),
                },
            ),
            ("delete_vpc_peering_connection", {"VpcPeeringConnectionId": _NO_PEERING}),
            (
                "create_vpc_endpoint",
                {
                    "VpcEndpointType": "Interface",
                    "VpcId": _NO_VPC,
                    "ServiceName": f"com.amazonaws.{region}.ec2",
                    "TagSpecifications": tagged("vpc-endpoint"),
                },
            ),
            ("delete_vpc_endpoints", {"VpcEndpointIds": [_NO_ENDPOINT]}),
            (
                "run_instances",
                {
                    "ImageId": _NO_IMAGE,
                    "MinCount": 1,
                    "MaxCount": 1,
                    "TagSpecifications": tagged("instance"),
                    **({} if profile is None else {"IamInstanceProfile": {"Name": profile}}),
                },
            ),
        ]

    def _missing_on_machines(self, ec2: Service) -> set[str]:
        ours = tags.having({tags.INSTALLATION: self._settings.installation})
        found = ec2.call("describe_instances", Filters=ours, MaxResults=5)["Reservations"]
        if not found:
            return set()
        one = [found[0]["Instances"][0]["InstanceId"]]
        return {
            ec2.permission(operation)
            for operation in _ON_MACHINES
            if isinstance(ec2.refusal(operation, InstanceIds=one), AccessDenied)
        }

    def _not_offered(self, ec2: Service, kind: AwsMachineType, wanted: Mapping[str, int]) -> list[Shortfall]:
        offers = ec2.all(
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": [kind.name]}],
        )
        zones = sorted(offer["Location"] for offer in offers)
        return [
            Shortfall(
                code=OutOfCapacity.code,
                message=f"AWS does not offer {kind.name} in {zone}.",
                hint=f"It is offered in {', '.join(zones)}." if zones else "It is offered in no zone of the region.",
            )
            for zone in wanted
            if zone not in zones
        ]

    def _too_close(self, wanted: Mapping[str, int]) -> list[Shortfall]:
        if self._settings.placement is not Placement.SPREAD:
            return []
        return [
            Shortfall(
                code=QuotaExceeded.code,
                message=f"{count} machines are wanted in {zone}; a spread placement group takes {SPREAD_LIMIT}.",
                hint="Use more zones, or let this installation place machines by partition.",
            )
            for zone, count in wanted.items()
            if count > SPREAD_LIMIT
        ]

    def _over_quota(self, region: str, ec2: Service, kind: AwsMachineType, count: int) -> list[Shortfall]:
        quota, used = self._vcpu_quota(region), _running_vcpus(ec2)
        needed = count * kind.vcpus
        if used + needed <= quota:
            return []
        return [
            Shortfall(
                code=QuotaExceeded.code,
                message=f"{needed} vCPUs are needed; the quota of {region} is {quota:.0f}, of which {used} are in use.",
                hint=quota_hint("VcpuLimitExceeded"),
            )
        ]

    def _refused(self, ec2: Service, kind: AwsMachineType, wanted: Mapping[str, int]) -> list[Shortfall]:
        """What a launch would be told, as far as a dry run goes. There must be an image to try it with."""
        filters = [
            {"Name": "tag-key", "Values": [tags.ENGINE]},
            {"Name": "architecture", "Values": [kind.architecture]},
            {"Name": "state", "Values": ["available"]},
        ]
        images = ec2.all("describe_images", "Images", Owners=list(self._settings.image_owners), Filters=filters)
        if not images:
            return []
        labels = {tags.INSTALLATION: self._settings.installation}
        found = []
        for zone, count in wanted.items():
            refused = ec2.refusal(
                "run_instances",
                ImageId=images[0]["ImageId"],
                InstanceType=kind.name,
                MinCount=count,
                MaxCount=count,
                Placement={"AvailabilityZone": zone},
                TagSpecifications=[tags.specification("instance", "capacity check", labels)],
            )
            if isinstance(refused, OutOfCapacity | QuotaExceeded | AccessDenied):
                found.append(Shortfall(code=refused.code, message=refused.message, hint=refused.hint))
        return found


def _running_vcpus(ec2: Service) -> int:
    """Of all instances of the account that count for the quota, not only ours. Spot has a quota of its own."""
    alive = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    reservations: Sequence[Mapping[str, Any]] = ec2.all("describe_instances", "Reservations", Filters=alive)
    return sum(
        _vcpus(one)
        for reservation in reservations
        for one in reservation["Instances"]
        if one["InstanceType"][0] in _STANDARD_FAMILIES and one.get("InstanceLifecycle") != "spot"
    )


def _vcpus(instance: Mapping[str, Any]) -> int:
    options = instance["CpuOptions"]
    return int(options["CoreCount"]) * int(options["ThreadsPerCore"])
