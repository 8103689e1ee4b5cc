"""VPC networks, subnets, firewall rules, peerings, and the endpoints of Private Service Connect."""

import ipaddress
import json
from typing import Any

from google.cloud import compute_v1

from provisioner.providers.gcp_emulator.call import Call, check_labels, check_name
from provisioner.providers.gcp_emulator.errors import in_use, invalid, not_found
from provisioner.providers.gcp_emulator.world import World, document


def insert_network(call: Call) -> compute_v1.Operation:
    call.world.require("compute.networks.create")
    if "autoCreateSubnetworks" not in call.sent:
        raise invalid("Invalid value for field 'resource.autoCreateSubnetworks': legacy networks are not made.")
    return _insert(call, "networks", call.body)


def get_network(call: Call) -> Any:
    call.world.require("compute.networks.get")
    return call.world.get(f"global/networks/{call.parts['network']}")


def list_networks(call: Call) -> compute_v1.NetworkList:
    call.world.require("compute.networks.list")
    items, following = call.page(resource for _, resource in call.world.below("global/networks"))
    return compute_v1.NetworkList(items=items, next_page_token=following)


def delete_network(call: Call) -> compute_v1.Operation:
    call.world.require("compute.networks.delete")
    path = f"global/networks/{call.parts['network']}"
    return _delete(call, path)


def add_peering(call: Call) -> compute_v1.Operation:
    """The other side is in another project, so a peering waits for it until a test says that it has come."""
    world, path = call.world, f"global/networks/{call.parts['network']}"
    world.require("compute.networks.addPeering")
    network, peering = world.get(path), call.body.network_peering
    check_name(peering.name)
    if any(there.name == peering.name for there in network.peerings):
        raise invalid(f"There is already a peering '{peering.name}' on network '{network.name}'.")
    peering.state = "INACTIVE"
    peering.state_details = "Waiting for peer network to connect."

    def effect() -> None:
        network.peerings = [*network.peerings, peering]
        world.note("peered", path)

    return call.operate("addPeering", path, effect=effect)


def remove_peering(call: Call) -> compute_v1.Operation:
    world, path = call.world, f"global/networks/{call.parts['network']}"
    world.require("compute.networks.removePeering")
    network = world.get(path)
    if all(there.name != call.body.name for there in network.peerings):
        raise not_found(f"{path}/peerings/{call.body.name}")

    def effect() -> None:
        network.peerings = [there for there in network.peerings if there.name != call.body.name]

    return call.operate("removePeering", path, effect=effect)


def insert_subnet(call: Call) -> compute_v1.Operation:
    world, subnet = call.world, call.body
    world.require("compute.subnetworks.create", "compute.networks.updatePolicy")
    _check_network(world, subnet.network)
    try:
        block = ipaddress.ip_network(subnet.ip_cidr_range)
    except ValueError as error:
        raise invalid(f"Invalid value for field 'resource.ipCidrRange': {error}.") from error
    for path, other in world.resources.items():
        if "/subnetworks/" not in path or other.network != subnet.network or other.name == subnet.name:
            continue
        if block.overlaps(ipaddress.ip_network(other.ip_cidr_range)):
            raise invalid(f"Invalid IPCidrRange: {block} conflicts with existing subnetwork '{other.name}'.")
    subnet.region = world.link(call.scope)
    subnet.gateway_address = str(block.network_address + 1)
    return _insert(call, "subnetworks", subnet)


def get_subnet(call: Call) -> Any:
    call.world.require("compute.subnetworks.get")
    return call.world.get(f"{call.scope}/subnetworks/{call.parts['subnetwork']}")


def delete_subnet(call: Call) -> compute_v1.Operation:
    call.world.require("compute.subnetworks.delete", "compute.networks.updatePolicy")
    path = f"{call.scope}/subnetworks/{call.parts['subnetwork']}"
    return _delete(call, path)


def insert_firewall(call: Call) -> compute_v1.Operation:
    call.world.require("compute.firewalls.create", "compute.networks.updatePolicy")
    _check_network(call.world, call.body.network)
    _check_firewall(call.body)
    return _insert(call, "firewalls", call.body)


def get_firewall(call: Call) -> Any:
    call.world.require("compute.firewalls.get")
    return call.world.get(f"global/firewalls/{call.parts['firewall']}")


def list_firewalls(call: Call) -> compute_v1.FirewallList:
    call.world.require("compute.firewalls.list")
    items, following = call.page(resource for _, resource in call.world.below("global/firewalls"))
    return compute_v1.FirewallList(items=items, next_page_token=following)


def patch_firewall(call: Call) -> compute_v1.Operation:
    world, path = call.world, f"global/firewalls/{call.parts['firewall']}"
    world.require("compute.firewalls.update", "compute.networks.updatePolicy")
    patched = compute_v1.Firewall.from_json(json.dumps(document(world.get(path)) | document(call.body)))
    _check_firewall(patched)

    def effect() -> None:
        world.resources[path] = patched

    return call.operate("patch", path, effect=effect)


def delete_firewall(call: Call) -> compute_v1.Operation:
    call.world.require("compute.firewalls.delete", "compute.networks.updatePolicy")
    return _delete(call, f"global/firewalls/{call.parts['firewall']}")


def insert_address(call: Call) -> compute_v1.Operation:
    world, address = call.world, call.body
    world.require("compute.addresses.createInternal", "compute.subnetworks.use")
    if address.labels:
        world.require("compute.addresses.setLabels")
    check_labels(address.labels.items())
    subnet = world.get(world.path(address.subnetwork))
    address.address = str(ipaddress.ip_network(subnet.ip_cidr_range).broadcast_address - world.number() % 200 - 2)
    address.status = "RESERVED"
    return _insert(call, "addresses", address)


def get_address(call: Call) -> Any:
    call.world.require("compute.addresses.get")
    return call.world.get(f"{call.scope}/addresses/{call.parts['address']}")


def list_addresses(call: Call) -> compute_v1.AddressList:
    call.world.require("compute.addresses.list")
    items, following = call.page(resource for _, resource in call.world.below(f"{call.scope}/addresses"))
    return compute_v1.AddressList(items=items, next_page_token=following)


def delete_address(call: Call) -> compute_v1.Operation:
    call.world.require("compute.addresses.deleteInternal")
    return _delete(call, f"{call.scope}/addresses/{call.parts['address']}")


def insert_forwarding_rule(call: Call) -> compute_v1.Operation:
    """An endpoint: it waits for the service's owner until a test says that he has accepted it."""
    world, rule = call.world, call.body
    if "/serviceAttachments/" not in rule.target:
        raise invalid("Invalid value for field 'resource.target': only service attachments are emulated.")
    world.require(
        "compute.forwardingRules.create",
        "compute.forwardingRules.pscCreate",
        "compute.addresses.useInternal",
        "compute.networks.use",
    )
    if rule.labels:
        world.require("compute.forwardingRules.setLabels")
    check_labels(rule.labels.items())
    _check_network(world, rule.network)
    address = world.get(world.path(rule.I_p_address))
    rule.I_p_address = address.address
    rule.psc_connection_status = "PENDING"
    address.users = [world.link(f"{call.scope}/forwardingRules/{rule.name}")]
    address.status = "IN_USE"
    return _insert(call, "forwardingRules", rule)


def get_forwarding_rule(call: Call) -> Any:
    call.world.require("compute.forwardingRules.get")
    return call.world.get(f"{call.scope}/forwardingRules/{call.parts['forwarding_rule']}")


def list_forwarding_rules(call: Call) -> compute_v1.ForwardingRuleList:
    call.world.require("compute.forwardingRules.list")
    items, following = call.page(resource for _, resource in call.world.below(f"{call.scope}/forwardingRules"))
    return compute_v1.ForwardingRuleList(items=items, next_page_token=following)


def delete_forwarding_rule(call: Call) -> compute_v1.Operation:
    call.world.require("compute.forwardingRules.delete", "compute.forwardingRules.pscDelete")
    return _delete(call, f"{call.scope}/forwardingRules/{call.parts['forwarding_rule']}")


def _insert(call: Call, collection: str, resource: Any) -> compute_v1.Operation:
    """It shows at once and is gone again if its operation fails; other things may use it at once."""
    world = call.world
    check_name(resource.name)
    path = f"{call.scope}/{collection}/{resource.name}"
    world.add(path, resource, "made")
    return call.operate("insert", path, effect=lambda: None, fail=lambda: world.remove(path))


def _delete(call: Call, path: str) -> compute_v1.Operation:
    world = call.world
    identity = world.get(path).id
    if user := _user(world, path):
        raise in_use(f"projects/{world.project}/{path}", user)

    def effect() -> None:
        there = world.resources.get(path)
        if there is not None and there.id == identity:
            world.remove(path)

    return call.operate("delete", path, effect=effect)


def _user(world: World, path: str) -> str:
    """What still uses it; empty: nothing."""
    link = world.link(path)
    for other, resource in world.resources.items():
        users = [getattr(resource, "network", ""), getattr(resource, "subnetwork", "")]
        users += [
            used
            for interface in getattr(resource, "network_interfaces", [])
            for used in (interface.network, interface.subnetwork)
        ]
        if "/addresses/" in path and "/forwardingRules/" in other and resource.I_p_address == world.get(path).address:
            return other
        if link in users:
            return other
    peerings = getattr(world.resources[path], "peerings", [])
    return f"peering {peerings[0].name}" if peerings else ""


def _check_network(world: World, link: str) -> None:
    world.get(world.path(link))


def _check_firewall(firewall: compute_v1.Firewall) -> None:
    if not firewall.allowed:
        raise invalid("Invalid value for field 'resource.allowed': at least one is needed.")
    if firewall.direction == "INGRESS" and not (firewall.source_ranges or firewall.source_tags):
        raise invalid("Invalid value for field 'resource.sourceRanges': a source is needed.")
    for block in firewall.source_ranges:
        try:
            ipaddress.ip_network(block)
        except ValueError as error:
            raise invalid(f"Invalid value for field 'resource.sourceRanges': {error}.") from error
