"""Writing findings down. Each call may be repeated; one that finds nothing new writes nothing but the time."""

from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from backend.clusters.models import Cluster
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity
from backend.operations import actions as operations


@transaction.atomic
def found(
    *,
    cluster: Cluster | None,
    subject: str,
    subject_name: str,
    code: str,
    severity: Severity,
    sentence: str,
    hint: str = "",
    since: datetime | None = None,
    due: datetime | None = None,
) -> Finding:
    """The open finding of this subject and code, made or renewed. `since`: when it began, if that was before now.

    `due`: when what was announced happens.
    """
    finding, is_new = Finding.objects.get_or_create(
        subject=subject,
        code=code,
        state=FindingState.OPEN,
        defaults={
            "cluster": cluster,
            "organisation_id": None if cluster is None else cluster.organisation_id,
            "subject_name": subject_name,
            "severity": severity,
            "sentence": sentence,
            "hint": hint,
            "due_at": due,
        },
    )
    if is_new and since is not None:
        Finding.objects.filter(id=finding.id).update(first_seen_at=since)
        finding.first_seen_at = since
    if not is_new:
        Finding.objects.filter(id=finding.id).update(
            sentence=sentence, severity=severity, hint=hint, due_at=due, last_seen_at=Now()
        )
    if is_new or finding.sentence != sentence:
        _tell(finding)
    finding.sentence, finding.severity, finding.hint, finding.due_at = sentence, severity, hint, due
    return finding


@transaction.atomic
def acted(finding_id: str, action: str, *, operation_id: str = "") -> None:
    """What was done about it, or why nothing was, in one sentence."""
    changed = (
        Finding.objects.filter(id=finding_id)
        .exclude(action=action, operation_id=operation_id or F("operation_id"))
        .update(action=action, operation_id=operation_id or F("operation_id"))
    )
    if changed:
        _tell(Finding.objects.get(id=finding_id))


@transaction.atomic
def over(*, subject: str, codes: list[str] | None = None) -> int:
    """Close what is open about a subject, or only these codes of it. How many were open."""
    rows = Finding.objects.filter(subject=subject, state=FindingState.OPEN)
    closing = list(rows if codes is None else rows.filter(code__in=codes))
    for finding in closing:
        Finding.objects.filter(id=finding.id, state=FindingState.OPEN).update(
            state=FindingState.CLOSED, closed_at=Now()
        )
        _tell(finding)
    return len(closing)


def _tell(finding: Finding) -> None:
    if finding.organisation_id is not None:
        operations.notify(finding.organisation_id, "cluster", finding.id, finding.cluster_id or "")
