"""What may be changed of a cluster, and the plan of a change, on the wire."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from ninja import Schema
from pydantic import Field, ValidationError, WrapValidator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from backend.clusters.schemas import NODES_PER_ZONE_LIMIT, ZONES_LIMIT, Cluster, Word
from backend.core.schemas import RequestBody
from backend.operations.schemas import Operation

DATACENTERS_LIMIT = 8

Name = Annotated[str, Field(min_length=1, max_length=96, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
SchemaWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,222}$")]
NodeId = Annotated[str, Field(max_length=40, pattern=r"^nod_[0-9a-z]+$")]


class Scale(RequestBody):
    """More or fewer nodes. Racks stay even: the number is per zone."""

    kind: Literal["scale"] = Field(description="Tells which change it is")
    nodes_per_zone: int | None = Field(
        default=None, ge=0, le=NODES_PER_ZONE_LIMIT, description="Or nodes_total instead"
    )
    nodes_total: int | None = Field(
        default=None,
        ge=0,
        le=NODES_PER_ZONE_LIMIT * ZONES_LIMIT,
        description="Of the data centre, in the place of nodes_per_zone; must spread evenly over its zones",
    )
    datacenter: Name | None = Field(
        default=None, description="null: the only one; must be named when there are several"
    )

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if (self.nodes_per_zone is None) is (self.nodes_total is None):
            raise ValueError("Say either nodes_per_zone or nodes_total")
        return self


class ReplaceNode(RequestBody):
    """A new machine takes the node's place. A living node serves until the new one has all its data."""

    kind: Literal["replace_node"] = Field(description="Tells which change it is")
    node_id: NodeId = Field(
        description="Id of the node that goes: a full member of the ring, whether up, stopped or broken",
        examples=["nod_01jd3k8v5m2q9xw4t7z6e1r0ab"],
    )


class RestartNode(RequestBody):
    kind: Literal["restart_node"] = Field(description="Tells which change it is")
    node_id: NodeId = Field(
        description="Id of a node that is not stopped; it is drained and its engine started anew",
        examples=["nod_01jd3k8v5m2q9xw4t7z6e1r0ab"],
    )


class StopNode(RequestBody):
    """The engine of one node is drained and stopped, and stays so until it is started."""

    kind: Literal["stop_node"] = Field(description="Tells which change it is")
    node_id: NodeId = Field(
        description="Id of a node that is not stopped already", examples=["nod_01jd3k8v5m2q9xw4t7z6e1r0ab"]
    )


class StartNode(RequestBody):
    kind: Literal["start_node"] = Field(description="Tells which change it is")
    node_id: NodeId = Field(
        description="Id of a node that is stopped or down", examples=["nod_01jd3k8v5m2q9xw4t7z6e1r0ab"]
    )


class MeasureDisks(RequestBody):
    """One node is drained and stopped while its disks are measured with fio, then started again.

    A round makes four measurements, each of 20 to 60 seconds.
    """

    kind: Literal["measure_disks"] = Field(description="Tells which change it is")
    node_id: NodeId = Field(description="Id of a node that is not stopped", examples=["nod_01jd3k8v5m2q9xw4t7z6e1r0ab"])
    rounds: int = Field(3, ge=1, le=5, description="More tell better how steady the disks are")


class RollingRestart(RequestBody):
    """Every node is drained and started anew, rack by rack, one at a time."""

    kind: Literal["rolling_restart"] = Field(description="Tells which change it is")


class Upgrade(RequestBody):
    """Another version of the engine: first one node, then the others rack by rack."""

    kind: Literal["upgrade"] = Field(description="Tells which change it is")
    engine_version: Word = Field(
        description="Where to; get_catalog says from which versions there is a way. There is none back",
        examples=["5.0.9"],
    )


class ChangeMachineType(RequestBody):
    """Every node of a data centre moves to a machine of another type, one after another."""

    kind: Literal["machine_type"] = Field(description="Tells which change it is")
    machine_type: Word = Field(
        description="The new type, of the cluster's provider, as get_catalog names it", examples=["i4i.2xlarge"]
    )
    datacenter: Name | None = Field(None, description="null: the only one; must be named when there are several")


class ChangeSettings(RequestBody):
    """The engine settings that are to differ from the engine's own values, in the place of those before."""

    kind: Literal["settings"] = Field(description="Tells which change it is")
    settings: dict[str, Any] = Field(max_length=100, description="By name, as get_catalog lists them")


class AddDatacenter(RequestBody):
    """A second region: its nodes join, the named keyspaces are replicated there, and it is filled from the first."""

    kind: Literal["add_datacenter"] = Field(description="Tells which change it is")
    region: Word = Field(
        description="Of the cluster's provider, as get_catalog names it; one in which it has no data centre yet",
        examples=["eu-west-1"],
    )
    zones: list[Word] = Field(
        min_length=1,
        max_length=ZONES_LIMIT,
        description="Of the region, none twice. Each becomes a rack and holds one replica of every row",
        examples=[["eu-west-1a", "eu-west-1b", "eu-west-1c"]],
    )
    machine_type: Word = Field(description="Of all its nodes, as get_catalog names it", examples=["i4i.2xlarge"])
    nodes_per_zone: int = Field(ge=1, le=NODES_PER_ZONE_LIMIT, description="The same in every zone, so racks are even")
    keyspaces: list[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,47}$")]] | None = Field(
        None, max_length=1000, description="To be replicated there as well; null: all of the users' keyspaces"
    )


class RemoveDatacenter(RequestBody):
    """A data centre is taken out: nothing is replicated there any more, its nodes leave, its machines are deleted."""

    kind: Literal["remove_datacenter"] = Field(description="Tells which change it is")
    datacenter: Name = Field(
        description="Its name, as the cluster's datacenters have it; a cluster keeps at least one",
        examples=["aws-eu-west-1"],
    )


class RotateCertificates(RequestBody):
    """Every node gets a new TLS certificate of the cluster's authority, without a restart."""

    kind: Literal["rotate_certificates"] = Field(description="Tells which change it is")


class TableCommand(StrEnum):
    FLUSH = "flush"
    COMPACT = "compact"
    CLEAN_UP = "cleanup"
    REWRITE = "rewrite"
    REFRESH = "refresh"


class RunCommand(RequestBody):
    """Something is done to the files of a table, node by node.

    flush writes what is in memory; compact makes as few files as the strategy allows; cleanup drops what a node is no
    replica of; rewrite writes every file anew with the table's settings of today; refresh takes files that somebody
    placed in the table's folder.
    """

    kind: Literal["run_command"] = Field(description="Tells which change it is")
    command: TableCommand = Field(strict=False, description="What is done: flush, compact, cleanup, rewrite or refresh")
    keyspace: SchemaWord = Field(
        description="As the engine has it: without quotes, upper and lower case count", examples=["shop"]
    )
    table: SchemaWord = Field(
        description="Of the keyspace, as the engine has it: without quotes, upper and lower case count",
        examples=["orders"],
    )
    node_ids: list[NodeId] | None = Field(
        None, min_length=1, max_length=1000, description="In this order; null: all nodes, rack by rack"
    )
    at_once: int = Field(1, ge=1, le=16, description="Nodes that do it at the same time")
    sstables: list[Annotated[str, Field(pattern=r"^[0-9a-z_]{1,64}$")]] | None = Field(
        None, min_length=1, max_length=100, description="Of compact on one node: these files only, null: all"
    )


AnyChange = (
    Scale
    | ReplaceNode
    | RestartNode
    | StopNode
    | StartNode
    | MeasureDisks
    | RollingRestart
    | Upgrade
    | ChangeMachineType
    | ChangeSettings
    | AddDatacenter
    | RemoveDatacenter
    | RotateCertificates
    | RunCommand
)


class DesiredDatacenter(RequestBody):
    region: Word = Field(description="By which it is known again: a cluster has at most one data centre in a region")
    zones: list[Word] = Field(
        min_length=1,
        max_length=ZONES_LIMIT,
        description="Each is a rack and holds one replica of every row. Of a data centre that is there they stay as "
        "they were ordered",
        examples=[["eu-west-1a", "eu-west-1b", "eu-west-1c"]],
    )
    machine_type: Word = Field(description="Of all its nodes, as get_catalog names it", examples=["i4i.2xlarge"])
    nodes_per_zone: int = Field(ge=1, le=NODES_PER_ZONE_LIMIT, description="The same in every zone, so racks are even")


class DesiredState(RequestBody):
    """What a cluster should be. What is left out stays as it is; several differences become several changes.

    What can never be changed may be named, too: the plan then says why not, and what to do instead.
    """

    kind: Literal["desired_state"] = Field(description="Tells that it is no single change")
    datacenters: list[DesiredDatacenter] | None = Field(
        None,
        min_length=1,
        max_length=DATACENTERS_LIMIT,
        description="All that there should be, in any order. Instead of datacenter, nodes_per_zone and machine_type",
    )
    datacenter: Name | None = Field(
        default=None, description="Of which number and type of nodes are wanted; null: the only one"
    )
    nodes_per_zone: int | None = Field(
        None,
        ge=0,
        le=NODES_PER_ZONE_LIMIT,
        description="Of the data centre; null: as it is. 0 is never possible, and the plan says so",
    )
    machine_type: Word | None = Field(
        None,
        description="Of all nodes of the data centre, as get_catalog names it; null: as it is",
        examples=["i4i.2xlarge"],
    )
    engine_version: Word | None = Field(None, description="Version to upgrade to; null: as it is", examples=["5.0.9"])
    settings: dict[str, Any] | None = Field(
        None,
        max_length=100,
        description="All engine settings that are to differ from the engine's own values, by name as get_catalog lists "
        "them; empty: none is to, null: as they are",
        examples=[{"read_timeout_ms": 8000}],
    )
    engine: Word | None = Field(None, description="Stays as it was ordered")
    provider: Word | None = Field(None, description="Stays as it was ordered")
    cloud_account: Annotated[str, Field(max_length=64, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")] | None = Field(
        None, description="Id; empty: the installation's own. Stays as it was ordered"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.datacenters is not None:
            if (self.datacenter, self.nodes_per_zone, self.machine_type) != (None, None, None):
                raise ValueError("Say either datacenters, or nodes_per_zone and machine_type of one of them")
            regions = [each.region for each in self.datacenters]
            if len(set(regions)) < len(regions):
                raise ValueError("A cluster has at most one data centre in a region")
        return self


def _by_field(value: Any, check: Callable[[Any], Any]) -> Any:
    """Problems are named by their field alone: pydantic would put the kind of the change before it."""
    try:
        return check(value)
    except ValidationError as error:
        problems = [_problem(dict(found)) for found in error.errors(include_url=False)]
        raise ValidationError.from_exception_data(error.title, problems) from None


def _problem(found: dict[str, Any]) -> InitErrorDetails:
    if found["type"].startswith("union_tag_"):
        expected = found.get("ctx", {}).get("expected_tags")
        kinds = f"one of {expected}" if expected else "as text: scale, restart_node, upgrade ..."
        return InitErrorDetails(
            type=PydanticCustomError("kind_unknown", "{words}", {"words": f"Say what to change, {kinds}"}),
            loc=("kind",),
            input=found["input"],
        )
    problem = InitErrorDetails(type=found["type"], loc=found["loc"][1:], input=found["input"])
    if "ctx" in found:
        problem["ctx"] = found["ctx"]
    return problem


Change = Annotated[AnyChange, Field(discriminator="kind"), WrapValidator(_by_field)]
Wanted = Annotated[AnyChange | DesiredState, Field(discriminator="kind"), WrapValidator(_by_field)]


class Mode(StrEnum):
    """How a change is made. NOTHING is reserved: a plan leaves out what changes nothing."""

    NOTHING = "nothing"
    IN_PLACE = "in_place"
    ROLLING = "rolling"
    MEMBERSHIP = "membership"
    NOT_POSSIBLE = "not_possible"


class PlannedWork(Schema):
    title: str = Field(description="What is done: Drain, Start the engine ...")
    nodes: list[str] = Field(description="Names of the nodes it is done on, in order; empty: on the cluster")


class PlannedChange(Schema):
    kind: str = Field(description="As in the body of change_cluster; desired_state: what can never be changed")
    title: str = Field(description="What is done, in a few words, for example Add 3 nodes to aws-eu-west-1, 1 per zone")
    mode: Mode = Field(
        description="in_place: no node is restarted. rolling: nodes are restarted, stopped or started one at a time. "
        "membership: nodes join or leave the ring. not_possible: code, reason and hint say why. nothing: reserved, "
        "today what changes nothing is not listed"
    )
    change: dict[str, Any] | None = Field(
        description="The body with which change_cluster carries it out; null where it can never be"
    )
    field: str | None = Field(description="What of the wish is not possible, dotted: datacenters.0.zones; else null")
    code: str | None = Field(description="Of the refusal, as change_cluster would answer; null when it is possible")
    reason: str | None = Field(description="Why it is not possible now, with the arithmetic; null when it is")
    hint: str | None = Field(description="What to do about it")
    steps: list[PlannedWork] = Field(
        description="Each kind of work once, in the order in which it is first done; empty where the change itself is "
        "not possible"
    )
    steps_total: int = Field(
        description="Steps of the operation; the same kind of work on several nodes counts several times"
    )
    nodes_touched: list[str] = Field(description="Names of the nodes that are added, removed, restarted or changed")
    expected_seconds: int = Field(
        description="Seconds that it will take, by experience and the size of the data; 0 where the change itself is "
        "not possible"
    )
    cost_per_month_micros: int | None = Field(
        description="Change of the cost of machines on demand, mark-up and fees per month, in millionths of a "
        "US dollar; null where a machine type has no price"
    )
    impact: list[str] = Field(description="What the application will notice, a sentence each")
    warnings: list[str] = Field(description="What to know before it begins, a sentence each; empty: nothing")
    cancellable: str = Field(description="Until when it can be cancelled, a sentence")


class Plan(Schema):
    possible: bool = Field(description="All changes are possible now; true also when there is nothing to do")
    changes: list[PlannedChange] = Field(description="In the order they would be carried out; empty: nothing to do")
    expected_seconds: int = Field(description="Seconds that all changes will take, one after another")
    cost_per_month_micros: int | None = Field(description="Of all changes; null where that of one is not known")


class ChangeStarted(Schema):
    cluster: Cluster = Field(description="As it is now that the change has begun")
    operation: Operation = Field(description="It carries out the change: follow it to its end")
