"""The network of a cluster: VPC, subnet per zone, security group, gateway, placement group per rack.

The *anchor* is what is made first and deleted last: the VPC if it is ours, the security group where a VPC is given.
As long as it is there the network is listed, so nothing half made or half deleted is forgotten. Names and address
blocks are unique at AWS where ours must be (security group, subnets, placement groups); a VPC has no such name, so one
that was made twice, because the first was not shown yet, is recognised later and the spare one deleted.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from provisioner.providers.aws import tags
from provisioner.providers.aws.addressing import client_block, free_block, subnet_block, vpc_block
from provisioner.providers.aws.cloud import Cloud, Service
from provisioner.providers.aws.errors import AlreadyThere, InUse, Missing
from provisioner.providers.aws.settings import AwsSettings, Placement
from provisioner.providers.base import InvalidRequest, Network, NetworkSpec, NotFound, ProviderError

_EVERYWHERE = "0.0.0.0/0"
_CLIENTS = "clients of the database"
_PARTITIONS = 7
_NOT_TERMINATED = ("pending", "running", "stopping", "stopped", "shutting-down")


@dataclass(frozen=True)
class Place:
    """What a machine needs to know of its network. It does not change as long as the network is there."""

    vpc: str
    group: str
    subnets: Mapping[str, str]


class Networks:
    def __init__(self, cloud: Cloud, settings: AwsSettings) -> None:
        self._cloud = cloud
        self._settings = settings
        self._lock = threading.Lock()
        self._places: dict[tuple[str, str], Place] = {}

    def ensure(self, spec: NetworkSpec) -> Network:
        """Each call makes all that is missing. ProviderError when something made before is not shown yet."""
        ec2 = self._cloud.ec2(spec.region)
        _check_zones(spec)
        given = self._settings.given_vpc(spec.region)
        if given is None:
            vpc, anchor = self._own_vpc(ec2, spec)
            fresh = anchor is None
            group, _ = self._group(ec2, spec, vpc["VpcId"], fresh=fresh)
        else:
            vpc = self._given_vpc(ec2, given)
            group, was_there = self._group(ec2, spec, given, fresh=False)
            anchor, fresh = (group if was_there else None), False
        if anchor is not None and tags.tags_of(anchor).get(tags.ZONES) not in (None, " ".join(spec.zones)):
            raise InvalidRequest(f"Network {spec.name} exists with other zones: {tags.tags_of(anchor)[tags.ZONES]}.")
        subnets = self._subnets(ec2, spec, vpc, own=given is None, fresh=fresh)
        if given is None and self._settings.public_addresses:
            self._way_out(ec2, spec, vpc["VpcId"], fresh=fresh)
        self._racks(ec2, spec, fresh=fresh)
        with self._lock:
            self._places[spec.region, spec.name] = Place(vpc["VpcId"], group["GroupId"], subnets)
        kept = dict(spec.tags) if anchor is None else tags.callers(tags.tags_of(anchor))
        return Network(
            name=spec.name,
            region=spec.region,
            zones=spec.zones,
            tags=kept,
            id=vpc["VpcId"],
            cidr=vpc.get("CidrBlock", ""),
        )

    def all(self, region: str) -> list[Network]:
        ec2 = self._cloud.ec2(region)
        mine = tags.having({tags.INSTALLATION: self._settings.installation})
        found: dict[str, Network] = {}
        for operation, key in (("describe_vpcs", "Vpcs"), ("describe_security_groups", "SecurityGroups")):
            for thing in ec2.all(operation, key, Filters=mine):
                labels = tags.tags_of(thing)
                if tags.NETWORK in labels and labels[tags.NETWORK] not in found:
                    name = labels[tags.NETWORK]
                    zones = tuple(labels.get(tags.ZONES, "").split())
                    found[name] = Network(name=name, region=region, zones=zones, tags=tags.callers(labels))
        return [found[name] for name in sorted(found)]

    def place(self, region: str, name: str) -> Place | None:
        """What is needed to put a machine there; None when the network is not there."""
        with self._lock:
            known = self._places.get((region, name))
        if known is not None:
            return known
        ec2 = self._cloud.ec2(region)
        subnets = ec2.all("describe_subnets", "Subnets", Filters=self._ours(name))
        groups = ec2.all("describe_security_groups", "SecurityGroups", Filters=self._ours(name))
        if not subnets or not groups:
            return None
        group = groups[0]
        by_zone = {s["AvailabilityZone"]: s["SubnetId"] for s in _ordered(subnets) if s["VpcId"] == group["VpcId"]}
        found = Place(group["VpcId"], group["GroupId"], by_zone)
        with self._lock:
            self._places[region, name] = found
        return found

    def forget(self, region: str, name: str) -> None:
        """What is known of a network turned out not to be so."""
        with self._lock:
            self._places.pop((region, name), None)

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        ec2 = self._cloud.ec2(region)
        wanted = {client_block(source) for source in sources}
        groups = ec2.all("describe_security_groups", "SecurityGroups", Filters=self._ours(network))
        if not groups:
            raise NotFound(f"There is no network {network} in {region}.")
        group = groups[0]
        for port in sorted({*ports, *_client_ports(group)}):
            present, due = _blocks(group, port), wanted if port in ports else set()
            if missing := due - present:
                permission = _from_blocks(port, missing, _CLIENTS)
                _already_done(
                    ec2, "authorize_security_group_ingress", GroupId=group["GroupId"], IpPermissions=[permission]
                )
            if surplus := present - due:
                permission = _from_blocks(port, surplus)
                with suppress(Missing):
                    ec2.call("revoke_security_group_ingress", GroupId=group["GroupId"], IpPermissions=[permission])

    def is_empty(self, region: str, name: str) -> bool:
        """Whether no machine is left in it."""
        alive = {"Name": "instance-state-name", "Values": list(_NOT_TERMINATED)}
        found = self._cloud.ec2(region).all("describe_instances", "Reservations", Filters=[*self._ours(name), alive])
        return not found

    def delete(self, region: str, name: str) -> bool:
        """In the order in which things let go of one another; what is still held is tried again by the next call."""
        ec2 = self._cloud.ec2(region)
        self.forget(region, name)
        ours = self._ours(name)
        vpcs = ec2.all("describe_vpcs", "Vpcs", Filters=ours)
        groups = ec2.all("describe_security_groups", "SecurityGroups", Filters=ours)
        steps = (
            *self._loose_interfaces(ec2, ours),
            *(("delete_subnet", {"SubnetId": s["SubnetId"]}) for s in self._described(ec2, "subnets", ours)),
            *self._gateways(ec2, ours),
            *(
                ("delete_placement_group", {"GroupName": rack["GroupName"]})
                for rack in self._described(ec2, "placement_groups", ours)
            ),
            *(("delete_security_group", {"GroupId": group["GroupId"]}) for group in groups),
            *(("delete_vpc", {"VpcId": vpc["VpcId"]}) for vpc in vpcs),
        )
        for operation, parameters in steps:
            try:
                ec2.call(operation, **parameters)
            except Missing:
                continue
            except InUse:
                return False
        return True

    def _described(self, ec2: Service, what: str, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        key = "".join(word.capitalize() for word in what.split("_"))
        return ec2.all(f"describe_{what}", key, Filters=filters)

    def _loose_interfaces(self, ec2: Service, ours: list[dict[str, Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
        """Interfaces end with their machines; these did not."""
        for interface in self._described(ec2, "network_interfaces", ours):
            yield "delete_network_interface", {"NetworkInterfaceId": interface["NetworkInterfaceId"]}

    def _gateways(self, ec2: Service, ours: list[dict[str, Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
        for gateway in self._described(ec2, "internet_gateways", ours):
            name = {"InternetGatewayId": gateway["InternetGatewayId"]}
            for attachment in gateway.get("Attachments", ()):
                yield "detach_internet_gateway", {**name, "VpcId": attachment["VpcId"]}
            yield "delete_internet_gateway", name

    def _ours(self, name: str) -> list[dict[str, Any]]:
        return tags.having({tags.INSTALLATION: self._settings.installation, tags.NETWORK: name})

    def _tagged(self, kind: str, spec: NetworkSpec, name: str = "") -> list[dict[str, Any]]:
        labels = {
            **spec.tags,
            tags.INSTALLATION: self._settings.installation,
            tags.NETWORK: spec.name,
            tags.ZONES: " ".join(spec.zones),
        }
        return [tags.specification(kind, name or spec.name, labels)]

    def _own_vpc(self, ec2: Service, spec: NetworkSpec) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """The VPC, and it again if it was there before."""
        found = ec2.all("describe_vpcs", "Vpcs", Filters=self._ours(spec.name))
        if not found:
            made = ec2.call(
                "create_vpc",
                CidrBlock=str(vpc_block(self._settings.cidr_pool, spec.name)),
                TagSpecifications=self._tagged("vpc", spec),
            )
            return made["Vpc"], None
        chosen, *spare = found if len(found) == 1 else self._by_use(ec2, spec.name, found)
        for vpc in spare:
            self._delete_spare(ec2, spec.name, vpc["VpcId"])
        return chosen, chosen

    def _by_use(self, ec2: Service, name: str, vpcs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The one with machines first, then the one that got furthest."""
        subnets = Counter(one["VpcId"] for one in ec2.all("describe_subnets", "Subnets", Filters=self._ours(name)))
        reservations = ec2.all("describe_instances", "Reservations", Filters=self._ours(name))
        in_use = {one.get("VpcId") for reservation in reservations for one in reservation["Instances"]}
        return sorted(vpcs, key=lambda vpc: (vpc["VpcId"] not in in_use, -subnets[vpc["VpcId"]], vpc["VpcId"]))

    def _delete_spare(self, ec2: Service, name: str, vpc: str) -> None:
        """A VPC that was made twice, because the first was not shown yet. No machine is in it."""
        ours = self._ours(name)
        for subnet in self._described(ec2, "subnets", ours):
            if subnet["VpcId"] == vpc:
                ec2.call("delete_subnet", SubnetId=subnet["SubnetId"])
        for gateway in self._described(ec2, "internet_gateways", ours):
            if vpc in [attachment["VpcId"] for attachment in gateway.get("Attachments", ())]:
                ec2.call("detach_internet_gateway", InternetGatewayId=gateway["InternetGatewayId"], VpcId=vpc)
        for group in self._described(ec2, "security_groups", ours):
            if group["VpcId"] == vpc:
                ec2.call("delete_security_group", GroupId=group["GroupId"])
        ec2.call("delete_vpc", VpcId=vpc)

    def _given_vpc(self, ec2: Service, vpc: str) -> dict[str, Any]:
        found = ec2.all("describe_vpcs", "Vpcs", Filters=[{"Name": "vpc-id", "Values": [vpc]}])
        if not found:
            raise InvalidRequest(f"There is no VPC {vpc}, which the settings name.")
        return found[0]

    def _group(self, ec2: Service, spec: NetworkSpec, vpc: str, *, fresh: bool) -> tuple[dict[str, Any], bool]:
        """The security group with its rules: everything within it, agents from the control plane. Was it there?"""
        found = [] if fresh else ec2.all("describe_security_groups", "SecurityGroups", Filters=self._ours(spec.name))
        here = [group for group in found if group["VpcId"] == vpc]
        group: dict[str, Any] = (
            here[0]
            if here
            else ec2.call(
                "create_security_group",
                GroupName=spec.name,
                Description=f"Machines of {spec.name}",
                VpcId=vpc,
                TagSpecifications=self._tagged("security-group", spec),
            )
        )
        missing = self._missing_rules(group)
        if missing:
            _already_done(ec2, "authorize_security_group_ingress", GroupId=group["GroupId"], IpPermissions=missing)
        return group, bool(here)

    def _missing_rules(self, group: Mapping[str, Any]) -> list[dict[str, Any]]:
        within = [
            pair
            for rule in group.get("IpPermissions", ())
            if rule["IpProtocol"] == "-1"
            for pair in rule.get("UserIdGroupPairs", ())
            if pair["GroupId"] == group["GroupId"]
        ]
        missing: list[dict[str, Any]] = []
        if not within:
            pair = {"GroupId": group["GroupId"], "Description": "machines of the cluster"}
            missing.append({"IpProtocol": "-1", "UserIdGroupPairs": [pair]})
        wanted = {client_block(block) for block in self._settings.control_plane_cidrs}
        agents = wanted - _blocks(group, self._settings.agent_port)
        if agents:
            missing.append(_from_blocks(self._settings.agent_port, agents, "control plane"))
        return missing

    def _subnets(
        self, ec2: Service, spec: NetworkSpec, vpc: Mapping[str, Any], *, own: bool, fresh: bool
    ) -> dict[str, str]:
        in_vpc = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
        present = [] if fresh else _ordered(ec2.all("describe_subnets", "Subnets", Filters=in_vpc))
        ours = [subnet for subnet in present if tags.tags_of(subnet).get(tags.NETWORK) == spec.name]
        by_zone = {subnet["AvailabilityZone"]: subnet["SubnetId"] for subnet in ours}
        block = IPv4Network(vpc["CidrBlock"])
        taken = [subnet["CidrBlock"] for subnet in present]
        for position, zone in enumerate(spec.zones):
            if zone not in by_zone:
                chosen = str(subnet_block(block, position) if own else free_block(block, taken))
                made = ec2.call(
                    "create_subnet",
                    VpcId=vpc["VpcId"],
                    AvailabilityZone=zone,
                    CidrBlock=chosen,
                    TagSpecifications=self._tagged("subnet", spec, f"{spec.name}-{zone}"),
                )
                by_zone[zone] = made["Subnet"]["SubnetId"]
                taken.append(chosen)
        return by_zone

    def _way_out(self, ec2: Service, spec: NetworkSpec, vpc: str, *, fresh: bool) -> None:
        """An internet gateway, and a route to it in the VPC's own route table."""
        found = [] if fresh else self._described(ec2, "internet_gateways", self._ours(spec.name))
        attached = [gateway for gateway in found if gateway.get("Attachments")]
        loose = [gateway for gateway in found if not gateway.get("Attachments")]
        if attached:
            gateway = attached[0]
            for spare in loose:
                ec2.call("delete_internet_gateway", InternetGatewayId=spare["InternetGatewayId"])
        else:
            gateway = (
                loose[0]
                if loose
                else ec2.call("create_internet_gateway", TagSpecifications=self._tagged("internet-gateway", spec))[
                    "InternetGateway"
                ]
            )
            ec2.call("attach_internet_gateway", InternetGatewayId=gateway["InternetGatewayId"], VpcId=vpc)
        self.ensure_route(ec2, vpc, _EVERYWHERE, GatewayId=gateway["InternetGatewayId"])

    def ensure_route(self, ec2: Service, vpc: str, destination: str, **target: str) -> None:
        """In the VPC's main route table. A route to elsewhere with this destination is left alone: AlreadyThere."""
        table = self.main_route_table(ec2, vpc)
        ((key, value),) = target.items()
        routes = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == destination]
        if not any(route.get(key) == value for route in routes):
            ec2.call("create_route", RouteTableId=table["RouteTableId"], DestinationCidrBlock=destination, **target)

    def main_route_table(self, ec2: Service, vpc: str) -> dict[str, Any]:
        main = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
        found = self._described(ec2, "route_tables", main)
        if not found:
            raise ProviderError(f"The route table of {vpc} is not shown yet.")
        return found[0]

    def _racks(self, ec2: Service, spec: NetworkSpec, *, fresh: bool) -> None:
        found = [] if fresh else self._described(ec2, "placement_groups", self._ours(spec.name))
        present = {group["GroupName"] for group in found}
        how: dict[str, Any] = {"Strategy": self._settings.placement.value}
        if self._settings.placement is Placement.PARTITION:
            how["PartitionCount"] = _PARTITIONS
        for zone in spec.zones:
            name = rack_group(spec.name, zone)
            if name not in present:
                _already_done(
                    ec2,
                    "create_placement_group",
                    GroupName=name,
                    TagSpecifications=self._tagged("placement-group", spec, name),
                    **how,
                )


def rack_group(network: str, zone: str) -> str:
    """The placement group of a rack."""
    return f"{network}-{zone}"


def _check_zones(spec: NetworkSpec) -> None:
    for zone in spec.zones:
        if not zone.startswith(spec.region):
            raise InvalidRequest(f"Unknown zone {zone!r} in {spec.region}.")


def _ordered(subnets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """So that of two for one zone everyone takes the same: the last one wins where they are put in a dict."""
    return sorted(subnets, key=lambda subnet: str(subnet["CidrBlock"]), reverse=True)


def _already_done(ec2: Service, operation: str, **parameters: Any) -> None:
    """A call whose effect may be there already."""
    with suppress(AlreadyThere):
        ec2.call(operation, **parameters)


def _blocks(group: Mapping[str, Any], port: int) -> set[str]:
    """From which CIDR blocks this port may be reached."""
    return {
        entry[key]
        for rule in group.get("IpPermissions", ())
        if rule.get("FromPort") == rule.get("ToPort") == port
        for ranges, key in (("IpRanges", "CidrIp"), ("Ipv6Ranges", "CidrIpv6"))
        for entry in rule.get(ranges, ())
    }


def _client_ports(group: Mapping[str, Any]) -> set[int]:
    """Those that clients were let in to."""
    return {
        rule["FromPort"]
        for rule in group.get("IpPermissions", ())
        for ranges in ("IpRanges", "Ipv6Ranges")
        for entry in rule.get(ranges, ())
        if entry.get("Description") == _CLIENTS
    }


def _from_blocks(port: int, blocks: Iterable[str], description: str = "") -> dict[str, Any]:
    """A rule for these CIDR blocks. AWS compares descriptions not at all, so revoking needs none."""
    said = {"Description": description} if description else {}
    rule: dict[str, Any] = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port}
    fourth = [{"CidrIp": block, **said} for block in sorted(blocks) if ":" not in block]
    sixth = [{"CidrIpv6": block, **said} for block in sorted(blocks) if ":" in block]
    return rule | ({"IpRanges": fourth} if fourth else {}) | ({"Ipv6Ranges": sixth} if sixth else {})
