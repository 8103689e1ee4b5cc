"""Ways between a cluster's network and others: VPC peering, and endpoints of Private Service Connect services.

Both may wait for somebody in another project; that is a state, not an error.
"""

from contextlib import suppress

from google.cloud import compute_v1

from provisioner.providers.base import (
    Connection,
    ConnectionSpec,
    ConnectionState,
    EndpointSpec,
    InvalidRequest,
    NotFound,
    PeeringSpec,
)
from provisioner.providers.gcp import networks
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.errors import AlreadyThere, InUse, NotReady
from provisioner.providers.gcp.names import NETWORK_LABEL, checked_name, labels

_ENDPOINT = {
    "ACCEPTED": ConnectionState.READY,
    "PENDING": ConnectionState.WAITING_FOR_YOU,
    "REJECTED": ConnectionState.FAILED,
    "CLOSED": ConnectionState.FAILED,
    "NEEDS_ATTENTION": ConnectionState.FAILED,
}


def ensure(compute: Compute, spec: ConnectionSpec) -> Connection:
    match spec:
        case PeeringSpec():
            return ensure_peering(compute, spec)
        case EndpointSpec():
            return ensure_endpoint(compute, spec)


def delete(compute: Compute, spec: ConnectionSpec) -> bool:
    match spec:
        case PeeringSpec():
            return delete_peering(compute, network=spec.network, name=spec.name)
        case EndpointSpec():
            return delete_endpoint(compute, region=spec.region, network=spec.network, name=spec.name)


def ensure_peering(compute: Compute, spec: PeeringSpec) -> Connection:
    """Our half of it; the other side makes the other. InvalidRequest."""
    network = _network(compute, spec.network)
    link = f"projects/{spec.peer_owner or compute.project}/global/networks/{spec.peer_network}"
    peering = _peering(network, checked_name(spec.name))
    if peering is None:
        resource = compute_v1.NetworkPeering(name=spec.name, network=link, exchange_subnet_routes=True)
        request = compute_v1.AddPeeringNetworkRequest(
            project=compute.project,
            network=spec.network,
            networks_add_peering_request_resource=compute_v1.NetworksAddPeeringRequest(network_peering=resource),
        )
        compute.change(
            compute.networks.add_peering_unary, request, spec.network, str(network.id), "peer", spec.name, link
        )
        peering = _peering(_network(compute, spec.network), spec.name)
    if peering is None:
        return Connection(id=spec.name, name=spec.name, state=ConnectionState.PENDING)
    if not peering.network.endswith(link):
        raise InvalidRequest(f"Peering {spec.name} exists with {peering.network}.")
    return _as_peering(compute, spec.network, peering)


def find_peering(compute: Compute, *, network: str, name: str) -> Connection | None:
    found = networks.look(compute, network)
    peering = None if found is None else _peering(found, name)
    return None if peering is None else _as_peering(compute, network, peering)


def delete_peering(compute: Compute, *, network: str, name: str) -> bool:
    """Our half; the other one is then inactive. True when it is gone, also when it never was."""
    found = networks.look(compute, network)
    if found is None or _peering(found, name) is None:
        return True
    networks.remove_peering(compute, found, name)
    return find_peering(compute, network=network, name=name) is None


def ensure_endpoint(compute: Compute, spec: EndpointSpec) -> Connection:
    """An address in the network's subnet and a forwarding rule from it to the service. InvalidRequest, NotReady."""
    _network(compute, spec.network)
    name = checked_name(f"{spec.network}-{spec.name}")
    rule = _rule(compute, spec.region, name)
    if rule is None:
        _ensure_address(compute, spec, name)
        resource = compute_v1.ForwardingRule(
            name=name,
            network=compute.link(f"global/networks/{spec.network}"),
            I_p_address=compute.link(f"regions/{spec.region}/addresses/{name}"),
            target=spec.service,
            labels=_labels(compute, spec),
        )
        request = compute_v1.InsertForwardingRuleRequest(
            project=compute.project, region=spec.region, forwarding_rule_resource=resource
        )
        with suppress(AlreadyThere):
            compute.change(compute.forwarding_rules.insert_unary, request, name, "endpoint", spec.service)
        rule = _rule(compute, spec.region, name)
    if rule is None:
        return Connection(id=name, name=spec.name, state=ConnectionState.PENDING)
    if not rule.target.endswith(spec.service):
        raise InvalidRequest(f"Endpoint {spec.name} exists for {rule.target}.")
    return _as_endpoint(spec.name, rule)


def find_endpoint(compute: Compute, *, region: str, network: str, name: str) -> Connection | None:
    rule = _rule(compute, region, checked_name(f"{network}-{name}"))
    return None if rule is None else _as_endpoint(name, rule)


def delete_endpoint(compute: Compute, *, region: str, network: str, name: str) -> bool:
    """With its address. True when both are gone, also when they never were."""
    full_name = checked_name(f"{network}-{name}")
    rule = _rule(compute, region, full_name)
    if rule is not None and not _delete_rule(compute, region, rule):
        return False
    address = _address(compute, region, full_name)
    return address is None or _delete_address(compute, region, address)


def delete_endpoints(compute: Compute, *, region: str, network: str) -> bool:
    """All of a network that is to go."""
    wanted = f"labels.{NETWORK_LABEL} = {network}"
    rules = compute.ask_all(
        compute.forwarding_rules.list,
        compute_v1.ListForwardingRulesRequest(project=compute.project, region=region, filter=wanted),
    )
    rules_gone = [_delete_rule(compute, region, rule) for rule in rules]
    if not all(rules_gone):
        return False
    addresses = compute.ask_all(
        compute.addresses.list,
        compute_v1.ListAddressesRequest(project=compute.project, region=region, filter=wanted),
    )
    addresses_gone = [_delete_address(compute, region, address) for address in addresses]
    return all(addresses_gone)


def _network(compute: Compute, name: str) -> compute_v1.Network:
    network = networks.look(compute, name)
    if network is None or networks.described(compute, network) is None:
        raise InvalidRequest(f"There is no network {name}; it must be made first.")
    return network


def _peering(network: compute_v1.Network, name: str) -> compute_v1.NetworkPeering | None:
    return next((peering for peering in network.peerings if peering.name == name), None)


def _as_peering(compute: Compute, network: str, peering: compute_v1.NetworkPeering) -> Connection:
    if peering.state == "ACTIVE":
        return Connection(id=peering.name, name=peering.name, state=ConnectionState.READY)
    return Connection(
        id=peering.name,
        name=peering.name,
        state=ConnectionState.WAITING_FOR_YOU,
        message=f"Add a peering from {peering.network} to projects/{compute.project}/global/networks/{network}."
        f" GCP says: {peering.state_details}",
    )


def _labels(compute: Compute, spec: EndpointSpec) -> dict[str, str]:
    return labels(spec.tags, installation=compute.settings.installation, network=spec.network)


def _rule(compute: Compute, region: str, name: str) -> compute_v1.ForwardingRule | None:
    request = compute_v1.GetForwardingRuleRequest(project=compute.project, region=region, forwarding_rule=name)
    return compute.look(compute.forwarding_rules.get, request)


def _address(compute: Compute, region: str, name: str) -> compute_v1.Address | None:
    request = compute_v1.GetAddressRequest(project=compute.project, region=region, address=name)
    return compute.look(compute.addresses.get, request)


def _ensure_address(compute: Compute, spec: EndpointSpec, name: str) -> None:
    if _address(compute, spec.region, name) is None:
        resource = compute_v1.Address(
            name=name,
            address_type="INTERNAL",
            subnetwork=compute.link(f"regions/{spec.region}/subnetworks/{spec.network}"),
            labels=_labels(compute, spec),
        )
        request = compute_v1.InsertAddressRequest(
            project=compute.project, region=spec.region, address_resource=resource
        )
        with suppress(AlreadyThere):
            compute.change(compute.addresses.insert_unary, request, name, "address")
        if _address(compute, spec.region, name) is None:
            raise NotReady(f"The address of endpoint {spec.name} is being made.")


def _delete_rule(compute: Compute, region: str, rule: compute_v1.ForwardingRule) -> bool:
    request = compute_v1.DeleteForwardingRuleRequest(project=compute.project, region=region, forwarding_rule=rule.name)
    try:
        compute.change(compute.forwarding_rules.delete_unary, request, rule.name, "delete", str(rule.id))
    except NotFound:
        return True
    return _rule(compute, region, rule.name) is None


def _delete_address(compute: Compute, region: str, address: compute_v1.Address) -> bool:
    request = compute_v1.DeleteAddressRequest(project=compute.project, region=region, address=address.name)
    try:
        compute.change(compute.addresses.delete_unary, request, address.name, "delete", str(address.id))
    except NotFound:
        return True
    except InUse:
        return False
    return _address(compute, region, address.name) is None


def _as_endpoint(name: str, rule: compute_v1.ForwardingRule) -> Connection:
    state = _ENDPOINT.get(rule.psc_connection_status, ConnectionState.PENDING)
    message = ""
    if state is ConnectionState.WAITING_FOR_YOU:
        message = f"Accept the connection {rule.psc_connection_id or rule.name} at the service {rule.target}."
    elif state is ConnectionState.FAILED:
        message = f"The service's owner says {rule.psc_connection_status}: delete the endpoint, or ask the owner."
    return Connection(id=rule.name, name=name, state=state, message=message, address=rule.I_p_address)
