"""The Python client against the real API."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import ringmaster
from pydantic import TypeAdapter
from ringmaster import Ringmaster, models
from ringmaster.operations import Operations

from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER, finish_operations
from backend.conftest import Tenant
from backend.operations.models import Operation

from .conftest import URL

DOCUMENT = json.loads((Path(__file__).resolve().parents[3] / "backend" / "openapi.json").read_text())


def order(**fields: Any) -> models.ClusterOrder:
    return models.ClusterOrder(**(ORDER | fields))


def test_it_has_a_method_of_the_same_name_for_each_operation() -> None:
    ids = {operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()}
    assert ids <= set(dir(Operations))


def test_it_orders_reads_and_deletes(client: Ringmaster) -> None:
    started = client.create_cluster(order())
    assert (started.cluster.name, started.operation.state) == ("orders", "pending")
    found = client.get_cluster(started.cluster.id)
    assert isinstance(found, models.Cluster)
    assert [one.id for one in client.list_clusters(name="orders").items] == [found.id]
    client.update_cluster(found.id, models.ClusterUpdate(termination_protection=True))
    finish_operations()
    with pytest.raises(ringmaster.Conflict) as refused:
        client.delete_cluster(found.id)
    assert refused.value.code == "termination_protected"


def test_a_body_may_be_a_mapping_and_says_only_what_was_given(client: Ringmaster, active: Cluster) -> None:
    assert client.update_cluster(active.id, {"name": "other"}).name == "other"
    assert client.update_cluster(active.id, models.ClusterUpdate(name="third")).termination_protection is False


def test_an_error_carries_what_the_server_said(client: Ringmaster) -> None:
    with pytest.raises(ringmaster.Invalid) as refused:
        client.create_cluster(order(zones=["nowhere"], nodes_per_zone=1000))
    error = refused.value
    assert (error.status, error.field) == (422, "nodes_per_zone")
    assert [problem.field for problem in error.fields] == ["nodes_per_zone"]
    assert error.request_id.startswith("req_")
    assert error.code in str(error)
    assert error.request_id in str(error)


def test_what_is_of_others_is_not_found(
    client_of: Callable[..., Ringmaster], stranger: Tenant, active: Cluster
) -> None:
    with pytest.raises(ringmaster.NotFound):
        client_of(stranger.token()).get_cluster(active.id)


def test_a_wrong_token_is_told_so(client_of: Callable[..., Ringmaster], db: None) -> None:
    with pytest.raises(ringmaster.Unauthenticated) as refused:
        client_of("rmt_nobody").list_clusters()
    assert refused.value.hint


def test_a_dry_run_changes_nothing_and_refuses_the_same(client: Ringmaster) -> None:
    assert client.create_cluster(order(), dry_run=True) is None
    assert not Cluster.objects.exists()
    with pytest.raises(ringmaster.Invalid):
        client.create_cluster(order(machine_type="no.such"), dry_run=True)


def test_pages_are_read_one_after_the_other(client: Ringmaster) -> None:
    for number in range(5):
        client.create_cluster(order(name=f"c{number}"))
    assert [one.name for one in client.iter_clusters(limit=2)] == ["c4", "c3", "c2", "c1", "c0"]


class Losing(httpx.BaseTransport):
    """Loses the first answers on their way: the server has done what they tell."""

    def __init__(self, server: httpx.BaseTransport, lost: list[Exception | httpx.Response]) -> None:
        self.server, self.lost, self.keys = server, lost, list[str]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("Idempotency-Key", ""))
        answer = self.server.handle_request(request)
        if not self.lost:
            return answer
        match self.lost.pop(0):
            case Exception() as problem:
                raise problem
            case instead:
                return instead


@pytest.mark.usefixtures("_catalog")
def test_a_write_whose_answer_is_lost_is_sent_again_and_happens_once(
    client_of: Callable[..., Ringmaster], server: httpx.BaseTransport, tenant: Tenant, naps: list[float]
) -> None:
    losing = Losing(server, [httpx.ReadError("reset"), httpx.Response(502)])
    started = client_of(tenant.token(), http=losing).create_cluster(order())
    assert Cluster.objects.get().id == started.cluster.id
    assert len(losing.keys) == 3
    assert len(set(losing.keys)) == 1
    assert losing.keys[0]
    assert naps == [0.5, 1.0]


def test_it_waits_as_long_as_the_server_wants(
    client_of: Callable[..., Ringmaster], server: httpx.BaseTransport, tenant: Tenant, naps: list[float]
) -> None:
    busy = httpx.Response(429, headers={"Retry-After": "7"}, json={"error": {"code": "too_many_requests"}})
    client_of(tenant.token(), http=Losing(server, [busy])).list_clusters()
    assert naps == [7.0]


def test_it_does_not_wait_for_more_than_a_minute(
    client_of: Callable[..., Ringmaster], server: httpx.BaseTransport, tenant: Tenant, naps: list[float]
) -> None:
    busy = httpx.Response(429, headers={"Retry-After": "3600"}, json={"error": {"code": "too_many_requests"}})
    with pytest.raises(ringmaster.TooManyRequests) as refused:
        client_of(tenant.token(), http=Losing(server, [busy])).list_clusters()
    assert (refused.value.retry_after, naps) == (3600.0, [])


def test_a_write_without_a_key_is_not_sent_again(
    client_of: Callable[..., Ringmaster], server: httpx.BaseTransport, tenant: Tenant
) -> None:
    losing = Losing(server, [httpx.ReadError("reset")])
    with pytest.raises(ringmaster.Unreachable):
        client_of(tenant.token(), http=losing).accept_invitation({"secret": "x", "name": "Ann", "password": "y"})
    assert losing.keys == [""]


def test_it_gives_up_when_nobody_answers(
    client_of: Callable[..., Ringmaster], server: httpx.BaseTransport, tenant: Tenant, naps: list[float]
) -> None:
    losing = Losing(server, [httpx.ConnectError("refused") for _ in range(9)])
    with pytest.raises(ringmaster.Unreachable, match="refused"):
        client_of(tenant.token(), http=losing).list_clusters()
    assert len(naps) == 5


def test_a_key_of_ones_own_survives_a_restart_of_the_program(client: Ringmaster) -> None:
    first = client.create_cluster(order(), idempotency_key="order-of-today")
    assert client.create_cluster(order(), idempotency_key="order-of-today").cluster.id == first.cluster.id


@pytest.mark.usefixtures("_catalog")
def test_it_follows_an_operation_to_its_end(client_of: Callable[..., Ringmaster], tenant: Tenant) -> None:
    states = iter([{"state": "running", "progress": 0.4}, {"state": "succeeded", "progress": 1.0}])

    def work(_: float) -> None:
        Operation.objects.update(**next(states))

    client = client_of(tenant.token(), sleep=work)
    started = client.create_cluster(order())
    seen = [(now.state, now.progress) for now in client.follow(started)]
    assert seen == [("pending", 0.0), ("running", 0.4), ("succeeded", 1.0)]
    assert client.wait(started.operation.id).steps[0].title


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("failed", ringmaster.OperationFailed),
        ("cancelled", ringmaster.OperationCancelled),
        ("blocked", ringmaster.OperationStands),
    ],
)
def test_an_operation_that_does_not_succeed_is_an_error_with_its_reason(
    client: Ringmaster, state: str, error: type[ringmaster.OperationError]
) -> None:
    started = client.create_cluster(order())
    why = {"reason_code": "no_room", "reason": "The zone is full.", "reason_hint": "Choose another."}
    Operation.objects.update(state=state, **why)
    with pytest.raises(error, match=r"The zone is full\. Choose another\.") as refused:
        client.wait(started)
    assert (refused.value.state, refused.value.code) == (state, "no_room")


def test_it_does_not_wait_for_ever(client: Ringmaster) -> None:
    with pytest.raises(ringmaster.WaitTimeout, match="pending"):
        client.wait(client.create_cluster(order()), timeout=0.1)


def test_words_and_fields_of_a_newer_server_are_no_error() -> None:
    crossed = {"id": "fnd_1", "status": "hibernating", "new_field": 1}
    known = TypeAdapter(models.CheckStatus)
    assert known.validate_python(crossed["status"]) == "hibernating"
    reason = models.OperationReason.model_validate({"code": "c", "message": "m", "hint": "", "new_field": 1})
    assert reason.code == "c"


def test_text_and_files_are_handed_over_as_they_are(client: Ringmaster, active: Cluster) -> None:
    assert "BEGIN CERTIFICATE" in client.download_ca(active.id)


def test_who_asks_is_told_to_the_server(client: Ringmaster, active: Cluster) -> None:
    client.update_cluster(active.id, {"name": "other"})
    assert AuditRecord.objects.filter(action="cluster.update").exists()


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGMASTER_URL", raising=False)
    with pytest.raises(ringmaster.RingmasterError, match="RINGMASTER_URL"):
        Ringmaster()
    with pytest.raises(ringmaster.RingmasterError, match="https://"):
        Ringmaster("ringmaster.example", "rmt_x")


def test_every_public_name_says_what_it_is_for() -> None:
    assert [
        name for name in ringmaster.__all__ if name[0].isupper() and not inspect.getdoc(getattr(ringmaster, name))
    ] == []


def test_a_page_instead_of_an_answer_is_told(client_of: Callable[..., Ringmaster], tenant: Tenant) -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, html="<p>Welcome</p>"))
    with pytest.raises(ringmaster.RingmasterError, match=f"{URL}.*a page"):
        client_of(tenant.token(), http=page).list_clusters()


def test_a_change_of_what_somebody_else_changed_is_refused(client: Ringmaster, active: Cluster) -> None:
    seen = client.get_cluster(active.id)
    assert seen.etag
    client.update_cluster(active.id, {"name": "quicker"}, if_match=seen.etag)
    with pytest.raises(ringmaster.PreconditionFailed, match="not as you saw it"):
        client.update_cluster(active.id, {"name": "slower"}, if_match=seen.etag)
    assert client.get_cluster(active.id).name == "quicker"
