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

    kind: Literal["peering"] = Field(description="peering: this network and another one reach each other")
    name: Name = Field(
        description=(
            "For people; unique among the cluster's connections, upper and lower case being the same. Small "
            "letters, digits and hyphens"
        ),
        examples=["analytics"],
    )
    datacenter: Reference | None = Field(
        None,
        description="Its name; null: the only one; must be named when there are several",
        examples=["aws-eu-central-1"],
    )
    peer_network: Annotated[Reference, StringConstraints(min_length=1)] = Field(
        description="AWS: id of the VPC (vpc-0123). Google Cloud: name of the VPC network",
        examples=["vpc-0a1b2c3d4e5f67890"],
    )
    peer_owner: Reference = Field(
        "", description="AWS account or Google Cloud project of it; empty: the cluster's own", examples=["123456789012"]
    )
    peer_region: Reference = Field(
        "", description="AWS: its region; empty: that of the data centre", examples=["eu-west-1"]
    )
    cidrs: list[Cidr] = Field(
        min_length=1,
        max_length=50,
        description="From where clients come through it. Let in while the allowlist is empty; else the list decides",
        examples=[["10.20.0.0/16"]],
    )


class EndpointOrder(RequestBody):
    """An endpoint in the network of a data centre for a service that somebody publishes, in the same region."""

    kind: Literal["endpoint"] = Field(description="endpoint: the nodes reach a service that somebody publishes")
    name: Name = Field(
        description=(
            "For people; unique among the cluster's connections, upper and lower case being the same. Small "
            "letters, digits and hyphens"
        ),
        examples=["key-service"],
    )
    datacenter: Reference | None = Field(
        None,
        description="Its name; null: the only one; must be named when there are several",
        examples=["aws-eu-central-1"],
    )
    service: Annotated[Reference, StringConstraints(min_length=1)] = Field(
        description=(
            "AWS: com.amazonaws.vpce.REGION.vpce-svc-0123. Google Cloud: "
            "projects/PROJECT/regions/REGION/serviceAttachments/NAME"
        ),
        examples=["com.amazonaws.vpce.eu-central-1.vpce-svc-0a1b2c3d4e5f67890"],
    )


AnyConnectionOrder = PeeringOrder | EndpointOrder
ConnectionOrder = Annotated[AnyConnectionOrder, Field(discriminator="kind")]


class NetworkConnection(Schema):
    id: str = Field(description="Id of the connection: con_…")
    kind: ConnectionKind = Field(
        description="peering: two networks reach each other. endpoint: for a service that somebody publishes"
    )
    name: str = Field(description="Unique among the cluster's connections that are there")
    datacenter: str = Field(description="Name of the data centre whose network it is of")
    peer_network: str = Field(
        description="Of a peering: AWS: id of the VPC. Google Cloud: name of the VPC network. Empty: an endpoint"
    )
    peer_owner: str = Field(
        description="AWS account or Google Cloud project of a peering's other side; empty: the cluster's own"
    )
    peer_region: str = Field(description="AWS: region of a peering's other side; empty: that of the data centre")
    cidrs: list[str] = Field(description="From where clients come through a peering; empty: an endpoint")
    service: str = Field(description="Of an endpoint: the service's name at the provider; empty: a peering")
    state: ConnectionState = Field(
        description="creating, waiting_for_you (see message), active, failed (see message), deleting, deleted"
    )
    message: str = Field(
        description="waiting_for_you: what somebody has to do at the other end. failed: why. May be empty"
    )
    provider_id: str | None = Field(description="The provider's name for it; null: not made yet")
    addresses: list[str] = Field(
        description=(
            "Under which an endpoint is reached: IP addresses and DNS names; empty: a peering, or not made yet"
        )
    )
    created_by: str = Field(
        description=(
            "Who ordered it: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used"
        )
    )
    created_at: datetime = Field(description="When it was ordered")
    checked_at: datetime | None = Field(description="When the provider was asked last; null: not yet")
    deleted_at: datetime | None = Field(description="When it was gone; null: it is there")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: delete_network_connection")


class NetworkConnectionPage(Schema):
    items: list[NetworkConnection] = Field(description="Those that are there, newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class NetworkConnectionStarted(Schema):
    connection: NetworkConnection = Field(description="As it is now: being created or deleted")
    operation: Operation = Field(description="The operation that creates or deletes it")


class DatacenterNetwork(Schema):
    datacenter: str = Field(description="Name of the data centre")
    region: str = Field(description="The provider's, in which it is")
    zones: list[str] = Field(description="Each has a subnet, or its part of one")
    network_id: str | None = Field(
        description="The provider's: id of the VPC, name of the VPC network; null: not made yet, or it has none"
    )
    cidr: str | None = Field(
        description="Addresses of the nodes; the other side of a peering routes them to it. null: not known yet"
    )


class ClusterNetwork(Schema):
    provider: str = Field(description="Of the cluster: aws, gcp or local")
    firewall: bool = Field(description="Its networks have a firewall, which lets in whom the allowlist names")
    connection_kinds: list[ConnectionKind] = Field(description="What the provider has; may be empty")
    datacenters: list[DatacenterNetwork] = Field(description="In the cluster's order")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: create_network_connection")
