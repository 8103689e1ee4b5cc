"""The words of backups: where they are kept, how they stand, and what may be done with them."""

from enum import StrEnum

from backend.clusters.states import SERVING, ClusterState


class LocationKind(StrEnum):
    FOLDER = "folder"
    S3 = "s3"
    GCS = "gcs"


class BackupState(StrEnum):
    """COMPLETE: every range of every chosen table is in it. INCOMPLETE: `missing` says what is not.

    DELETING: its manifests go first, then what only it needed.
    """

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETING = "deleting"
    DELETED = "deleted"


class CopyState(StrEnum):
    """Of a backup in a second location. CANCELLED: it is not tried again by itself."""

    RUNNING = "running"
    COMPLETE = "complete"
    CANCELLED = "cancelled"


class NodeBackupState(StrEnum):
    """LOST: the node did not answer, so nothing of it is in the backup."""

    PENDING = "pending"
    SNAPSHOT = "snapshot"
    INDEXED = "indexed"
    WRITTEN = "written"
    LOST = "lost"


class RestoreMode(StrEnum):
    """REPLACE: tables are emptied first. ADD: beside what is there, and newer writes win. COPY: under new names.

    CLUSTER: into a cluster that is made for it.
    """

    REPLACE = "replace"
    ADD = "add"
    COPY = "copy"
    CLUSTER = "cluster"


class RestoreState(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"


class DrillState(StrEnum):
    """PROVED: all was brought back, read, and is as it should be. FAILED: `reason` says what is not."""

    RUNNING = "running"
    PROVED = "proved"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DrillShape(StrEnum):
    """Of the cluster a drill restores into. ZONES: one node in each zone of the cluster. ONE: one node."""

    ZONES = "zones"
    ONE = "one"


KEPT = (BackupState.COMPLETE, BackupState.INCOMPLETE)
"""These have manifests: they can be looked into, verified and deleted."""

_MAY_NOT = "Your role or token may not change clusters."
_MAY_NOT_LOCATIONS = "Your role or token may not change backup locations."
_GONE = "The cluster is deleted."
_NOT_SERVING = "The cluster does not serve yet, or not any more."
_NOT_BACKED_UP = "Backups of this engine are not made from here yet."


def reason_against_location_change(*, may: bool, operators: bool) -> str | None:
    """`operators`: it belongs to the installation and not to the organisation."""
    if operators:
        return "It belongs to the installation; whoever runs that changes it."
    return None if may else _MAY_NOT_LOCATIONS


def reason_against_location_delete(*, may: bool, operators: bool, backups: int, schedules: int) -> str | None:
    """`backups`: that are in it. `schedules`: that put more there."""
    if reason := reason_against_location_change(may=may, operators=operators):
        return reason
    if schedules:
        return "A schedule puts backups there." if schedules == 1 else f"{schedules} schedules put backups there."
    if backups:
        return "A backup is in it." if backups == 1 else f"{backups} backups are in it."
    return None


def reason_against_location_check(*, may: bool, checking: bool) -> str | None:
    if not may:
        return _MAY_NOT_LOCATIONS
    return "It is being checked." if checking else None


def reason_against_backing_up(state: ClusterState, *, may: bool, can: bool) -> str | None:
    """`can`: the engine's data can be backed up from here."""
    if state is ClusterState.DELETED:
        return _GONE
    if not can:
        return _NOT_BACKED_UP
    if not may:
        return _MAY_NOT
    return None if state in SERVING else _NOT_SERVING


def reason_against_scheduling(state: ClusterState, *, may: bool, can: bool) -> str | None:
    if state is ClusterState.DELETED:
        return _GONE
    if not can:
        return _NOT_BACKED_UP
    return None if may else _MAY_NOT


def reason_against_archiving(state: ClusterState, *, may: bool, can: bool) -> str | None:
    """Of commit logs. `can`: there is a tool that reads those of the engine."""
    if not can:
        return "The commit log of this engine cannot be archived: nothing but the engine itself reads it."
    return reason_against_scheduling(state, may=may, can=True)


def reason_against_deleting(state: BackupState, *, may: bool, locked_until: str, restoring: bool) -> str | None:
    """`locked_until`: in words, until when nobody may delete it; empty: not locked."""
    if not may:
        return _MAY_NOT
    match state:
        case BackupState.RUNNING:
            return "It is still being made; cancel that operation to take it back."
        case BackupState.DELETING:
            return "It is being deleted already."
        case BackupState.DELETED:
            return "It is deleted already."
        case _:
            pass
    if locked_until:
        return f"It is locked until {locked_until}."
    return "It is being restored." if restoring else None


def reason_against_exporting(state: BackupState, *, may: bool) -> str | None:
    """Why no addresses of its objects are given out."""
    if not may:
        return "Your role or token may not take backups out."
    return None if state in KEPT else f"The backup is {state}."


def reason_against_verifying(state: BackupState, *, may: bool, verifying: bool) -> str | None:
    if not may:
        return _MAY_NOT
    if state not in KEPT:
        return "There is nothing to verify: it has no manifests."
    return "It is being verified." if verifying else None


def reason_against_drill(state: ClusterState, *, may: bool, can: bool, busy: bool) -> str | None:
    """`can`: the engine's data can be backed up from here. `busy`: a drill of the cluster is under way."""
    if not can:
        return _NOT_BACKED_UP
    if not may:
        return _MAY_NOT
    if state is ClusterState.DELETED:
        return _GONE
    return "A drill is under way; one at a time." if busy else None


def reason_against_taking_over(mode: RestoreMode, state: RestoreState, backup: BackupState, *, may: bool) -> str | None:
    """Of a restore, why its live tables cannot get what its copies show. `backup`: of which it was made."""
    if mode is not RestoreMode.COPY:
        return "Only copies are taken over."
    if state is not RestoreState.SUCCEEDED:
        return "The copy is not finished." if state is RestoreState.RUNNING else "There is no copy: it was cancelled."
    if backup is not BackupState.COMPLETE:
        return "Its backup is gone, so there is nothing to take over from."
    return None if may else _MAY_NOT


def reason_against_restoring(state: BackupState, *, may: bool, missing: str, damaged: str) -> str | None:
    """`missing`: what is not in it. `damaged`: name of an object that a verification found to be missing or wrong."""
    if not may:
        return _MAY_NOT
    match state:
        case BackupState.RUNNING:
            return "It is still being made."
        case BackupState.INCOMPLETE:
            return f"It is incomplete: {missing}"
        case BackupState.COMPLETE:
            return f"It is damaged: the object {damaged} is missing or changed." if damaged else None
        case _:
            return "There is nothing left of it to restore."
