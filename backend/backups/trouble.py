"""What is wrong with the backups of clusters that live: what findings are made of. Reading only."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, Min, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Now

from backend.backups import timing
from backend.backups.models import Backup, BackupBundle, BackupLocation, BackupObject, BackupSchedule
from backend.backups.queries import damaged
from backend.backups.states import KEPT, BackupState
from backend.clusters.models import Cluster
from backend.clusters.states import SERVING
from backend.findings.states import Severity

FAILING = "backup-failing"
OVERDUE = "backup-overdue"
DAMAGED = "backup-damaged"
UNVERIFIED = "backup-unverified"
UNREACHABLE = "backup-location-unreachable"
CODES = (FAILING, OVERDUE, DAMAGED, UNVERIFIED, UNREACHABLE)

UNVERIFIED_AFTER = timedelta(days=3)
"""Backups are verified daily; so long without means that it does not work."""
_IN_A_ROW = 2
_LATE = timedelta(minutes=30)
"""What a backup may take beyond its turn before the promise counts as broken."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """`subject`: id of the schedule, backup or cluster that it is about."""

    cluster: Cluster
    subject: str
    subject_name: str
    code: str
    severity: Severity
    sentence: str
    hint: str
    since: datetime | None = None


def all_trouble() -> list[Trouble]:
    """Of all clusters, by five statements."""
    return [*_of_schedules(), *_damaged(), *_unverified()]


def _of_schedules() -> Iterator[Trouble]:
    """The last backups of each schedule: have they been made, and is the newest complete one as new as promised?"""
    of_it = Backup.objects.filter(schedule=OuterRef("pk")).order_by("-id")
    # One that somebody cancelled says nothing.
    ended = of_it.filter(state__in=[*KEPT, BackupState.FAILED])
    complete = of_it.filter(state=BackupState.COMPLETE)
    rows = BackupSchedule.objects.filter(enabled=True, deleted_at=None, cluster__state__in=SERVING).annotate(
        last_states=ArraySubquery(ended.values("state")[:_IN_A_ROW]),
        last_reason=Subquery(ended.values("reason")[:1]),
        last_missing=Subquery(ended.values("missing")[:1]),
        last_complete_at=Subquery(complete.values("taken_at")[:1]),
        begun=Coalesce(Subquery(complete.values("taken_at")[:1]), "created_at"),
    )
    for row in rows.select_related("cluster", "location").order_by("id"):
        if row.location.problem:
            yield _unreachable(row)
        elif len(row.last_states) == _IN_A_ROW and BackupState.COMPLETE not in row.last_states:
            why = row.last_reason or " ".join(row.last_missing or ())
            yield _about(
                row,
                FAILING,
                Severity.CRITICAL,
                f"The last two backups of the schedule {row.name} were not complete. {why}".strip(),
                "Correct what is named there, then make a backup by hand: the finding goes with the next complete one.",
            )
        if row.begun is not None and _promised(row, row.begun) + _LATE < datetime.now(UTC):
            newest = f"is from {row.begun:%Y-%m-%d %H:%M} UTC" if row.last_complete_at else "was never made"
            yield _about(
                row,
                OVERDUE,
                Severity.WARNING,
                f"The newest complete backup of the schedule {row.name} {newest}: older than it promises.",
                "Look at the operations of the cluster: what waits, is paused or is blocked there keeps backups off.",
                since=row.begun,
            )


def promises() -> Iterator[tuple[BackupSchedule, datetime]]:
    """By when the next complete backup of each schedule must be there. One statement."""
    complete = Backup.objects.filter(schedule=OuterRef("pk"), state=BackupState.COMPLETE).order_by("-id")
    rows = BackupSchedule.objects.filter(enabled=True, deleted_at=None, cluster__state__in=SERVING).annotate(
        begun=Coalesce(Subquery(complete.values("taken_at")[:1]), "created_at")
    )
    for row in rows.select_related("cluster").order_by("id"):
        if row.begun is not None:
            yield row, _promised(row, row.begun)


def _promised(row: BackupSchedule, at: datetime) -> datetime:
    """One turn may be going on; when the one after it has passed too, something is wrong."""
    for _ in range(2):
        at = timing.next_due(cron=row.cron, interval_minutes=row.interval_minutes, time_zone=row.time_zone, after=at)
    return at


def _unreachable(row: BackupSchedule) -> Trouble:
    return _about(
        row,
        UNREACHABLE,
        Severity.CRITICAL,
        f"The location {row.location.name}, to which the schedule {row.name} puts backups, cannot be written: "
        f"{row.location.problem}",
        row.location.problem_hint or "Correct the location; it is tried again by itself.",
    )


def _about(
    row: BackupSchedule, code: str, severity: Severity, sentence: str, hint: str, *, since: datetime | None = None
) -> Trouble:
    return Trouble(
        cluster=row.cluster,
        subject=row.id,
        subject_name=row.name,
        code=code,
        severity=severity,
        sentence=sentence,
        hint=hint,
        since=since,
    )


def _damaged() -> Iterator[Trouble]:
    # The few bad objects first: both have an index of their own.
    by_object = BackupBundle.objects.filter(object__in=BackupObject.objects.exclude(bad="")).values("node__backup_id")
    rows = Backup.objects.filter(
        Q(id__in=by_object) | ~Q(damaged_manifest=""), state=BackupState.COMPLETE, cluster__deleted_at=None
    )
    found = {row.id: row for row in rows.select_related("cluster")}
    for backup_id, name in damaged(list(found)).items():
        row = found[backup_id]
        yield Trouble(
            cluster=row.cluster,
            subject=row.id,
            subject_name=f"backup of {row.taken_at:%Y-%m-%d %H:%M}" if row.taken_at else row.id,
            code=DAMAGED,
            severity=Severity.CRITICAL,
            sentence=f"{name} of the backup {row.id} is missing or changed in the store: it is not restored.",
            hint="Make a backup now: what the nodes still have is stored anew, which mends older backups too. "
            "Restore another one meanwhile, and find out who changes the store.",
        )


def _unverified() -> Iterator[Trouble]:
    old = Now() - UNVERIFIED_AFTER
    late = Q(verified_at__lt=old) | Q(verified_at=None, finished_at__lt=old)
    rows = Backup.objects.filter(late, state=BackupState.COMPLETE, cluster__deleted_at=None)
    oldest = dict(
        rows.values("cluster_id")
        .annotate(at=Min(Coalesce("verified_at", "finished_at")))
        .values_list("cluster_id", "at")
    )
    for cluster in Cluster.objects.filter(id__in=oldest).order_by("id"):
        yield Trouble(
            cluster=cluster,
            subject=cluster.id,
            subject_name=cluster.name,
            code=UNVERIFIED,
            severity=Severity.WARNING,
            sentence=f"Backups of {cluster.name} were not verified since {oldest[cluster.id]:%Y-%m-%d %H:%M} UTC; "
            "that is done daily.",
            hint="Verify one by hand: its operation says what is in the way.",
            since=oldest[cluster.id],
        )


def locations_to_try(*, well_after: timedelta, bad_after: timedelta, at_most: int) -> list[tuple[BackupLocation, str]]:
    """Locations of schedules that nobody has tried for so long, and an organisation with a place there."""
    due = Q(checked_at=None) | Q(problem="", checked_at__lt=Now() - well_after)
    due |= ~Q(problem="") & Q(checked_at__lt=Now() - bad_after)
    used = BackupSchedule.objects.filter(
        location=OuterRef("pk"), enabled=True, deleted_at=None, cluster__state__in=SERVING
    )
    rows = BackupLocation.objects.filter(due, Exists(used), deleted_at=None, check_operation_id="").annotate(
        whose=Subquery(used.values("cluster__organisation_id")[:1])
    )
    return [(row, row.whose) for row in rows.order_by("checked_at")[:at_most]]
