"""Reading alerts: rules of a cluster, what fires, what has fired, silences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.alerts import alertmanager
from backend.alerts.catalogue import RULES, AlertRule, RuleKey
from backend.alerts.models import AlertEvent, AlertOverride
from backend.alerts.states import MAY_NOT_WRITE, AlertState, SilenceState
from backend.alerts.wording import about, rule_of, sentence
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.reach import of_clusters
from backend.core.errors import Invalid
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.findings.states import Severity

MOST_SHOWN = 500
_ORDER = [Severity.CRITICAL, Severity.WARNING, Severity.INFO]
_EVENT_COLUMNS = (
    "id",
    "cluster_id",
    "cluster_name",
    "rule",
    "severity",
    "sentence",
    "labels",
    "state",
    "starts_at",
    "ends_at",
)
_OWN_MATCHERS = ("organisation", "cluster")


@dataclass(frozen=True, kw_only=True)
class Effective:
    """What a cluster has of a rule."""

    threshold: float | None
    for_seconds: int
    enabled: bool
    row: AlertOverride | None


def effective(rule: AlertRule, row: AlertOverride | None) -> Effective:
    usual = None if rule.threshold is None else rule.threshold.default
    if row is None:
        return Effective(threshold=usual, for_seconds=rule.for_seconds, enabled=True, row=None)
    return Effective(
        threshold=usual if row.threshold is None else row.threshold,
        for_seconds=rule.for_seconds if row.for_seconds is None else row.for_seconds,
        enabled=row.enabled,
        row=row,
    )


def effective_rules(cluster_ids: Sequence[str]) -> dict[str, list[Effective]]:
    """Of each cluster, in the order of the catalogue. One statement."""
    rows = {(row.cluster_id, row.rule): row for row in AlertOverride.objects.filter(cluster__in=cluster_ids)}
    return {one: [effective(rule, rows.get((one, rule.key.value))) for rule in RULES] for one in cluster_ids}


def find_cluster(who: Identity, cluster_id: str) -> Cluster:
    """Raises NotFound."""
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def against_writing(who: Identity) -> str | None:
    return None if Permission.ALERTS_WRITE in who.permissions else MAY_NOT_WRITE


def list_rules(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    own = effective_rules([cluster.id])[cluster.id]
    return {
        "items": [rule_shape(rule, one) for rule, one in zip(RULES, own, strict=True)],
        "allowed_actions": [allowed("update_alert_rule", against_writing(who))],
    }


def rule_shape(rule: AlertRule, own: Effective) -> dict[str, Any]:
    facts = rule.threshold
    return {
        "rule": rule.key,
        "title": rule.title,
        "description": rule.description,
        "hint": rule.hint,
        "severity": rule.severity,
        "unit": rule.unit,
        "comparison": rule.comparison,
        "threshold": own.threshold,
        "threshold_facts": None
        if facts is None
        else {"default": facts.default, "least": facts.least, "most": facts.most},
        "for_seconds": own.for_seconds,
        "default_for_seconds": rule.for_seconds,
        "enabled": own.enabled,
        "changed": own.row is not None,
        "changed_by": None if own.row is None else own.row.changed_by,
        "changed_at": None if own.row is None else own.row.changed_at,
    }


# What fires now


def list_firing(who: Identity, cluster_id: str | None) -> dict[str, Any]:
    """As Alertmanager has it. Raises NotFound, AlertmanagerAway."""
    labels = {"organisation": who.organisation_id}
    if cluster_id is not None:
        labels["cluster"] = find_cluster(who, cluster_id).id
    # Rows say what is the organisation's; labels that came over Prometheus only what it is about.
    found = [each for each in alertmanager.alerts(labels) if each["labels"].get("organisation") == who.organisation_id]
    mine = clusters(who).in_bulk({each["labels"].get("cluster", "") for each in found})
    names = node_names(each["labels"].get("node", "") for each in found)
    limits = effective_rules(list(mine))
    items = [
        _firing(each, mine[each["labels"]["cluster"]], names, limits)
        for each in found
        if each["labels"].get("cluster") in mine
    ]
    items.sort(key=lambda one: (_ORDER.index(one["severity"]), one["rule"], one["sentence"]))
    return {
        "items": items[:MOST_SHOWN],
        "total": len(items),
        "counts": _counts(items),
        "allowed_actions": [allowed("create_alert_silence", against_writing(who))],
    }


def _counts(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of what people are told, by cluster."""
    told = Counter(
        (one["cluster_id"], one["severity"]) for one in items if not one["silenced_by"] and not one["inhibited"]
    )
    return [
        {"cluster_id": cluster_id} | {severity.value: told[cluster_id, severity] for severity in _ORDER}
        for cluster_id in sorted({cluster_id for cluster_id, _ in told})
    ]


def node_names(node_ids: Any) -> dict[str, str]:
    wanted = {one for one in node_ids if one}
    return dict(Node.objects.filter(id__in=wanted).values_list("id", "name")) if wanted else {}


def _firing(
    told: Mapping[str, Any], cluster: Cluster, names: Mapping[str, str], limits: Mapping[str, list[Effective]]
) -> dict[str, Any]:
    labels = told["labels"]
    said = described(labels, told.get("annotations", {}), names, limits.get(cluster.id, []))
    return said | {
        "fingerprint": told["fingerprint"],
        "cluster_id": cluster.id,
        "cluster_name": cluster.name,
        "starts_at": told["startsAt"],
        "silenced_by": told["status"]["silencedBy"],
        "inhibited": bool(told["status"]["inhibitedBy"]),
    }


def described(
    labels: Mapping[str, str], annotations: Mapping[str, str], names: Mapping[str, str], limits: Sequence[Effective]
) -> dict[str, Any]:
    """An alert in our words: its rule, who it is about, its value and sentence. Labels are not trusted to be right."""
    rule = rule_of(labels)
    node = labels.get("node", "")
    value = _number(annotations.get("value"))
    who = about(labels, node=names.get(node, node))
    if rule is None:
        title, text, severity, hint = labels.get("rule", "unknown"), labels.get("rule", "unknown"), Severity.WARNING, ""
    else:
        threshold = limits[RULES.index(rule)].threshold if limits else None
        title, severity, hint = rule.title, rule.severity, rule.hint
        text = sentence(rule, value=value, threshold=threshold, who=who)
    return {
        "rule": labels.get("rule", "unknown"),
        "title": title,
        "severity": severity,
        "sentence": text,
        "hint": hint,
        "node_id": node or None,
        "node_name": names.get(node),
        "keyspace": labels.get("keyspace"),
        "table": labels.get("table"),
        "labels": {name: each for name, each in labels.items() if name not in ("alertname", "organisation")},
        "value": value,
    }


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None


# What has fired


def list_events(
    who: Identity,
    query: PageQuery,
    *,
    cluster_id: str | None = None,
    state: AlertState | None = None,
    severity: Severity | None = None,
    rule: RuleKey | None = None,
    begins: datetime | None = None,
    ends: datetime | None = None,
) -> dict[str, Any]:
    """Newest first; from `begins` to `ends` those that fired at some moment between. Raises NotFound, Invalid."""
    if begins is not None and ends is not None and begins >= ends:
        raise Invalid("invalid_range", "`from` is before `to`.", hint="Choose an earlier `from`.", field="from")
    mine = AlertEvent.objects.filter(of_clusters(who), organisation_id=who.organisation_id)
    rows = mine.annotate(cluster_name=F("cluster__name"))
    if cluster_id is not None:
        rows = rows.filter(cluster=find_cluster(who, cluster_id))
    for column, wanted in {"state": state, "severity": severity, "rule": rule}.items():
        if wanted is not None:
            rows = rows.filter(**{column: wanted})
    if begins is not None:
        rows = rows.filter(Q(ends_at=None) | Q(ends_at__gte=begins))
    if ends is not None:
        rows = rows.filter(starts_at__lt=ends)
    return page(rows.values(*_EVENT_COLUMNS), query, lambda row: row)


# Silences


def list_silences(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound, AlertmanagerAway."""
    found = [silence_shape(each) for each in alertmanager.silences(silence_labels(who, find_cluster(who, cluster_id)))]
    states = list(SilenceState)
    rank = {SilenceState.ACTIVE: 0, SilenceState.PENDING: 1, SilenceState.EXPIRED: 2}
    found.sort(key=lambda one: (rank[states[states.index(one["state"])]], one["ends_at"]))
    return {"items": found[:MOST_SHOWN]}


def silence_labels(who: Identity, cluster: Cluster) -> dict[str, str]:
    """What every silence of a cluster has, so that it reaches nobody else's alerts."""
    return {"organisation": who.organisation_id, "cluster": cluster.id}


def silence_shape(told: Mapping[str, Any]) -> dict[str, Any]:
    matchers = {one["name"]: one["value"] for one in told["matchers"]}
    return {
        "id": told["id"],
        "cluster_id": matchers["cluster"],
        "state": told["status"]["state"],
        "matchers": {name: value for name, value in matchers.items() if name not in _OWN_MATCHERS},
        "starts_at": datetime.fromisoformat(told["startsAt"]),
        "ends_at": datetime.fromisoformat(told["endsAt"]),
        "comment": told["comment"],
        "created_by": told["createdBy"],
    }
