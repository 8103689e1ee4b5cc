"""Backups: where they are kept, when they are made, what is in them, and what was restored from them."""

from backend.backups.models.archives import ArchiveGap, ArchivePiece, ArchiveStream, LogArchive
from backend.backups.models.backups import Backup, BackupNode, BackupTable
from backend.backups.models.copies import BackupCopy, BackupCopyEntry
from backend.backups.models.drills import Drill, DrillSchedule
from backend.backups.models.locations import BackupLocation, BackupPlace
from backend.backups.models.objects import BackupBundle, BackupObject
from backend.backups.models.restores import Restore, RestoreNode, TableReading
from backend.backups.models.schedules import BackupSchedule

__all__ = [
    "ArchiveGap",
    "ArchivePiece",
    "ArchiveStream",
    "Backup",
    "BackupBundle",
    "BackupCopy",
    "BackupCopyEntry",
    "BackupLocation",
    "BackupNode",
    "BackupObject",
    "BackupPlace",
    "BackupSchedule",
    "BackupTable",
    "Drill",
    "DrillSchedule",
    "LogArchive",
    "Restore",
    "RestoreNode",
    "TableReading",
]
