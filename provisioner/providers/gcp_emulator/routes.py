"""Which call is answered by what: method and path, the client's own types of request and body, the handler."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.cloud import compute_v1 as api

from provisioner.providers.gcp_emulator import instances, networks, reads
from provisioner.providers.gcp_emulator.call import Call

_PROJECT = "/compute/v1/projects/{project}"
_ZONE = f"{_PROJECT}/zones/{{zone}}"
_REGION = f"{_PROJECT}/regions/{{region}}"
_GLOBAL = f"{_PROJECT}/global"


@dataclass(frozen=True)
class Route:
    """`name` is what faults name. `request` says which query parameters there are; `body` what is sent, if anything."""

    name: str
    method: str
    template: str
    request: Any
    body: Any
    handler: Callable[[Call], Any]

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.template))

    @property
    def parameters(self) -> set[str]:
        return {_camel(name) for name in self.request.meta.fields}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


ROUTES = (
    Route("regions.get", "GET", _REGION, api.GetRegionRequest, None, reads.get_region),
    Route(
        "machineTypes.get",
        "GET",
        f"{_ZONE}/machineTypes/{{machine_type}}",
        api.GetMachineTypeRequest,
        None,
        reads.get_machine_type,
    ),
    Route("images.list", "GET", f"{_GLOBAL}/images", api.ListImagesRequest, None, reads.list_images),
    Route(
        "globalOperations.get",
        "GET",
        f"{_GLOBAL}/operations/{{operation}}",
        api.GetGlobalOperationRequest,
        None,
        reads.get_operation,
    ),
    Route(
        "regionOperations.get",
        "GET",
        f"{_REGION}/operations/{{operation}}",
        api.GetRegionOperationRequest,
        None,
        reads.get_operation,
    ),
    Route(
        "zoneOperations.get",
        "GET",
        f"{_ZONE}/operations/{{operation}}",
        api.GetZoneOperationRequest,
        None,
        reads.get_operation,
    ),
    Route(
        "zoneOperations.list",
        "GET",
        f"{_ZONE}/operations",
        api.ListZoneOperationsRequest,
        None,
        reads.list_zone_operations,
    ),
    Route(
        "instances.aggregatedList",
        "GET",
        f"{_PROJECT}/aggregated/instances",
        api.AggregatedListInstancesRequest,
        None,
        instances.aggregated_list,
    ),
    Route(
        "instances.insert",
        "POST",
        f"{_ZONE}/instances",
        api.InsertInstanceRequest,
        api.Instance,
        instances.insert,
    ),
    Route("instances.get", "GET", f"{_ZONE}/instances/{{instance}}", api.GetInstanceRequest, None, instances.get),
    Route(
        "instances.delete",
        "DELETE",
        f"{_ZONE}/instances/{{instance}}",
        api.DeleteInstanceRequest,
        None,
        instances.delete,
    ),
    Route(
        "instances.start",
        "POST",
        f"{_ZONE}/instances/{{instance}}/start",
        api.StartInstanceRequest,
        None,
        instances.start,
    ),
    Route(
        "instances.stop",
        "POST",
        f"{_ZONE}/instances/{{instance}}/stop",
        api.StopInstanceRequest,
        None,
        instances.stop,
    ),
    Route("networks.list", "GET", f"{_GLOBAL}/networks", api.ListNetworksRequest, None, networks.list_networks),
    Route(
        "networks.insert",
        "POST",
        f"{_GLOBAL}/networks",
        api.InsertNetworkRequest,
        api.Network,
        networks.insert_network,
    ),
    Route("networks.get", "GET", f"{_GLOBAL}/networks/{{network}}", api.GetNetworkRequest, None, networks.get_network),
    Route(
        "networks.delete",
        "DELETE",
        f"{_GLOBAL}/networks/{{network}}",
        api.DeleteNetworkRequest,
        None,
        networks.delete_network,
    ),
    Route(
        "networks.addPeering",
        "POST",
        f"{_GLOBAL}/networks/{{network}}/addPeering",
        api.AddPeeringNetworkRequest,
        api.NetworksAddPeeringRequest,
        networks.add_peering,
    ),
    Route(
        "networks.removePeering",
        "POST",
        f"{_GLOBAL}/networks/{{network}}/removePeering",
        api.RemovePeeringNetworkRequest,
        api.NetworksRemovePeeringRequest,
        networks.remove_peering,
    ),
    Route(
        "subnetworks.insert",
        "POST",
        f"{_REGION}/subnetworks",
        api.InsertSubnetworkRequest,
        api.Subnetwork,
        networks.insert_subnet,
    ),
    Route(
        "subnetworks.get",
        "GET",
        f"{_REGION}/subnetworks/{{subnetwork}}",
        api.GetSubnetworkRequest,
        None,
        networks.get_subnet,
    ),
    Route(
        "subnetworks.delete",
        "DELETE",
        f"{_REGION}/subnetworks/{{subnetwork}}",
        api.DeleteSubnetworkRequest,
        None,
        networks.delete_subnet,
    ),
    Route("firewalls.list", "GET", f"{_GLOBAL}/firewalls", api.ListFirewallsRequest, None, networks.list_firewalls),
    Route(
        "firewalls.insert",
        "POST",
        f"{_GLOBAL}/firewalls",
        api.InsertFirewallRequest,
        api.Firewall,
        networks.insert_firewall,
    ),
    Route(
        "firewalls.get",
        "GET",
        f"{_GLOBAL}/firewalls/{{firewall}}",
        api.GetFirewallRequest,
        None,
        networks.get_firewall,
    ),
    Route(
        "firewalls.patch",
        "PATCH",
        f"{_GLOBAL}/firewalls/{{firewall}}",
        api.PatchFirewallRequest,
        api.Firewall,
        networks.patch_firewall,
    ),
    Route(
        "firewalls.delete",
        "DELETE",
        f"{_GLOBAL}/firewalls/{{firewall}}",
        api.DeleteFirewallRequest,
        None,
        networks.delete_firewall,
    ),
    Route(
        "addresses.insert",
        "POST",
        f"{_REGION}/addresses",
        api.InsertAddressRequest,
        api.Address,
        networks.insert_address,
    ),
    Route("addresses.list", "GET", f"{_REGION}/addresses", api.ListAddressesRequest, None, networks.list_addresses),
    Route(
        "addresses.get",
        "GET",
        f"{_REGION}/addresses/{{address}}",
        api.GetAddressRequest,
        None,
        networks.get_address,
    ),
    Route(
        "addresses.delete",
        "DELETE",
        f"{_REGION}/addresses/{{address}}",
        api.DeleteAddressRequest,
        None,
        networks.delete_address,
    ),
    Route(
        "forwardingRules.insert",
        "POST",
        f"{_REGION}/forwardingRules",
        api.InsertForwardingRuleRequest,
        api.ForwardingRule,
        networks.insert_forwarding_rule,
    ),
    Route(
        "forwardingRules.list",
        "GET",
        f"{_REGION}/forwardingRules",
        api.ListForwardingRulesRequest,
        None,
        networks.list_forwarding_rules,
    ),
    Route(
        "forwardingRules.get",
        "GET",
        f"{_REGION}/forwardingRules/{{forwarding_rule}}",
        api.GetForwardingRuleRequest,
        None,
        networks.get_forwarding_rule,
    ),
    Route(
        "forwardingRules.delete",
        "DELETE",
        f"{_REGION}/forwardingRules/{{forwarding_rule}}",
        api.DeleteForwardingRuleRequest,
        None,
        networks.delete_forwarding_rule,
    ),
)
