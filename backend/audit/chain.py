"""The chain that ties audit records together: what is hashed, and whether a chain fits. No database here.

Each record of an organisation has a number and the hash of the record before it; its own hash is over both and over
all that it says. So a record that is changed, left out or put in does not fit, and whoever keeps the hash of the last
one sees a chain that was cut off or made anew: docs/audit.md.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

BEFORE_THE_FIRST = "0" * 64
"""In the place of the hash of the record before."""
SAID = (
    "id",
    "organisation_id",
    "action",
    "target_type",
    "target_id",
    "target_name",
    "actor",
    "actor_user_id",
    "actor_token_id",
    "source_address",
    "request_id",
    "before",
    "after",
    "created_at",
)
"""All that a record says."""
HASHED = (*SAID, "sequence", "previous_hash")
LINKED = (*HASHED, "hash")


@dataclass(frozen=True)
class End:
    """The last record of a chain; of one without records the number is 0."""

    sequence: int
    hash: str


NO_END = End(0, BEFORE_THE_FIRST)


@dataclass(frozen=True)
class Misfit:
    """The first record that does not fit, and why as a sentence."""

    sequence: int
    record_id: str
    reason: str


def document(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is hashed, as JSON knows it: the moment in UTC with microseconds."""
    moment = record["created_at"].astimezone(UTC).isoformat(timespec="microseconds")
    return {name: record[name] for name in HASHED} | {"created_at": moment}


def hash_of(hashed: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of a document as JSON with sorted keys and without spaces, in UTF-8."""
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def linked(record: Mapping[str, Any], end: End) -> dict[str, Any]:
    """The record as the next one after `end`: with its number, the hash of the one before and its own."""
    tied = {name: record[name] for name in SAID} | {"sequence": end.sequence + 1, "previous_hash": end.hash}
    return tied | {"hash": hash_of(document(tied))}


def verify(records: Iterable[Mapping[str, Any]]) -> End | Misfit:
    """Of a whole chain, its records (LINKED) in the order of their numbers: its end, or what does not fit first."""
    end = NO_END
    for record in records:
        if (reason := _reason_against(record, end)) is not None:
            return Misfit(record["sequence"], record["id"], reason)
        end = End(record["sequence"], record["hash"])
    return end


def _reason_against(record: Mapping[str, Any], end: End) -> str | None:
    if record["sequence"] != end.sequence + 1:
        return f"After number {end.sequence} comes {record['sequence']}: something between is missing."
    if record["previous_hash"] != end.hash:
        return "It does not name the hash of the record before it."
    if record["hash"] != hash_of(document(record)):
        return "Its hash is not that of what it says: it was changed."
    return None
