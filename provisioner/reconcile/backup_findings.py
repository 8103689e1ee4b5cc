"""Tells what is wrong with backups: those that fail, are late, damaged or not verified, and locations that are away.

Locations of schedules are tried now and then, so that one that is away is known before the next backup needs it.
"""

import time
from datetime import timedelta

import structlog

from backend.backups import progress, trouble
from backend.backups.models import BackupLocation
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState
from provisioner.operations.backup_store import open_store
from provisioner.reconcile.alone import alone
from provisioner.stores.base import StoreError

log = structlog.get_logger(__name__)

TRY_EVERY = timedelta(hours=6)
TRY_AGAIN_AFTER = timedelta(minutes=5)
AT_MOST = 3
"""Locations that one run tries; each takes some seconds when it does not answer."""
_ATTEMPTS = 3


def tell_of_backups() -> int:
    """How many findings are open now."""
    with alone("reconcile-backup-findings") as mine:
        if not mine:
            return 0
        _try_locations()
        return _tell()


def _try_locations() -> None:
    due = trouble.locations_to_try(well_after=TRY_EVERY, bad_after=TRY_AGAIN_AFTER, at_most=AT_MOST)
    for location, organisation_id in due:
        error = _tried(location, organisation_id)
        problem, hint = ("", "") if error is None else (error.message, error.hint)
        progress.location_looked_at(location.id, problem=problem, hint=hint)
        if problem != location.problem:
            log.info("backup location", location_id=location.id, problem=problem)


def _tried(location: BackupLocation, organisation_id: str) -> StoreError | None:
    """What it said at last; None: it can be written."""
    last: StoreError | None = None
    for attempt in range(_ATTEMPTS):
        try:
            store = open_store(location, organisation_id)
            if location.object_lock:
                store.check_lock()
            store.probe()
        except StoreError as error:
            last = error
            if not error.retryable:
                break
            time.sleep(0.2 * attempt)
        else:
            return None
    return last


def _tell() -> int:
    found = {(one.subject, one.code): one for one in trouble.all_trouble()}
    told = Finding.objects.filter(code__in=trouble.CODES, state=FindingState.OPEN)
    for subject, code in told.values_list("subject", "code"):
        if (subject, code) not in found:
            findings.over(subject=subject, codes=[code])
    for one in found.values():
        findings.found(
            cluster=one.cluster,
            subject=one.subject,
            subject_name=one.subject_name,
            code=one.code,
            severity=one.severity,
            sentence=one.sentence,
            hint=one.hint,
            since=one.since,
        )
    return len(found)
