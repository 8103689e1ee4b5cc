"""Test drives on the wire: docs/test-drives.md."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from backend.clusters.states import Workload
from backend.core.schemas import RequestBody

HOURS_LIMIT = 168
ROWS_LIMIT = 200_000
OPERATIONS_LIMIT = 500
"""As the agent has them: images/agent/workload."""

Hours = Annotated[int, Field(ge=1, le=HOURS_LIMIT, description=f"From now, at most {HOURS_LIMIT}")]


class TestDriveOrder(RequestBody):
    """A cluster to try out: it comes with a data set and a workload that runs, and is deleted by itself."""

    hours: Hours = 24
    workload: Annotated[Workload, Field(strict=False)] = Field(
        Workload.KEY_VALUE,
        description="key-value: single values by key, 80 % reads. timeseries: measurements of sensors, 80 % writes, "
        "each kept for a day. orders: orders and a list of them by customer, 70 % reads",
    )
    rows: int = Field(10_000, ge=100, le=ROWS_LIMIT, description="Of the data set")
    operations_per_second: int = Field(
        50, ge=1, le=OPERATIONS_LIMIT, description="Reads and writes together, at most, on each node"
    )


class TestDriveExtension(RequestBody):
    hours: Hours = 24


class TestDrive(Schema):
    workload: Workload = Field(description="What was loaded and is run: key-value, timeseries or orders")
    rows: int = Field(description="Of its data set when it was loaded")
    operations_per_second: int = Field(description="On each node")


class OrderCheckOfTestDrive(Schema):
    expires_at: datetime = Field(description="When it would be deleted by itself, if it were ordered now")
    micros: int | None = Field(
        description="What its machines would cost until then, in millionths of a US dollar, as in cost; null: no price"
    )
