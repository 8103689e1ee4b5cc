"""The audit log on the wire."""

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from backend.audit.states import ExportFormat
from backend.core.schemas import Line, Moment, NextCursor


class AuditFilter(Schema):
    target_id: Line | None = Field(None, max_length=64, description="Id of the thing that was changed")
    action: Line | None = Field(None, max_length=64, description="token.create, or only the noun: token")
    actor: Line | None = Field(None, max_length=200, description="Start of the actor's e-mail address")
    q: Line | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Words, or beginnings of words, that all occur in who, action, target, before or after",
    )
    begins: Moment | None = Field(None, alias="from", description="Written then or later")
    ends: Moment | None = Field(None, alias="to", description="Written before")


class AuditExport(AuditFilter):
    format: ExportFormat = Field(
        ExportFormat.JSONL,
        description="jsonl: each record as a line of JSON, as it was hashed, with its hash. csv: the same fields "
        "below a header",
    )


class AuditRecord(Schema):
    id: str = Field(description="aud_…")
    action: str = Field(description="What was done, a noun and a verb: cluster.create, token.revoke, session.end")
    target_type: str = Field(
        description="What kind of thing it was done to: cluster, node, operation, member, user, token, role ..."
    )
    target_id: str = Field(description="Id of that thing")
    target_name: str = Field(description="As it was called then; an e-mail address where it is a person; may be empty")
    actor: str = Field(
        description="E-mail address, or a service account's name, with the API token's name in brackets if one was "
        "used; ringmaster: the control plane by itself"
    )
    source_address: str | None = Field(
        description="IP address that the request came from; null: not known, or the control plane acted by itself"
    )
    request_id: str = Field(description="X-Request-Id of the request; empty: the control plane acted by itself")
    before: dict[str, Any] | None = Field(
        description="What was changed, as it was before; null: it was not there, or there is nothing to tell. "
        "Never a secret"
    )
    after: dict[str, Any] | None = Field(
        description="What was changed, as it is afterwards; null: it is gone, or there is nothing to tell. Never "
        "a secret"
    )
    created_at: datetime = Field(description="When it was written, UTC: in the transaction of the change itself")
    sequence: int | None = Field(description="Its number in the organisation's chain, from 1; null for some seconds")
    hash: str | None = Field(description="SHA-256, in hex, of all it says and of the hash before it; null as long")


class AuditPage(Schema):
    items: list[AuditRecord] = Field(description="Newest first")
    next_cursor: NextCursor


class AuditChain(Schema):
    organisation_id: str = Field(description="org_…, whose chain it is")
    sequence: int = Field(description="Number of the last record in the chain; 0: there is none")
    hash: str = Field(description="Its hash; 64 zeros when there is none")
    last_record_at: datetime | None = Field(
        description="When the last record in the chain was written, UTC; null: there is none"
    )
    waiting: int = Field(description="Records that are not in the chain yet; usually for some seconds")
    waiting_since: datetime | None = Field(description="When the oldest of those was written")
