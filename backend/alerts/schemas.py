"""Alerts on the wire."""

from datetime import datetime
from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from backend.alerts.catalogue import RuleKey
from backend.alerts.states import (
    USUAL_TOPICS,
    AlertComparison,
    AlertState,
    AlertUnit,
    DeliveryKind,
    DeliveryState,
    ReceiverKind,
    SilenceState,
    Topic,
)
from backend.core.schemas import AllowedAction, Line, Moment, NextCursor, RequestBody
from backend.findings.states import Severity

Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=63)]
Comment = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Email = Annotated[
    str, StringConstraints(max_length=254, pattern=r"^[^@\s<>,;\"\x00-\x20\x7f-\U0010ffff]+@[A-Za-z0-9.-]+$")
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
RoutingKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,128}$")]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,222}$")]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]
ForSeconds = Annotated[int, Field(ge=0, le=86_400)]


class ThresholdFacts(Schema):
    default: float = Field(description="The usual threshold, in the rule's unit")
    least: float = Field(description="The lowest that may be set, in the rule's unit")
    most: float = Field(description="The highest that may be set, in the rule's unit")


class AlertRule(Schema):
    """A rule with what this cluster has of it."""

    rule: RuleKey = Field(description="Stable, for programs: node-down, disk-80, repair-overdue ...")
    title: str = Field(description="For people: Disk 80 % full")
    description: str = Field(description="What it means when it fires, a sentence or two")
    hint: str = Field(description="What to do when it fires")
    severity: Severity = Field(description="info, warning or critical; the same for every cluster")
    unit: AlertUnit = Field(
        description="Of the value and the threshold. ratio: a share, 0.8 is 80 %. none: it says only yes or no"
    )
    comparison: AlertComparison = Field(description="It fires while the value is above, or below, the threshold")
    threshold: float | None = Field(description="In effect, in the unit; null: it says only yes or no")
    threshold_facts: ThresholdFacts | None = Field(description="The usual one, and how far it may be moved")
    for_seconds: int = Field(description="In effect: how long it must have lasted")
    default_for_seconds: int = Field(description="How long it usually must have lasted")
    enabled: bool = Field(description="false: it does not fire in this cluster")
    changed: bool = Field(description="Something about it is otherwise than usual")
    changed_by: str | None = Field(
        description="Who changed it last: e-mail address or service account, with the API token's name in "
        "brackets if one was used; null: it is as usual"
    )
    changed_at: datetime | None = Field(description="When it was changed last, UTC; null: it is as usual")


class AlertRules(Schema):
    items: list[AlertRule] = Field(description="All that there are, the same for every cluster, always in this order")
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may update_alert_rule, and why not")


class AlertRuleUpdate(RequestBody):
    """What is left out stays; null goes back to the usual."""

    threshold: float | None = Field(
        None,
        description="In the rule's unit, within its threshold_facts; only of rules that have a threshold",
        examples=[0.75],
    )
    for_seconds: ForSeconds | None = Field(None, description="How long it must have lasted: 0 to 86,400 (a day)")
    enabled: bool | None = Field(None, description="false: it does not fire in this cluster. Usual is true")


class FiringAlert(Schema):
    fingerprint: str = Field(description="The same for as long as it fires, and when it fires again")
    cluster_id: str = Field(description="clu_…, of the cluster in which it fires")
    cluster_name: str = Field(description="As it is called now")
    rule: str = Field(description="Stable, for programs: node-down, disk-80 ...")
    title: str = Field(description="The rule in words: Disk 80 % full")
    severity: Severity = Field(description="info, warning or critical, as the rule has it")
    sentence: str = Field(
        description="What it is about, with the value now and the limit: Disk 80 % full: 83.1 % (limit 80.0 %): "
        "orders-a-1"
    )
    hint: str = Field(description="What to do about it; empty: a rule that this release does not have")
    node_id: str | None = Field(description="nod_…; null: it is not about one node")
    node_name: str | None = Field(description="null: it is not about one node, or that node is not known")
    keyspace: str | None = Field(description="null: it is not about a table")
    table: str | None = Field(description="null: it is not about a table")
    labels: dict[str, str] = Field(
        description="All of Prometheus' labels but alertname and organisation: rule, severity, cluster, node and "
        "the like"
    )
    value: float | None = Field(description="In the rule's unit")
    starts_at: datetime = Field(description="Since when it fires, UTC")
    silenced_by: list[str] = Field(description="Ids of silences because of which nobody is told")
    inhibited: bool = Field(description="Nobody is told because another alert says it already")


class FiringCount(Schema):
    """What fires in a cluster and is neither silenced nor inhibited."""

    cluster_id: str = Field(description="clu_…, of the cluster in which they fire")
    critical: int = Field(description="How many of them are critical")
    warning: int = Field(description="How many of them are warnings")
    info: int = Field(description="How many of them are infos")


class FiringAlerts(Schema):
    items: list[FiringAlert] = Field(description="The most severe first, 500 at most")
    total: int = Field(description="How many fire, silenced and inhibited ones and those beyond the 500, too")
    counts: list[FiringCount] = Field(
        description="Of all, by cluster; those with none of which people are told are not here"
    )
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may create_alert_silence, and why not")


class AlertFilter(Schema):
    state: AlertState | None = Field(None, description="firing: they still do. resolved: they are over")
    severity: Severity | None = Field(None, description="Of this severity exactly, not of higher ones")
    rule: RuleKey | None = Field(None, description="Of this rule, as list_alert_rules names it: disk-80")
    begins: Moment | None = Field(None, alias="from", description="Those that fired then or later")
    ends: Moment | None = Field(None, alias="to", description="Those that had begun before")


class AlertEvent(Schema):
    """An alert from its beginning to its end. Those that were silenced or inhibited all the time are not kept."""

    id: str = Field(description="alr_…")
    cluster_id: str = Field(description="clu_…, of the cluster in which it fired")
    cluster_name: str = Field(description="As it is called now")
    rule: str = Field(description="Stable, for programs: node-down, disk-80 ...")
    severity: Severity = Field(description="info, warning or critical, as the rule had it")
    sentence: str = Field(description="What it was about, with the value and the limit when it began")
    labels: dict[str, str] = Field(
        description="All of Prometheus' labels but alertname and organisation: rule, severity, cluster, node and "
        "the like"
    )
    state: AlertState = Field(description="firing: it still does. resolved: it is over")
    starts_at: datetime = Field(description="When it began to fire, UTC")
    ends_at: datetime | None = Field(description="When it was over, UTC; null: it still fires")


class AlertEventPage(Schema):
    items: list[AlertEvent] = Field(description="Newest first")
    next_cursor: NextCursor


class AlertSilenceOrder(RequestBody):
    """What is silenced: alerts of the cluster that fit all that is given."""

    rule: RuleKey | None = Field(None, strict=False, description="Only alerts of this rule; null: of all")
    severity: Severity | None = Field(
        None, strict=False, description="Only alerts of this severity exactly, not of higher ones; null: of all"
    )
    node_id: Id | None = Field(
        None,
        description="Only alerts of this node of the cluster; null: of all, and those of no node",
        examples=["nod_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )
    keyspace: Word | None = Field(
        None,
        description="Only alerts of tables in this keyspace; null: of all, and those of no table",
        examples=["shop"],
    )
    table: Word | None = Field(None, description="With its keyspace", examples=["orders"])
    starts_at: Moment | None = Field(
        None,
        strict=False,
        description="With its time zone, RFC 3339; null, or a time that is over: now",
        examples=["2026-01-02T20:00:00Z"],
    )
    ends_at: Moment = Field(
        strict=False,
        description="With its time zone, RFC 3339; after it begins, and 90 days from now at most",
        examples=["2026-01-03T06:00:00+01:00"],
    )
    comment: Comment = Field(description="Why")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.table is not None and self.keyspace is None:
            raise ValueError("a table needs its keyspace")
        return self


class AlertSilence(Schema):
    id: str = Field(description="Alertmanager's; expire_alert_silence takes it")
    cluster_id: str = Field(description="clu_…, of the cluster whose alerts it silences")
    state: SilenceState = Field(description="pending: it begins later. active: it counts. expired: it is over")
    matchers: dict[str, str] = Field(description="Of what is silenced, beside the cluster: rule, node, keyspace …")
    starts_at: datetime = Field(description="When it begins or began, UTC")
    ends_at: datetime = Field(description="When it ends or ended, UTC; of one that was ended early, that moment")
    comment: str = Field(description="Why, in the words of who made it")
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )


class AlertSilences(Schema):
    items: list[AlertSilence] = Field(description="Those that count, or will, first; ended ones are kept for five days")


Topics = Annotated[
    list[Annotated[Topic, Field(strict=False)]],
    Field(
        min_length=1,
        max_length=len(Topic),
        description="What it is told of. operations: each that is ordered, gets stuck, is paused, goes on or ends; "
        "stuck and failed ones are warnings, the others infos. audit: each audit record, as info; of webhooks only, "
        "and for those who have audit:read",
    ),
    AfterValidator(lambda topics: sorted(set(topics))),
]


class AlertReceiverOrder(RequestBody):
    """Which of the fields are needed depends on the kind."""

    name: Name = Field(description="Unique in the organisation, whatever its case", examples=["On call"])
    kind: ReceiverKind = Field(
        strict=False,
        description="email needs addresses, slack and webhook need url, pagerduty needs routing_key. It stays "
        "what it is",
    )
    addresses: list[Email] = Field(
        [], max_length=20, description="email: who gets it", examples=[["oncall@example.com"]]
    )
    url: Url | None = Field(
        None,
        description="slack, webhook: where to post; pagerduty: null, or a compatible service",
        examples=["https://hooks.example.com/ringmaster"],
    )
    routing_key: RoutingKey | None = Field(None, description="pagerduty: of the service's integration (Events API v2)")
    topics: Topics = list(USUAL_TOPICS)
    severity: Severity = Field(Severity.INFO, strict=False, description="The least severe that is told")
    cluster_ids: list[Id] = Field(
        [], max_length=200, description="Only of these; empty: of all", examples=[["clu_01hzy6q3v8k2m4n5p7r9s0t1w2"]]
    )
    enabled: bool = Field(True, description="false: nothing new is sent there but tests and what is replayed")


class AlertReceiverUpdate(RequestBody):
    """What is left out stays. For another address or key make another receiver."""

    name: Name | None = Field(None, description="Unique in the organisation, whatever its case; null: stays")
    topics: Topics | None = Field(
        None, description="What it is told of, in the place of those before, as in the order; null: stays"
    )
    severity: Severity | None = Field(None, strict=False, description="The least severe that is told; null: stays")
    cluster_ids: list[Id] | None = Field(
        None,
        max_length=200,
        description="Only of these, in the place of those before; empty: of all; null: stays",
        examples=[["clu_01hzy6q3v8k2m4n5p7r9s0t1w2"]],
    )
    enabled: bool | None = Field(
        None, description="false: nothing new is sent there but tests and what is replayed; null: stays"
    )


class AlertDelivery(Schema):
    id: str = Field(description="dlv_…; a webhook gets it as id, which tells a message that came twice")
    kind: DeliveryKind = Field(description="The topic that it is about, or test")
    title: str = Field(description="The message in one sentence")
    state: DeliveryState = Field(
        description="pending: it waits, or is tried again at due_at. sent: the other side took it. failed: given up"
    )
    attempts: int = Field(
        description="Tries so far. What is not taken is tried again for some four hours; a test is tried once"
    )
    result: str = Field(
        description="What the other side answered last, or why it was not reached; empty: not tried yet"
    )
    created_at: datetime = Field(description="When it was put on its way, UTC")
    ended_at: datetime | None = Field(description="When it was taken or given up, UTC; null: it is pending")
    due_at: datetime | None = Field(description="When it is tried next")
    replay_of: str | None = Field(description="Id of the delivery whose message it sends again")


class AlertDeliveryContent(AlertDelivery):
    content: dict[str, Any] = Field(description="What is told. A signed webhook gets it as it is, with the id")


class AlertReceiver(Schema):
    id: str = Field(description="rcv_…; get_alert_receiver takes it")
    name: str = Field(description="Unique in the organisation")
    kind: ReceiverKind = Field(description="email, slack, pagerduty or webhook")
    target: str = Field(description="Where to; what is secret in it is left out")
    topics: list[Topic] = Field(description="What it is told of: alerts, budgets, operations, audit; sorted")
    severity: Severity = Field(description="The least severe that is told")
    cluster_ids: list[str] = Field(description="Only of these clusters; empty: of all, and of what is about no cluster")
    enabled: bool = Field(description="false: nothing new is sent there but tests and what is replayed")
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    created_at: datetime = Field(description="When it was made, UTC")
    last_delivery: AlertDelivery | None = Field(
        description="The newest message for it that the caller may see; null: there was none in the last 30 days"
    )
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may test_alert_receiver, update_alert_receiver, delete_alert_receiver "
        "and rotate_alert_receiver_secret, and why not"
    )


class AlertReceiverPage(Schema):
    items: list[AlertReceiver] = Field(description="Newest first, without deleted ones")
    next_cursor: NextCursor


class NewAlertReceiver(AlertReceiver):
    signing_secret: str | None = Field(description="webhook: what messages are signed with; shown this once")


class AlertDeliveryPage(Schema):
    items: list[AlertDelivery] = Field(description="Of the last 30 days, newest first")
    next_cursor: NextCursor
