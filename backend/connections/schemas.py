"""Connections of a cluster's network on the wire."""

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.connections.states import ConnectionKind, ConnectionState
from backend.core.schemas import AllowedAction, RequestBody
from backend.operations.schemas import Operation

Name = Annotated[str, StringConstraints(min_length=1, max_length=48, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
Reference = Annotated[str, StringConstraints(max_length=256, pattern=r"^[A-Za-z0-9._:/-]*$")]
Cidr = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[0-9A-Fa-f.:/]+$")]


class PeeringOrder(RequestBody):
    """The network of a data centre and another one reach each other. Their addresses must not overlap."""

    kind: Literal["peering"]
    name: Name
    datacenter: Reference | None = Field(None, description="null: the only one; must be named when there are several")
    peer_network: Annotated[Reference, StringConstraints(min_length=1)] = Field(
        description="AWS: id of the VPC (vpc-0123). Google Cloud: name of the VPC network"
    )
    peer_owner: Reference = Field("", description="AWS account or Google Cloud project of it; empty: the cluster's own")
    peer_region: Reference = Field("", description="AWS: its region; empty: that of the data centre")
    cidrs: list[Cidr] = Field(
        min_length=1,
        max_length=50,
        description="From where clients come through it. Let in while the allowlist is empty; else the list decides",
    )


class EndpointOrder(RequestBody):
    """An endpoint in the network of a data centre for a service that somebody publishes, in the same region."""

    kind: Literal["endpoint"]
    name: Name
    datacenter: Reference | None = Field(None, description="null: the only one; must be named when there are several")
    service: Annotated[Reference, StringConstraints(min_length=1)] = Field(
        description="AWS: com.amazonaws.vpce.REGION.vpce-svc-0123. Google Cloud: "
        "projects/PROJECT/regions/REGION/serviceAttachments/NAME"
    )


AnyConnectionOrder = PeeringOrder | EndpointOrder
ConnectionOrder = Annotated[AnyConnectionOrder, Field(discriminator="kind")]


class NetworkConnection(Schema):
    id: str
    kind: ConnectionKind
    name: str
    datacenter: str
    peer_network: str = Field(description="Of a peering")
    peer_owner: str
    peer_region: str
    cidrs: list[str] = Field(description="From where clients come through a peering")
    service: str = Field(description="Of an endpoint")
    state: ConnectionState
    message: str = Field(description="waiting_for_you: what somebody has to do at the other end. failed: why")
    provider_id: str | None = Field(description="The provider's name for it")
    addresses: list[str] = Field(description="Under which an endpoint is reached")
    created_by: str
    created_at: datetime
    checked_at: datetime | None = Field(description="When the provider was asked last")
    deleted_at: datetime | None
    allowed_actions: list[AllowedAction]


class NetworkConnectionPage(Schema):
    items: list[NetworkConnection]
    next_cursor: str | None


class NetworkConnectionStarted(Schema):
    connection: NetworkConnection
    operation: Operation


class DatacenterNetwork(Schema):
    datacenter: str
    region: str
    zones: list[str] = Field(description="Each has a subnet, or its part of one")
    network_id: str | None = Field(description="The provider's: id of the VPC, name of the VPC network")
    cidr: str | None = Field(description="Addresses of the nodes; the other side of a peering routes them to it")


class ClusterNetwork(Schema):
    provider: str
    firewall: bool = Field(description="Its networks have a firewall, which lets in whom the allowlist names")
    connection_kinds: list[ConnectionKind] = Field(description="What the provider has; may be empty")
    datacenters: list[DatacenterNetwork]
    allowed_actions: list[AllowedAction]
