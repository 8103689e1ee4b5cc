"""The audit log on the wire."""

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from backend.audit.states import ExportFormat
from backend.core.schemas import Line, Moment


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
    format: ExportFormat = ExportFormat.JSONL


class AuditRecord(Schema):
    id: str
    action: str
    target_type: str
    target_id: str
    target_name: str
    actor: str = Field(description="E-mail address, with the API token's name in brackets if one was used")
    source_address: str | None
    request_id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    created_at: datetime
    sequence: int | None = Field(description="Its number in the organisation's chain, from 1; null for some seconds")
    hash: str | None = Field(description="SHA-256, in hex, of all it says and of the hash before it; null as long")


class AuditPage(Schema):
    items: list[AuditRecord]
    next_cursor: str | None


class AuditChain(Schema):
    organisation_id: str
    sequence: int = Field(description="Number of the last record in the chain; 0: there is none")
    hash: str = Field(description="Its hash; 64 zeros when there is none")
    last_record_at: datetime | None
    waiting: int = Field(description="Records that are not in the chain yet; usually for some seconds")
    waiting_since: datetime | None = Field(description="When the oldest of those was written")
