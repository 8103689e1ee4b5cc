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
    n_shards: int


class TuningIO(Schema):
    """What the engine is told about its disks, of all of them together."""

    source: str = Field(description="control-plane or preset")
    written_at: datetime
    read_iops: int = Field(description="Requests of 4 KiB per second")
    read_bandwidth: int = Field(description="Bytes per second")
    write_iops: int = Field(description="Requests of 4 KiB per second")
    write_bandwidth: int = Field(description="Bytes per second")


class TuningCheck(Schema):
    name: str = Field(description="Stable, for programs: scheduler, read-ahead ...")
    title: str
    status: CheckStatus
    found: str
    wanted: str
    cost: str = Field(description="What a failure costs")
    reason: str = Field(description="Why it is not applicable; empty otherwise")
    drifted: bool = Field(description="It fails now, and this machine has passed it before")


class TuningWarning(Schema):
    code: str
    message: str


class FirstBootError(Schema):
    code: str = Field(description="Stable: local-data-lost, no-local-disks ...")
    message: str = Field(description="The agent's own words")
    hint: str = Field(description="What a person may do")


class FirstBootStep(Schema):
    name: str
    title: str
    state: BootState
    duration_ms: int
    attempts: int
    message: str = Field(description="What was done or found")
    error: FirstBootError | None


class FirstBoot(Schema):
    """How the machine was made ready at its last boot."""

    state: BootState
    started_at: datetime
    duration_ms: int
    steps: list[FirstBootStep]


class TuningReport(Schema):
    environment: Environment = Field(
        description="machine: the node's alone. container. shared: a computer that is left as it is"
    )
    provider: str
    machine_type: str
    engine: str
    pins: TuningPins | None
    io: TuningIO | None = Field(description="null: the engine was told nothing about its disks")
    checks: list[TuningCheck]
    first_boot: FirstBoot | None = Field(description="null: there was none")
    warnings: list[TuningWarning]


class DiskFigure(Schema):
    median: float = Field(description="Of the rounds: requests of 4 KiB, or bytes, per second")
    spread: float = Field(description="Of the rounds, as a share of the median")
    verdict: Verdict


class DiskFigures(Schema):
    read_iops: DiskFigure
    read_bandwidth: DiskFigure
    write_iops: DiskFigure
    write_bandwidth: DiskFigure


class ClusterDisks(Schema):
    """Medians over the cluster's nodes of the same machine type that were measured and are not noisy."""

    nodes: int = Field(description="How many these are")
    read_iops: int
    read_bandwidth: int
    write_iops: int
    write_bandwidth: int


class DiskMeasurement(Schema):
    """What fio found the disks of a node to do. A check: engines go by the preset of the machine type."""

    measured_at: datetime
    verdict: Verdict
    warnings: list[str]
    figures: DiskFigures
    cluster: ClusterDisks | None = Field(description="null: all measurements of the cluster are noisy")


class NodeTuning(Schema):
    """What the agent of a node told last about its machine."""

    checked_at: datetime | None = Field(description="When it was asked; null: not yet")
    report: TuningReport | None
    disks: DiskMeasurement | None = Field(description="null: they were not measured; see the change measure_disks")
