"""The network of one data centre: a VPC network, its one subnet, and firewall rules.

Networks take no labels, so what we must know of one (our installation, its region and zones, its tags) is JSON in its
description. Subnet and firewall rules are found by name and by network and need none.
"""

import ipaddress
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from google.cloud import compute_v1

from provisioner.providers.base import InvalidRequest, Network, NetworkSpec, NotFound
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.errors import AlreadyThere, InUse, NotReady
from provisioner.providers.gcp.names import checked_name, subnet_range

AGENT_PORT = "7443"
INTERNODE_PORTS = ("7000", "7001")
# Where engines serve clients: CQL, and the range in which the DynamoDB API may be.
_SERVING_PORTS = ("9042", "8000-8999")


def ensure(compute: Compute, spec: NetworkSpec) -> Network:
    """NotReady until all of it is there."""
    zones = compute.zones(spec.region)
    for zone in spec.zones:
        if zone not in zones:
            raise InvalidRequest(f"Unknown zone {zone!r} in {spec.region}: there are {', '.join(zones)}.")
    wanted = Network(name=checked_name(spec.name), region=spec.region, zones=spec.zones, tags=dict(spec.tags))
    network = _ensure_network(compute, wanted)
    made = described(compute, network)
    if made is None:
        raise InvalidRequest(f"There is a network {spec.name} in the project that is not ours.")
    if (made.region, made.zones) != (wanted.region, wanted.zones):
        raise InvalidRequest(f"Network {spec.name} exists with other zones: {', '.join(made.zones)}.")
    _ensure_subnet(compute, wanted)
    _ensure_rules(compute, wanted)
    return replace(made, id=made.name, cidr=subnet_range(compute.settings.address_block, made.name))


def find(compute: Compute, name: str) -> Network | None:
    found = look(compute, name)
    return None if found is None else described(compute, found)


def known(compute: Compute, name: str) -> Network | None:
    """As `find`, but asked for once: what we know of a network never changes. It may have gone since."""
    network = compute.known_networks.get(name) or find(compute, name)
    if network is not None:
        compute.known_networks[name] = network
    return network


def list_all(compute: Compute, region: str) -> list[Network]:
    compute.zones(region)
    found = compute.ask_all(compute.networks.list, compute_v1.ListNetworksRequest(project=compute.project))
    networks = [network for entry in found if (network := described(compute, entry)) is not None]
    return sorted((network for network in networks if network.region == region), key=lambda network: network.name)


def delete(compute: Compute, region: str, name: str) -> bool:
    """The subnet first: GCP refuses that while a machine uses it, and then nothing has been lost."""
    compute.zones(region)
    compute.known_networks.pop(name, None)
    network = look(compute, name)
    if network is None:
        return True
    if described(compute, network) is None:
        raise InvalidRequest(f"Network {name} is not ours.")
    return (
        _delete_subnet(compute, region, name)
        and _delete_rules(compute, network)
        and _delete_peerings(compute, network)
        and _delete_network(compute, network)
    )


def allow_clients(compute: Compute, region: str, name: str, sources: Sequence[str], ports: Sequence[int]) -> None:
    """IPv6 blocks are left out: machines have no IPv6 address, so nobody can come from there."""
    compute.zones(region)
    if find(compute, name) is None:
        raise NotFound(f"There is no network {name}.")
    wanted = sorted({str(block) for block in map(_block, sources) if block.version == 4})
    rule = _rule(name, "clients", ports=[str(port) for port in sorted(ports)], source_ranges=wanted)
    firewall = compute.look(
        compute.firewalls.get, compute_v1.GetFirewallRequest(project=compute.project, firewall=rule.name)
    )
    if firewall is None:
        if wanted:
            _insert_rule(compute, name, rule)
    elif not wanted:
        _delete_rule(compute, firewall)
    elif _lets_in(firewall) != _lets_in(rule):
        changed = compute_v1.Firewall(source_ranges=rule.source_ranges, allowed=rule.allowed)
        request = compute_v1.PatchFirewallRequest(
            project=compute.project, firewall=rule.name, firewall_resource=changed
        )
        seen, due = _lets_in(firewall), _lets_in(rule)
        compute.change(compute.firewalls.patch_unary, request, rule.name, str(firewall.id), seen, due)


def described(compute: Compute, network: compute_v1.Network) -> Network | None:
    """What the description says; None for a network that is not ours."""
    try:
        ours = json.loads(network.description)
        if ours["installation"] != compute.settings.installation:
            return None
        return Network(name=network.name, region=ours["region"], zones=tuple(ours["zones"]), tags=dict(ours["tags"]))
    except (json.JSONDecodeError, KeyError, TypeError):
        return None


def look(compute: Compute, name: str) -> compute_v1.Network | None:
    """The resource itself; `find` tells what we know of it."""
    request = compute_v1.GetNetworkRequest(project=compute.project, network=checked_name(name))
    return compute.look(compute.networks.get, request)


def _ensure_network(compute: Compute, wanted: Network) -> compute_v1.Network:
    network = look(compute, wanted.name)
    if network is None:
        description = {
            "installation": compute.settings.installation,
            "region": wanted.region,
            "zones": wanted.zones,
            "tags": wanted.tags,
        }
        resource = compute_v1.Network(
            name=wanted.name,
            auto_create_subnetworks=False,
            description=json.dumps(description),
            mtu=8896,
            routing_config=compute_v1.NetworkRoutingConfig(routing_mode="REGIONAL"),
        )
        request = compute_v1.InsertNetworkRequest(project=compute.project, network_resource=resource)
        with suppress(AlreadyThere):
            compute.change(compute.networks.insert_unary, request, wanted.name, "network")
        network = look(compute, wanted.name)
    if network is None:
        raise NotReady(f"Network {wanted.name} is being made.")
    return network


def _look_for_subnet(compute: Compute, region: str, name: str) -> compute_v1.Subnetwork | None:
    request = compute_v1.GetSubnetworkRequest(project=compute.project, region=region, subnetwork=name)
    return compute.look(compute.subnetworks.get, request)


def _ensure_subnet(compute: Compute, wanted: Network) -> None:
    if _look_for_subnet(compute, wanted.region, wanted.name) is not None:
        return
    resource = compute_v1.Subnetwork(
        name=wanted.name,
        network=compute.link(f"global/networks/{wanted.name}"),
        ip_cidr_range=subnet_range(compute.settings.address_block, wanted.name),
        private_ip_google_access=True,
    )
    request = compute_v1.InsertSubnetworkRequest(
        project=compute.project, region=wanted.region, subnetwork_resource=resource
    )
    with suppress(AlreadyThere):
        compute.change(compute.subnetworks.insert_unary, request, wanted.name, "subnet")
    if _look_for_subnet(compute, wanted.region, wanted.name) is None:
        raise NotReady(f"The subnet of network {wanted.name} is being made.")


def _ensure_rules(compute: Compute, wanted: Network) -> None:
    name = wanted.name
    rules = [
        _rule(name, "internode", ports=(*INTERNODE_PORTS, *_SERVING_PORTS), source_tags=[name]),
    ]
    if compute.settings.agents_from:
        rules.append(_rule(name, "agents", ports=(AGENT_PORT,), source_ranges=list(compute.settings.agents_from)))
    there = {rule.name for rule in _rules(compute, name)}
    missing = [rule for rule in rules if rule.name not in there]
    for rule in missing:
        _insert_rule(compute, name, rule)
    if missing and not {rule.name for rule in rules} <= {rule.name for rule in _rules(compute, name)}:
        raise NotReady(f"The firewall rules of network {name} are being made.")


def _rule(
    network: str,
    purpose: str,
    *,
    ports: Sequence[str],
    source_ranges: Sequence[str] = (),
    source_tags: Sequence[str] = (),
) -> compute_v1.Firewall:
    return compute_v1.Firewall(
        name=f"{network}-{purpose}",
        direction="INGRESS",
        allowed=[compute_v1.Allowed(I_p_protocol="tcp", ports=list(ports))],
        source_ranges=list(source_ranges),
        source_tags=list(source_tags),
        target_tags=[network],
    )


def _lets_in(rule: compute_v1.Firewall) -> str:
    """From where to which ports, in words that are the same when these are."""
    ports = sorted(port for allowed in rule.allowed for port in allowed.ports)
    return f"{','.join(sorted(rule.source_ranges))} to {','.join(ports)}"


def _insert_rule(compute: Compute, network: str, rule: compute_v1.Firewall) -> None:
    rule.network = compute.link(f"global/networks/{network}")
    request = compute_v1.InsertFirewallRequest(project=compute.project, firewall_resource=rule)
    try:
        compute.change(compute.firewalls.insert_unary, request, rule.name, "rule", ",".join(rule.source_ranges))
    except AlreadyThere as error:
        if rule.name.endswith("-clients"):
            raise NotReady(f"Firewall rule {rule.name} is being changed by somebody else.") from error


def _rules(compute: Compute, network: str) -> list[compute_v1.Firewall]:
    link = compute.link(f"global/networks/{network}")
    request = compute_v1.ListFirewallsRequest(project=compute.project, filter=f'network = "{link}"')
    return compute.ask_all(compute.firewalls.list, request)


def _delete_rule(compute: Compute, rule: compute_v1.Firewall) -> None:
    request = compute_v1.DeleteFirewallRequest(project=compute.project, firewall=rule.name)
    with suppress(NotFound):
        compute.change(compute.firewalls.delete_unary, request, rule.name, "delete", str(rule.id))


def _delete_subnet(compute: Compute, region: str, name: str) -> bool:
    subnet = _look_for_subnet(compute, region, name)
    if subnet is None:
        return True
    request = compute_v1.DeleteSubnetworkRequest(project=compute.project, region=region, subnetwork=name)
    try:
        compute.change(compute.subnetworks.delete_unary, request, name, "delete", str(subnet.id))
    except NotFound:
        return True
    except InUse:
        return False
    return _look_for_subnet(compute, region, name) is None


def _delete_rules(compute: Compute, network: compute_v1.Network) -> bool:
    rules = _rules(compute, network.name)
    for rule in rules:
        _delete_rule(compute, rule)
    return not rules or not _rules(compute, network.name)


def _delete_peerings(compute: Compute, network: compute_v1.Network) -> bool:
    for peering in network.peerings:
        remove_peering(compute, network, peering.name)
    return not network.peerings or not _peerings_left(compute, network.name)


def remove_peering(compute: Compute, network: compute_v1.Network, name: str) -> None:
    request = compute_v1.RemovePeeringNetworkRequest(
        project=compute.project,
        network=network.name,
        networks_remove_peering_request_resource=compute_v1.NetworksRemovePeeringRequest(name=name),
    )
    with suppress(NotFound):
        compute.change(compute.networks.remove_peering_unary, request, network.name, str(network.id), "unpeer", name)


def _peerings_left(compute: Compute, name: str) -> bool:
    network = look(compute, name)
    return network is not None and bool(network.peerings)


def _delete_network(compute: Compute, network: compute_v1.Network) -> bool:
    request = compute_v1.DeleteNetworkRequest(project=compute.project, network=network.name)
    try:
        compute.change(compute.networks.delete_unary, request, network.name, "delete", str(network.id))
    except NotFound:
        return True
    except InUse:
        return False
    return look(compute, network.name) is None


def _block(source: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(source)
    except ValueError as error:
        raise InvalidRequest(f"{source!r} is not a CIDR block: {error}") from error
