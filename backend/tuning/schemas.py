"""Tuning reports on the wire."""

from datetime import datetime

from ninja import Schema
from pydantic import Field

from backend.tuning.states import BootState, CheckStatus, Environment, Verdict


class TuningPins(Schema):
    """CPUs as the kernel writes lists: 1-15,17-31."""

    cpus: int = Field(description="Hardware threads of the machine")
    irq: str = Field(description="CPUs that take interrupts")
    shards: str = Field(description="CPUs that run the engine's shards")
    n_shards: int = Field(description="How many CPUs run shards, one each")


class TuningIO(Schema):
    """What the engine is told about its disks, of all of them together."""

    source: str = Field(description="control-plane or preset")
    written_at: datetime = Field(description="When it was told so")
    read_iops: int = Field(description="Requests of 4 KiB per second")
    read_bandwidth: int = Field(description="Bytes per second")
    write_iops: int = Field(description="Requests of 4 KiB per second")
    write_bandwidth: int = Field(description="Bytes per second")


class TuningCheck(Schema):
    name: str = Field(description="Stable, for programs: scheduler, read-ahead ...")
    title: str = Field(description="The name in words")
    status: CheckStatus = Field(description="pass, fail, or not-applicable (see reason)")
    found: str = Field(description="What the machine has, in words")
    wanted: str = Field(description="What it should have, in words")
    cost: str = Field(description="What a failure costs")
    reason: str = Field(description="Why it is not applicable; empty otherwise")
    drifted: bool = Field(description="It fails now, and this machine has passed it before")


class TuningWarning(Schema):
    code: str = Field(description="Stable, for programs: io-unknown ...")
    message: str = Field(description="What a person should know")


class FirstBootError(Schema):
    code: str = Field(description="Stable: local-data-lost, no-local-disks ...")
    message: str = Field(description="The agent's own words")
    hint: str = Field(description="What a person may do")


class FirstBootStep(Schema):
    name: str = Field(description="Stable, for programs: facts, array, tuning ...")
    title: str = Field(description="The name in words")
    state: BootState = Field(
        description="succeeded, failed or pending, which also those are that come after one that failed"
    )
    duration_ms: int = Field(description="Milliseconds of all its tries together")
    attempts: int = Field(description="How often it was tried; 0: not yet")
    message: str = Field(description="What was done or found")
    error: FirstBootError | None = Field(description="Why it failed; null: it did not")


class FirstBoot(Schema):
    """How the machine was made ready at its last boot."""

    state: BootState = Field(description="succeeded, failed or pending; succeeded when every step has")
    started_at: datetime = Field(description="When it began, by the machine's clock")
    duration_ms: int = Field(description="Milliseconds since its begin, until it ended or so far")
    steps: list[FirstBootStep] = Field(description="In the order in which they are done")


class TuningReport(Schema):
    environment: Environment = Field(
        description="machine: the node's alone. container. shared: a computer that is left as it is"
    )
    provider: str = Field(description="As the machine knows it: aws, gcp, local")
    machine_type: str = Field(description="As the machine knows it, for example i3.8xlarge; may be empty")
    engine: str = Field(description="For which the machine is tuned: cassandra or scylla")
    pins: TuningPins | None = Field(
        description="Which CPUs do what; null: they are not laid out so that a rule could tell"
    )
    io: TuningIO | None = Field(description="null: the engine was told nothing about its disks")
    checks: list[TuningCheck] = Field(description="The whole list, in the agent's order")
    first_boot: FirstBoot | None = Field(description="null: there was none")
    warnings: list[TuningWarning] = Field(description="Empty: there are none")


class DiskFigure(Schema):
    median: float = Field(description="Of the rounds: requests of 4 KiB, or bytes, per second")
    spread: float = Field(description="Of the rounds, as a share of the median")
    verdict: Verdict = Field(description="stable: it spreads by at most 5 % of the median. usable: 15 %. noisy: more")


class DiskFigures(Schema):
    read_iops: DiskFigure = Field(description="Random reads of 4 KiB per second")
    read_bandwidth: DiskFigure = Field(description="Sequential reads, bytes per second")
    write_iops: DiskFigure = Field(description="Random writes of 4 KiB per second")
    write_bandwidth: DiskFigure = Field(description="Sequential writes, bytes per second")


class ClusterDisks(Schema):
    """Medians over the cluster's nodes of the same machine type that were measured and are not noisy."""

    nodes: int = Field(description="How many these are")
    read_iops: int = Field(description="Random reads of 4 KiB per second")
    read_bandwidth: int = Field(description="Sequential reads, bytes per second")
    write_iops: int = Field(description="Random writes of 4 KiB per second")
    write_bandwidth: int = Field(description="Sequential writes, bytes per second")


class DiskMeasurement(Schema):
    """What fio found the disks of a node to do. A check: engines go by the preset of the machine type."""

    measured_at: datetime = Field(description="When it was, by the machine's clock")
    verdict: Verdict = Field(
        description=(
            "The worst of its four figures. stable: it spreads by at most 5 % of the median. usable: 15 %. noisy: more"
        )
    )
    warnings: list[str] = Field(description="Sentences about how it was measured; empty: there is nothing to say")
    figures: DiskFigures = Field(description="What was found")
    cluster: ClusterDisks | None = Field(description="null: all measurements of the cluster are noisy")


class NodeTuning(Schema):
    """What the agent of a node told last about its machine."""

    checked_at: datetime | None = Field(description="When it was asked; null: not yet")
    report: TuningReport | None = Field(
        description="Of the machine that the node has now; null: its agent was not reached yet"
    )
    disks: DiskMeasurement | None = Field(description="null: they were not measured; see the change measure_disks")
