"""Findings on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.findings.states import FindingState, Severity

Code = Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*$")]


class FindingFilter(Schema):
    """The query parameters of the lists of findings."""

    state: FindingState | None = Field(None, description="open: what is wrong now; closed: what is over")
    severity: Severity | None = None
    code: Code | None = Field(None, description="Only findings of this kind: engine-down, machine-dead ...")


class Finding(Schema):
    """Something that the control plane found to be wrong by itself, and what it did about it."""

    id: str
    cluster_id: str | None
    cluster_name: str | None
    subject: str = Field(description="Id of the node, or the provider's name of what was found")
    subject_name: str
    code: str = Field(description="Stable, for programs: engine-down, machine-dead, disk-filling ...")
    severity: Severity
    sentence: str = Field(description="What was found and what it means")
    hint: str = Field(description="What a person may do; may be empty")
    state: FindingState
    action: str = Field(description="What the control plane did about it, or why it did nothing; may be empty")
    operation_id: str | None = Field(description="The operation it started about it")
    due_at: datetime | None = Field(description="When what was announced happens; null: nothing was, or no date")
    first_seen_at: datetime
    last_seen_at: datetime
    closed_at: datetime | None


class FindingPage(Schema):
    items: list[Finding]
    next_cursor: str | None
