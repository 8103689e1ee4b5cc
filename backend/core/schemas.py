"""Pieces that every resource's schemas are made of."""

from datetime import UTC, datetime
from typing import Annotated

from ninja import Schema
from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StringConstraints

# Printable text on one line: no control characters, so no NUL (which Postgres refuses) and no line breaks.
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 of UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""Asked for with its time zone, kept in UTC: Postgres refuses zones that are more than 16 hours away."""


NextCursor = Annotated[str | None, Field(description="Send it as cursor for the next page; null: this is the last one")]


class RequestBody(Schema):
    """A body we are sent: unknown fields are refused and types are exact ("3" is not 3)."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AllowedAction(Schema):
    action: str = Field(description="The operation id of the API call, for example delete_cluster")
    allowed: bool = Field(description="Whether the caller may do it now")
    reason: str | None = Field(description="Why not, as a sentence for people; null when allowed")


def allowed(action: str, reason: str | None = None) -> dict[str, object]:
    """One entry of ``allowed_actions``: allowed unless there is a reason why not."""
    return {"action": action, "allowed": reason is None, "reason": reason}
