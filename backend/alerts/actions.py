"""Changing what rules do in a cluster, and silencing."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.alerts import alertmanager
from backend.alerts.catalogue import RULES, AlertRule
from backend.alerts.models import AlertOverride
from backend.alerts.queries import effective, find_cluster, rule_shape, silence_labels, silence_shape
from backend.alerts.schemas import AlertRuleUpdate, AlertSilenceOrder
from backend.alerts.wording import amount
from backend.audit import actions as audit
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import node_not_found
from backend.core.errors import Invalid, NotFound
from backend.core.rehearsing import rehearsing

LONGEST_SILENCE = timedelta(days=90)


@transaction.atomic
def update_rule(who: Identity, cluster_id: str, key: str, wanted: AlertRuleUpdate) -> dict[str, Any]:
    """What is not named stays, null goes back to the usual. Raises NotFound, Forbidden, Invalid."""
    require(who, Permission.ALERTS_WRITE)
    cluster = find_cluster(who, cluster_id)
    rule = next((each for each in RULES if each.key == key), None)
    if rule is None:
        raise NotFound("alert_rule_not_found", "There is no such rule.", hint="list_alert_rules has all of them.")
    given = {name: getattr(wanted, name) for name in wanted.model_fields_set}
    _check_threshold(rule, given.get("threshold"))
    # The cluster's row, so that two changes at once do not each write what the other one has not seen.
    Cluster.objects.select_for_update(no_key=True).get(id=cluster.id)
    row = AlertOverride.objects.filter(cluster=cluster, rule=rule.key).first()
    before = effective(rule, row)
    columns = {
        "threshold": None if row is None else row.threshold,
        "for_seconds": None if row is None else row.for_seconds,
        "enabled": True if row is None else row.enabled,
    } | given
    if columns["enabled"] is None:
        columns["enabled"] = True
    if columns == {"threshold": None, "for_seconds": None, "enabled": True}:
        AlertOverride.objects.filter(cluster=cluster, rule=rule.key).delete()
        now = None
    else:
        now, _ = AlertOverride.objects.update_or_create(
            cluster=cluster, rule=rule.key, defaults=columns | {"changed_by": who.actor}
        )
    after = effective(rule, now)
    said = [
        {"threshold": one.threshold, "for_seconds": one.for_seconds, "enabled": one.enabled} for one in (before, after)
    ]
    if said[0] != said[1]:
        _record(
            who,
            cluster,
            "alerts.update_rule",
            before={"rule": rule.key, **said[0]},
            after={"rule": rule.key, **said[1]},
        )
    return rule_shape(rule, after)


def _check_threshold(rule: AlertRule, threshold: float | None) -> None:
    if threshold is None:
        return
    facts = rule.threshold
    if facts is None:
        raise Invalid(
            "threshold_not_taken",
            f"{rule.title} says only yes or no: it has no threshold.",
            hint="Leave it out; for_seconds and enabled may be changed.",
            field="threshold",
        )
    if not facts.least <= threshold <= facts.most:
        raise Invalid(
            "threshold_out_of_range",
            f"The threshold of {rule.title} is between {amount(facts.least, rule.unit)} and "
            f"{amount(facts.most, rule.unit)}.",
            hint=f"Give it in the unit of the rule ({rule.unit}): {facts.least:g} to {facts.most:g}.",
            field="threshold",
        )


def create_silence(who: Identity, cluster_id: str, order: AlertSilenceOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, AlertmanagerAway."""
    require(who, Permission.ALERTS_WRITE)
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    begins = max(order.starts_at or now, now)
    if not begins < order.ends_at <= now + LONGEST_SILENCE:
        raise Invalid(
            "silence_ends_badly",
            "A silence ends after it begins, and at most 90 days from now.",
            hint="Choose another end; a silence that goes on can be made anew before it ends.",
            field="ends_at",
        )
    if order.node_id is not None and not Node.objects.filter(cluster=cluster, id=order.node_id).exists():
        raise node_not_found()
    wanted = {
        "rule": order.rule,
        "severity": order.severity,
        "node": order.node_id,
        "keyspace": order.keyspace,
        "table": order.table,
    }
    labels = silence_labels(who, cluster) | {name: str(value) for name, value in wanted.items() if value is not None}
    if rehearsing():
        alertmanager.uptime_began()  # or it is away, which is all that is left to go wrong
        return {}
    silence_id = alertmanager.post_silence(
        {
            "matchers": [alertmanager.matcher(name, value) for name, value in labels.items()],
            "startsAt": begins.isoformat(),
            "endsAt": order.ends_at.isoformat(),
            "createdBy": who.actor,
            "comment": order.comment,
        }
    )
    shown = silence_shape(alertmanager.silence(silence_id, silence_labels(who, cluster)))
    after = {"silence": silence_id, "matchers": shown["matchers"], "ends_at": order.ends_at.isoformat()}
    _record(who, cluster, "alerts.create_silence", after=after | {"comment": order.comment})
    return shown


def expire_silence(who: Identity, cluster_id: str, silence_id: str) -> None:
    """Ends one now; one that has ended stays as it is. Raises NotFound, Forbidden, AlertmanagerAway."""
    require(who, Permission.ALERTS_WRITE)
    cluster = find_cluster(who, cluster_id)
    found = silence_shape(alertmanager.silence(silence_id, silence_labels(who, cluster)))
    if found["state"] == "expired" or rehearsing():
        return
    alertmanager.expire_silence(silence_id)
    _record(who, cluster, "alerts.expire_silence", before={"silence": silence_id, "matchers": found["matchers"]})


def _record(who: Identity, cluster: Cluster, action: str, **said: dict[str, Any]) -> None:
    audit.record(who, action=action, target_type="cluster", target_id=cluster.id, target_name=cluster.name, **said)
