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
    severity: Severity | None = Field(None, description="Only findings of exactly this severity")
    code: Code | None = Field(None, description="Only findings of this kind: engine-down, machine-dead ...")


class Finding(Schema):
    """Something that the control plane found to be wrong by itself, and what it did about it."""

    id: str = Field(description="Id of the finding: fnd_…")
    cluster_id: str | None = Field(description="Id of the cluster that it is about; null: none")
    cluster_name: str | None = Field(description="Name of that cluster; null: it is about none")
    subject: str = Field(
        description=(
            "Id of what it is about: a node, cluster, backup or schedule; or the provider's name of what was found"
        )
    )
    subject_name: str = Field(description="For people: name of the node, or of whatever the subject is")
    code: str = Field(description="Stable, for programs: engine-down, machine-dead, disk-filling ...")
    severity: Severity = Field(description="info, warning or critical: it may change while it is open")
    sentence: str = Field(description="What was found and what it means")
    hint: str = Field(description="What a person may do; may be empty")
    state: FindingState = Field(description="open: it is wrong now. closed: it is over")
    action: str = Field(description="What the control plane did about it, or why it did nothing; may be empty")
    operation_id: str | None = Field(description="The operation it started about it")
    due_at: datetime | None = Field(description="When what was announced happens; null: nothing was, or no date")
    first_seen_at: datetime = Field(description="When it began, as far as that is known; else when it was found")
    last_seen_at: datetime = Field(description="When it was last looked at and still so")
    closed_at: datetime | None = Field(description="When it was over; null: it is open")


class FindingPage(Schema):
    items: list[Finding] = Field(description="Newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")
