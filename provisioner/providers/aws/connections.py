"""Ways into a cluster's network from elsewhere: VPC peering, and endpoints of PrivateLink services.

Both may wait for somebody in another account to accept them; that is a state, not an error.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from provisioner.providers.aws import tags
from provisioner.providers.aws.cloud import Cloud, Service
from provisioner.providers.aws.errors import InUse, Missing
from provisioner.providers.aws.networks import Networks, Place
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.base import (
    Connection,
    ConnectionSpec,
    ConnectionState,
    EndpointSpec,
    InvalidRequest,
    PeeringSpec,
)

_PEERING = {
    "initiating-request": ConnectionState.PENDING,
    "provisioning": ConnectionState.PENDING,
    "pending-acceptance": ConnectionState.WAITING_FOR_YOU,
    "active": ConnectionState.READY,
    "failed": ConnectionState.FAILED,
    "rejected": ConnectionState.FAILED,
    "expired": ConnectionState.FAILED,
    "deleting": ConnectionState.DELETING,
}
_ENDPOINT = {
    "pending": ConnectionState.PENDING,
    "partial": ConnectionState.PENDING,
    "pendingacceptance": ConnectionState.WAITING_FOR_YOU,
    "available": ConnectionState.READY,
    "failed": ConnectionState.FAILED,
    "rejected": ConnectionState.FAILED,
    "expired": ConnectionState.FAILED,
    "deleting": ConnectionState.DELETING,
}
_GONE = "deleted"


class Connections:
    def __init__(self, cloud: Cloud, settings: AwsSettings, networks: Networks) -> None:
        self._cloud = cloud
        self._settings = settings
        self._networks = networks

    def ensure(self, spec: ConnectionSpec) -> Connection:
        match spec:
            case PeeringSpec():
                return self.ensure_peering(spec)
            case EndpointSpec():
                return self.ensure_endpoint(spec)

    def delete(self, spec: ConnectionSpec) -> bool:
        match spec:
            case PeeringSpec():
                return self.delete_peering(region=spec.region, network=spec.network, name=spec.name)
            case EndpointSpec():
                return self.delete_endpoint(region=spec.region, network=spec.network, name=spec.name)

    def ensure_peering(self, spec: PeeringSpec) -> Connection:
        """Asks for it, and once it was accepted adds the route to the other side's addresses.

        One that failed, was rejected or has expired is asked for anew after `delete_peering`. InvalidRequest.
        """
        place = self._place(spec.region, spec.network)
        ec2 = self._cloud.ec2(spec.region)
        peering = self._peering(ec2, spec.network, spec.name)
        if peering is None:
            other = {"PeerOwnerId": spec.peer_owner, "PeerRegion": spec.peer_region}
            peering = ec2.call(
                "create_vpc_peering_connection",
                VpcId=place.vpc,
                PeerVpcId=spec.peer_network,
                TagSpecifications=self._tagged("vpc-peering-connection", spec),
                **{key: value for key, value in other.items() if value},
            )["VpcPeeringConnection"]
        if peering["AccepterVpcInfo"]["VpcId"] != spec.peer_network:
            raise InvalidRequest(f"Peering {spec.name} exists with {peering['AccepterVpcInfo']['VpcId']}.")
        if peering["Status"]["Code"] == "active":
            theirs = peering["AccepterVpcInfo"]["CidrBlock"]
            self._networks.ensure_route(
                ec2, place.vpc, theirs, VpcPeeringConnectionId=peering["VpcPeeringConnectionId"]
            )
        return _as_peering(spec.name, peering)

    def find_peering(self, *, region: str, network: str, name: str) -> Connection | None:
        peering = self._peering(self._cloud.ec2(region), network, name)
        return None if peering is None else _as_peering(name, peering)

    def delete_peering(self, *, region: str, network: str, name: str) -> bool:
        """With its route. True when it is gone, also when it never was."""
        ec2 = self._cloud.ec2(region)
        found = self._peering(ec2, network, name)
        return found is None or self._delete_peerings(ec2, [found])

    def ensure_endpoint(self, spec: EndpointSpec) -> Connection:
        """In every zone of the network, reachable for its machines. InvalidRequest."""
        place = self._place(spec.region, spec.network)
        ec2 = self._cloud.ec2(spec.region)
        endpoint = self._endpoint(ec2, spec.network, spec.name)
        if endpoint is None:
            token = hashlib.sha256(f"{self._settings.installation}/{spec.network}/{spec.name}".encode()).hexdigest()
            endpoint = ec2.call(
                "create_vpc_endpoint",
                VpcEndpointType="Interface",
                VpcId=place.vpc,
                ServiceName=spec.service,
                SubnetIds=sorted(place.subnets.values()),
                SecurityGroupIds=[place.group],
                PrivateDnsEnabled=False,
                ClientToken=token,
                TagSpecifications=self._tagged("vpc-endpoint", spec),
            )["VpcEndpoint"]
        if endpoint["ServiceName"] != spec.service:
            raise InvalidRequest(f"Endpoint {spec.name} exists for {endpoint['ServiceName']}.")
        return _as_endpoint(spec.name, endpoint)

    def find_endpoint(self, *, region: str, network: str, name: str) -> Connection | None:
        endpoint = self._endpoint(self._cloud.ec2(region), network, name)
        return None if endpoint is None else _as_endpoint(name, endpoint)

    def delete_endpoint(self, *, region: str, network: str, name: str) -> bool:
        """True when it is gone, also when it never was."""
        ec2 = self._cloud.ec2(region)
        endpoint = self._endpoint(ec2, network, name)
        return endpoint is None or self._delete_endpoints(ec2, [endpoint])

    def delete_all(self, region: str, network: str) -> bool:
        """Those of a network that is to go. False while one is still going."""
        ec2 = self._cloud.ec2(region)
        endpoints, peerings = self._endpoints(ec2, network), self._peerings(ec2, network)
        gone = self._delete_endpoints(ec2, endpoints)
        return self._delete_peerings(ec2, peerings) and gone

    def _place(self, region: str, network: str) -> Place:
        place = self._networks.place(region, network)
        if place is None:
            raise InvalidRequest(f"There is no network {network} in {region}.")
        return place

    def _peerings(self, ec2: Service, network: str, name: str | None = None) -> list[dict[str, Any]]:
        every = ec2.all("describe_vpc_peering_connections", "VpcPeeringConnections", Filters=self._ours(network, name))
        return [one for one in every if one["Status"]["Code"] != _GONE]

    def _peering(self, ec2: Service, network: str, name: str) -> dict[str, Any] | None:
        found = self._peerings(ec2, network, name)
        order = {state: position for position, state in enumerate(("active", "pending-acceptance"))}
        return min(found, key=lambda one: order.get(one["Status"]["Code"], 2), default=None)

    def _endpoints(self, ec2: Service, network: str, name: str | None = None) -> list[dict[str, Any]]:
        every = ec2.all("describe_vpc_endpoints", "VpcEndpoints", Filters=self._ours(network, name))
        return [one for one in every if one["State"].lower() != _GONE]

    def _endpoint(self, ec2: Service, network: str, name: str) -> dict[str, Any] | None:
        return next(iter(self._endpoints(ec2, network, name)), None)

    def _delete_peerings(self, ec2: Service, peerings: Sequence[Mapping[str, Any]]) -> bool:
        for peering in peerings:
            routes = self._networks.main_route_table(ec2, peering["RequesterVpcInfo"]["VpcId"])
            for route in routes["Routes"]:
                if route.get("VpcPeeringConnectionId") == peering["VpcPeeringConnectionId"]:
                    with suppress(Missing):
                        ec2.call(
                            "delete_route",
                            RouteTableId=routes["RouteTableId"],
                            DestinationCidrBlock=route["DestinationCidrBlock"],
                        )
            if peering["Status"]["Code"] in ("active", "pending-acceptance"):
                with suppress(Missing):
                    ec2.call("delete_vpc_peering_connection", VpcPeeringConnectionId=peering["VpcPeeringConnectionId"])
        return all(peering["Status"]["Code"] != "deleting" for peering in peerings)

    def _delete_endpoints(self, ec2: Service, endpoints: Sequence[Mapping[str, Any]]) -> bool:
        going = [one["VpcEndpointId"] for one in endpoints if one["State"].lower() != "deleting"]
        if going:
            with suppress(Missing, InUse):
                ec2.call("delete_vpc_endpoints", VpcEndpointIds=going)
        return not endpoints

    def _ours(self, network: str, name: str | None) -> list[dict[str, Any]]:
        wanted = {tags.INSTALLATION: self._settings.installation, tags.NETWORK: network}
        return tags.having(wanted if name is None else wanted | {tags.CONNECTION: name})

    def _tagged(self, kind: str, spec: PeeringSpec | EndpointSpec) -> list[dict[str, Any]]:
        labels = {
            **spec.tags,
            tags.INSTALLATION: self._settings.installation,
            tags.NETWORK: spec.network,
            tags.CONNECTION: spec.name,
        }
        return [tags.specification(kind, spec.name, labels)]


def _as_peering(name: str, peering: Mapping[str, Any]) -> Connection:
    state = _PEERING.get(peering["Status"]["Code"], ConnectionState.PENDING)
    said = str(peering["Status"].get("Message", ""))
    if state is ConnectionState.WAITING_FOR_YOU:
        other = peering["AccepterVpcInfo"]
        said = (
            f"Accept the peering connection {peering['VpcPeeringConnectionId']} in account {other.get('OwnerId')}, "
            f"and add a route to {peering['RequesterVpcInfo'].get('CidrBlock')} there. It expires after a week."
        )
    return Connection(id=peering["VpcPeeringConnectionId"], name=name, state=state, message=said)


def _as_endpoint(name: str, endpoint: Mapping[str, Any]) -> Connection:
    state = _ENDPOINT.get(endpoint["State"].lower(), ConnectionState.PENDING)
    said = str(endpoint.get("LastError", {}).get("Message", ""))
    if state is ConnectionState.WAITING_FOR_YOU:
        said = f"Accept the endpoint {endpoint['VpcEndpointId']} at the service {endpoint['ServiceName']}."
    names = tuple(entry["DnsName"] for entry in endpoint.get("DnsEntries", ()) if "DnsName" in entry)
    return Connection(id=endpoint["VpcEndpointId"], name=name, state=state, message=said, names=names)
