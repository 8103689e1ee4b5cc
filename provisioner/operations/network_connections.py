"""Peerings and endpoints: asked for, looked at until what is left is somebody else's, and taken away."""

from backend.access import queries as access
from backend.connections import actions, queries
from backend.connections.models import NetworkConnection
from backend.connections.states import ConnectionKind, ConnectionState
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.client_access import allow_clients, let_in
from provisioner.operations.node_steps import cluster_of, provider_of
from provisioner.providers import base

_STATES = {
    base.ConnectionState.WAITING_FOR_YOU: ConnectionState.WAITING_FOR_YOU,
    base.ConnectionState.READY: ConnectionState.ACTIVE,
    base.ConnectionState.FAILED: ConnectionState.FAILED,
}
_LOOK_SECONDS = 1.0


def spec_of(row: NetworkConnection) -> base.ConnectionSpec:
    """What the provider is asked for. `row.datacenter` and `row.cluster` are to be loaded."""
    network, region, tags = names.network(row.datacenter), row.datacenter.region, names.tags(row.cluster)
    if row.kind == ConnectionKind.ENDPOINT:
        return base.EndpointSpec(
            name=names.connection(row), network=network, region=region, service=row.service, tags=tags
        )
    return base.PeeringSpec(
        name=names.connection(row),
        network=network,
        region=region,
        peer_network=row.peer_network,
        peer_owner=row.peer_owner,
        peer_region=row.peer_region,
        tags=tags,
    )


def note(row: NetworkConnection, found: base.Connection) -> ConnectionState | None:
    """Write down how it stands. None: it is on its way, and nothing is written."""
    state = _STATES.get(found.state)
    if state is not None:
        addresses = [*found.names, *([found.address] if found.address else [])]
        actions.looked_at(row.id, state=state, message=found.message, provider_id=found.id, addresses=addresses)
    return state


def ensure_connection(context: StepContext) -> Outcome:
    row = _row(context)
    found = provider_of(row.cluster).ensure_connection(spec_of(row))
    match note(row, found):
        case None:
            return Wait(_LOOK_SECONDS, f"{row.name} to be made")
        case ConnectionState.FAILED:
            raise Blocked(
                "connection-failed",
                f"The connection {row.name} was not made. {found.message}".strip(),
                "Cancel, which takes it away, and order it anew when the other side agrees.",
            )
        case _:
            return Done(found.message)


def delete_connection(context: StepContext) -> Outcome:
    row = _row(context)
    gone = provider_of(row.cluster).delete_connection(spec_of(row))
    return Done() if gone else Wait(_LOOK_SECONDS, f"{row.name} to go")


def let_in_no_more(context: StepContext) -> Outcome:
    """The firewall as it is without this connection."""
    cidrs = access.wanted_cidrs(context.operation.cluster_id)
    return let_in(context, cidrs, without=[context.operation.parameters["connection"]])


def delete_connections(context: StepContext) -> Outcome:
    """Of a cluster, or of the data centre that the step is about: one after the other."""
    left = queries.living(context.operation.cluster_id, datacenter_id=context.step.target)
    if not left:
        return Done()
    row = left[0]
    if not provider_of(cluster_of(context)).delete_connection(spec_of(row)):
        return Wait(_LOOK_SECONDS, f"{row.name} to go")
    actions.gone(row.id)
    return Wait(0, "the next one") if len(left) > 1 else Done()


def _row(context: StepContext) -> NetworkConnection:
    rows = NetworkConnection.objects.select_related("cluster", "datacenter")
    return rows.get(id=context.operation.parameters["connection"])


def _gone(operation: Operation) -> None:
    actions.gone(operation.parameters["connection"])


def _kept(operation: Operation) -> None:
    actions.kept(operation.parameters["connection"])


CREATE = OperationCode(
    kind="create_connection",
    steps={
        "ensure_connection": StepCode(do=ensure_connection, undo=delete_connection),
        "allow_clients": StepCode(do=allow_clients, undo=let_in_no_more),
    },
    on_cancelled=_gone,
)
DELETE = OperationCode(
    kind="delete_connection",
    steps={
        "allow_clients": StepCode(do=let_in_no_more),
        "delete_connection": StepCode(do=delete_connection),
    },
    on_succeeded=_gone,
    on_cancelled=_kept,
)
