"""Alerts over HTTP: rules of a cluster, what fires and has fired, silences, and who is told."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.alerts import actions, queries, receiver_actions, receiver_queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["alerts"])


@router.get("/clusters/{cluster_id}/alert-rules", operation_id="list_alert_rules", response=schemas.AlertRules)
def list_alert_rules(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """All rules, with the thresholds that this cluster has."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_rules(who, cluster_id))


@router.patch("/clusters/{cluster_id}/alert-rules/{rule}", operation_id="update_alert_rule", response=schemas.AlertRule)
def update_alert_rule(
    request: HttpRequest, cluster_id: str, rule: str, wanted: schemas.AlertRuleUpdate
) -> HttpResponse:
    """Changes threshold, duration or whether a rule is on, for one cluster. Counts within half a minute."""
    return prepared(actions.update_rule(identity(request), cluster_id, rule, wanted))


@router.get("/alerts/firing", operation_id="list_firing_alerts", response=schemas.FiringAlerts)
def list_firing_alerts(request: HttpRequest) -> HttpResponse:
    """What fires now in the organisation's clusters, silenced ones too, as Alertmanager has it."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_firing(who, None))


@router.get(
    "/clusters/{cluster_id}/alerts/firing", operation_id="list_cluster_firing_alerts", response=schemas.FiringAlerts
)
def list_cluster_firing_alerts(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """What fires now in one cluster, silenced ones too, as Alertmanager has it."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_firing(who, cluster_id))


@router.get("/alerts", operation_id="list_alerts", response=schemas.AlertEventPage)
def list_alerts(request: HttpRequest, wanted: Query[schemas.AlertFilter], page: Query[PageQuery]) -> HttpResponse:
    """What has fired in the organisation's clusters, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_events(who, page, **wanted.dict()))


@router.get("/clusters/{cluster_id}/alerts", operation_id="list_cluster_alerts", response=schemas.AlertEventPage)
def list_cluster_alerts(
    request: HttpRequest, cluster_id: str, wanted: Query[schemas.AlertFilter], page: Query[PageQuery]
) -> HttpResponse:
    """What has fired in one cluster, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_events(who, page, cluster_id=cluster_id, **wanted.dict()))


@router.get("/clusters/{cluster_id}/alert-silences", operation_id="list_alert_silences", response=schemas.AlertSilences)
def list_alert_silences(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Silences of a cluster: those that count, those to come, and those that ended within five days."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_silences(who, cluster_id))


@router.post(
    "/clusters/{cluster_id}/alert-silences", operation_id="create_alert_silence", response={201: schemas.AlertSilence}
)
def create_alert_silence(request: HttpRequest, cluster_id: str, order: schemas.AlertSilenceOrder) -> HttpResponse:
    """Nobody is told of alerts that fit, until it ends. They are shown all the same."""
    return prepared(actions.create_silence(identity(request), cluster_id, order), status=201)


@router.delete(
    "/clusters/{cluster_id}/alert-silences/{silence_id}", operation_id="expire_alert_silence", response={204: None}
)
def expire_alert_silence(request: HttpRequest, cluster_id: str, silence_id: str) -> HttpResponse:
    """Ends a silence now."""
    actions.expire_silence(identity(request), cluster_id, silence_id)
    return HttpResponse(status=204)


@router.get("/alert-receivers", operation_id="list_alert_receivers", response=schemas.AlertReceiverPage)
def list_alert_receivers(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Who is told of the organisation's alerts, newest first, and how the last message went."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(receiver_queries.list_receivers(who, page))


@router.post("/alert-receivers", operation_id="create_alert_receiver", response={201: schemas.NewAlertReceiver})
def create_alert_receiver(request: HttpRequest, order: schemas.AlertReceiverOrder) -> HttpResponse:
    """Makes a receiver. The secret that webhooks are signed with is in this answer and in no other."""
    return prepared(receiver_actions.create(identity(request), order), status=201)


@router.get("/alert-receivers/{receiver_id}", operation_id="get_alert_receiver", response=schemas.AlertReceiver)
def get_alert_receiver(request: HttpRequest, receiver_id: str) -> HttpResponse:
    """One receiver."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(receiver_queries.get_receiver(who, receiver_id))


@router.patch("/alert-receivers/{receiver_id}", operation_id="update_alert_receiver", response=schemas.AlertReceiver)
def update_alert_receiver(request: HttpRequest, receiver_id: str, wanted: schemas.AlertReceiverUpdate) -> HttpResponse:
    """Changes its name, what it is told, or whether it is on."""
    return prepared(receiver_actions.update(identity(request), receiver_id, wanted))


@router.delete("/alert-receivers/{receiver_id}", operation_id="delete_alert_receiver", response={204: None})
def delete_alert_receiver(request: HttpRequest, receiver_id: str) -> HttpResponse:
    """Nothing is sent there any more, not even what waits."""
    receiver_actions.delete(identity(request), receiver_id)
    return HttpResponse(status=204)


@router.post(
    "/alert-receivers/{receiver_id}/secret",
    operation_id="rotate_alert_receiver_secret",
    response=schemas.NewAlertReceiver,
)
def rotate_alert_receiver_secret(request: HttpRequest, receiver_id: str) -> HttpResponse:
    """A new secret for a webhook; the one before is not used any more."""
    return prepared(receiver_actions.rotate_secret(identity(request), receiver_id))


@router.post(
    "/alert-receivers/{receiver_id}/test", operation_id="test_alert_receiver", response={202: schemas.AlertDelivery}
)
def test_alert_receiver(request: HttpRequest, receiver_id: str) -> HttpResponse:
    """Sends a real message that says it is a test. list_alert_deliveries tells how it went."""
    return prepared(receiver_actions.test(identity(request), receiver_id), status=202)


@router.get(
    "/alert-receivers/{receiver_id}/deliveries",
    operation_id="list_alert_deliveries",
    response=schemas.AlertDeliveryPage,
)
def list_alert_deliveries(request: HttpRequest, receiver_id: str, page: Query[PageQuery]) -> HttpResponse:
    """What was sent there during the last thirty days, newest first, and what was answered."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(receiver_queries.list_deliveries(who, receiver_id, page))


@router.get(
    "/alert-receivers/{receiver_id}/deliveries/{delivery_id}",
    operation_id="get_alert_delivery",
    response=schemas.AlertDeliveryContent,
)
def get_alert_delivery(request: HttpRequest, receiver_id: str, delivery_id: str) -> HttpResponse:
    """One delivery with the message itself."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(receiver_queries.get_delivery(who, receiver_id, delivery_id))


@router.post(
    "/alert-receivers/{receiver_id}/deliveries/{delivery_id}/replay",
    operation_id="replay_alert_delivery",
    response={202: schemas.AlertDelivery},
)
def replay_alert_delivery(request: HttpRequest, receiver_id: str, delivery_id: str) -> HttpResponse:
    """Sends the message once more, whether it arrived or was given up: as a delivery of its own."""
    return prepared(receiver_actions.replay(identity(request), receiver_id, delivery_id), status=202)
