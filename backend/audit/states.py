"""The words of the audit log."""

from enum import StrEnum


class ExportFormat(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"
