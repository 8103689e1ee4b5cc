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
from backend.core.schemas import AllowedAction, Line, Moment, RequestBody
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
    default: float
    least: float
    most: float


class AlertRule(Schema):
    """A rule with what this cluster has of it."""

    rule: RuleKey
    title: str
    description: str
    hint: str = Field(description="What to do when it fires")
    severity: Severity
    unit: AlertUnit
    comparison: AlertComparison = Field(description="It fires while the value is above, or below, the threshold")
    threshold: float | None = Field(description="In effect, in the unit; null: it says only yes or no")
    threshold_facts: ThresholdFacts | None = Field(description="The usual one, and how far it may be moved")
    for_seconds: int = Field(description="In effect: how long it must have lasted")
    default_for_seconds: int
    enabled: bool
    changed: bool = Field(description="Something about it is otherwise than usual")
    changed_by: str | None
    changed_at: datetime | None


class AlertRules(Schema):
    items: list[AlertRule]
    allowed_actions: list[AllowedAction]


class AlertRuleUpdate(RequestBody):
    """What is left out stays; null goes back to the usual."""

    threshold: float | None = None
    for_seconds: ForSeconds | None = None
    enabled: bool | None = None


class FiringAlert(Schema):
    fingerprint: str = Field(description="The same for as long as it fires, and when it fires again")
    cluster_id: str
    cluster_name: str
    rule: str
    title: str
    severity: Severity
    sentence: str
    hint: str
    node_id: str | None
    node_name: str | None
    keyspace: str | None
    table: str | None
    labels: dict[str, str]
    value: float | None = Field(description="In the rule's unit")
    starts_at: datetime
    silenced_by: list[str] = Field(description="Ids of silences because of which nobody is told")
    inhibited: bool = Field(description="Nobody is told because another alert says it already")


class FiringCount(Schema):
    """What fires in a cluster and is neither silenced nor inhibited."""

    cluster_id: str
    critical: int
    warning: int
    info: int


class FiringAlerts(Schema):
    items: list[FiringAlert] = Field(description="The most severe first, 500 at most")
    total: int
    counts: list[FiringCount] = Field(
        description="Of all, by cluster; those with none of which people are told are not here"
    )
    allowed_actions: list[AllowedAction]


class AlertFilter(Schema):
    state: AlertState | None = None
    severity: Severity | None = None
    rule: RuleKey | None = None
    begins: Moment | None = Field(None, alias="from", description="Those that fired then or later")
    ends: Moment | None = Field(None, alias="to", description="Those that had begun before")


class AlertEvent(Schema):
    """An alert from its beginning to its end. Those that were silenced or inhibited all the time are not kept."""

    id: str
    cluster_id: str
    cluster_name: str
    rule: str
    severity: Severity
    sentence: str
    labels: dict[str, str]
    state: AlertState
    starts_at: datetime
    ends_at: datetime | None


class AlertEventPage(Schema):
    items: list[AlertEvent]
    next_cursor: str | None


class AlertSilenceOrder(RequestBody):
    """What is silenced: alerts of the cluster that fit all that is given."""

    rule: RuleKey | None = Field(None, strict=False)
    severity: Severity | None = Field(None, strict=False)
    node_id: Id | None = None
    keyspace: Word | None = None
    table: Word | None = Field(None, description="With its keyspace")
    starts_at: Moment | None = Field(None, strict=False, description="null: now")
    ends_at: Moment = Field(strict=False, description="90 days from now at most")
    comment: Comment = Field(description="Why")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.table is not None and self.keyspace is None:
            raise ValueError("a table needs its keyspace")
        return self


class AlertSilence(Schema):
    id: str
    cluster_id: str
    state: SilenceState
    matchers: dict[str, str] = Field(description="Of what is silenced, beside the cluster: rule, node, keyspace …")
    starts_at: datetime
    ends_at: datetime
    comment: str
    created_by: str


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

    name: Name
    kind: ReceiverKind = Field(strict=False)
    addresses: list[Email] = Field([], max_length=20, description="email: who gets it")
    url: Url | None = Field(None, description="slack, webhook: where to post; pagerduty: null, or a compatible service")
    routing_key: RoutingKey | None = Field(None, description="pagerduty: of the service's integration (Events API v2)")
    topics: Topics = list(USUAL_TOPICS)
    severity: Severity = Field(Severity.INFO, strict=False, description="The least severe that is told")
    cluster_ids: list[Id] = Field([], max_length=200, description="Only of these; empty: of all")
    enabled: bool = True


class AlertReceiverUpdate(RequestBody):
    """What is left out stays. For another address or key make another receiver."""

    name: Name | None = None
    topics: Topics | None = None
    severity: Severity | None = Field(None, strict=False)
    cluster_ids: list[Id] | None = Field(None, max_length=200)
    enabled: bool | None = None


class AlertDelivery(Schema):
    id: str
    kind: DeliveryKind
    title: str
    state: DeliveryState
    attempts: int
    result: str = Field(
        description="What the other side answered last, or why it was not reached; empty: not tried yet"
    )
    created_at: datetime
    ended_at: datetime | None
    due_at: datetime | None = Field(description="When it is tried next")
    replay_of: str | None = Field(description="Id of the delivery whose message it sends again")


class AlertDeliveryContent(AlertDelivery):
    content: dict[str, Any] = Field(description="What is told. A signed webhook gets it as it is, with the id")


class AlertReceiver(Schema):
    id: str
    name: str
    kind: ReceiverKind
    target: str = Field(description="Where to; what is secret in it is left out")
    topics: list[Topic]
    severity: Severity
    cluster_ids: list[str]
    enabled: bool
    created_by: str
    created_at: datetime
    last_delivery: AlertDelivery | None
    allowed_actions: list[AllowedAction]


class AlertReceiverPage(Schema):
    items: list[AlertReceiver]
    next_cursor: str | None


class NewAlertReceiver(AlertReceiver):
    signing_secret: str | None = Field(description="webhook: what messages are signed with; shown this once")


class AlertDeliveryPage(Schema):
    items: list[AlertDelivery]
    next_cursor: str | None
