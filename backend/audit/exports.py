"""Audit records as files, in pieces: no more than a piece is in memory, however many there are."""

import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet

from backend.audit import queries
from backend.audit.chain import LINKED, document
from backend.audit.models import AuditRecord
from backend.audit.states import ExportFormat

CONTENT_TYPES = {
    ExportFormat.JSONL: "application/jsonl; charset=utf-8",
    ExportFormat.CSV: "text/csv; charset=utf-8",
}


async def stream(rows: QuerySet[AuditRecord], wanted: ExportFormat) -> AsyncIterator[bytes]:
    """In the order of the chain. A line of JSON is what was hashed, and the hash."""
    if wanted is ExportFormat.CSV:
        yield _csv([LINKED]).encode()
    after = 0
    while found := await sync_to_async(queries.linked_piece)(rows, after):
        lines = [document(record) | {"hash": record["hash"]} for record in found]
        if wanted is ExportFormat.CSV:
            text = _csv([[_told(line[name]) for name in LINKED] for line in lines])
        else:
            text = "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines)
        yield text.encode()
        after = found[-1]["sequence"]


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "" if value is None else str(value)


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([[_plain_cell(cell) for cell in row] for row in rows])
    return out.getvalue()


def _plain_cell(text: str) -> str:
    """Nothing that a spreadsheet would take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
