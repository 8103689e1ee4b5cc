"""The audit log on the wire."""

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from backend.core.schemas import Line


class AuditFilter(Schema):
    target_id: Line | None = Field(None, max_length=64, description="Id of the thing that was changed")
    action: Line | None = Field(None, max_length=64, description="token.create, or only the noun: token")
    actor: Line | None = Field(None, max_length=200, description="Start of the actor's e-mail address")


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


class AuditPage(Schema):
    items: list[AuditRecord]
    next_cursor: str | None
