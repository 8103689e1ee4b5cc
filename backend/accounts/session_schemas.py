"""Console sessions on the wire."""

from datetime import datetime

from ninja import Schema
from pydantic import Field

from backend.core.schemas import NextCursor


class ConsoleSession(Schema):
    id: str = Field(description="ses_…; end_session takes it")
    user_agent: str = Field(description="As the browser named itself, at most 300 characters; whoever signs in says so")
    source_address: str | None = Field(description="Where it was used from last")
    created_at: datetime = Field(description="When somebody signed in")
    last_used_at: datetime = Field(description="To the minute")
    current: bool = Field(description="Whether it is the one that asks")


class ConsoleSessionPage(Schema):
    items: list[ConsoleSession] = Field(description="Those that neither ended nor expired, newest first")
    next_cursor: NextCursor


class SessionsEnded(Schema):
    ended: int = Field(description="How many there were")
