import pytest

from backend.access import actions, queries
from backend.access.models import Allowlist
from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.catalog.models import Provider
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

OFFICE = {"cidr": "10.0.0.0/8", "description": "office"}
VPN = {"cidr": "2001:db8::/32", "description": ""}


def test_without_a_list_everybody_may_sign_in(api: ApiClient, active: Cluster):
    shown = api.get(f"/clusters/{active.id}/allowlist").json()
    assert (shown["entries"], shown["in_force"], shown["applied_at"]) == ([], True, None)
    assert shown["allowed_actions"] == [{"action": "replace_allowlist", "allowed": True, "reason": None}]


def test_a_list_is_stored_and_taken_over_by_every_node(api: ApiClient, active: Cluster):
    answer = api.put(f"/clusters/{active.id}/allowlist", {"entries": [OFFICE, VPN]})
    assert answer.status_code == 202, answer.content
    shown = answer.json()["allowlist"]
    assert (shown["entries"], shown["in_force"]) == ([OFFICE, VPN], False)
    operation = Operation.objects.get(id=answer.json()["operation"]["id"])
    assert shown["pending_operation"]["id"] == operation.id
    assert operation.parameters["cidrs"] == ["10.0.0.0/8", "2001:db8::/32"]
    assert operation.steps.count() == 3
    finish_operations()
    actions.allowlist_applied(active.id, operation.parameters["entries"])
    shown = api.get(f"/clusters/{active.id}/allowlist").json()
    assert (shown["in_force"], shown["pending_operation"]) == (True, None)
    assert shown["applied_at"] is not None
    assert AuditRecord.objects.filter(action="access.replace_allowlist").count() == 1


def test_a_cancelled_list_gives_way_to_the_one_in_force(api: ApiClient, active: Cluster):
    api.put(f"/clusters/{active.id}/allowlist", {"entries": [OFFICE]})
    actions.allowlist_applied(active.id, [OFFICE])
    finish_operations()
    api.put(f"/clusters/{active.id}/allowlist", {"entries": [VPN]})
    actions.allowlist_change_cancelled(active.id, [VPN])
    assert Allowlist.objects.get(cluster=active).entries == [OFFICE]


def test_an_older_cancel_leaves_a_newer_list_alone(api: ApiClient, active: Cluster):
    api.put(f"/clusters/{active.id}/allowlist", {"entries": [OFFICE]})
    api.put(f"/clusters/{active.id}/allowlist", {"entries": [VPN]})
    actions.allowlist_change_cancelled(active.id, [OFFICE])
    assert Allowlist.objects.get(cluster=active).entries == [VPN]


@pytest.mark.parametrize(
    ("cidr", "message"),
    [
        ("10.0.0.1", "10.0.0.1 is no CIDR: give the number of bits as well, 10.0.0.1/32 for a single address."),
        ("10.0.0.1/8", "10.0.0.1/8 is not written as it is stored; 10.0.0.0/8 is meant, or another."),
        ("10.0.0.0/33", "10.0.0.0/33 is no CIDR such as 10.0.0.0/8 or 2001:db8::/32."),
        ("2001:DB8::/32", "2001:DB8::/32 is not written as it is stored; 2001:db8::/32 is meant, or another."),
        ("::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104 is an IPv4 network in an IPv6 address; write it as IPv4."),
    ],
)
def test_what_is_no_network_is_refused_in_words(api: ApiClient, active: Cluster, cidr: str, message: str):
    answer = api.put(f"/clusters/{active.id}/allowlist", {"entries": [OFFICE, {"cidr": cidr}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["field"], error["message"]) == (422, "entries.1.cidr", message)
    assert not Allowlist.objects.exists()


def test_a_network_is_listed_once_and_a_hundred_at_most(api: ApiClient, active: Cluster):
    twice = api.put(f"/clusters/{active.id}/allowlist", {"entries": [OFFICE, OFFICE]})
    assert twice.json()["error"]["message"] == "10.0.0.0/8 is listed more than once."
    many = [{"cidr": f"10.0.{number}.0/24"} for number in range(101)]
    assert api.put(f"/clusters/{active.id}/allowlist", {"entries": many}).status_code == 422


def test_strangers_viewers_and_narrow_tokens_change_nothing(tenant: Tenant, foreign: ApiClient, active: Cluster):
    path = f"/clusters/{active.id}/allowlist"
    assert foreign.get(path).status_code == 404
    assert foreign.put(path, {"entries": []}).status_code == 404
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get(path).json()["allowed_actions"][0]["allowed"] is False
    assert viewer.put(path, {"entries": []}).status_code == 403
    assert tenant.api(scopes=[Permission.CLUSTERS_READ]).put(path, {"entries": []}).status_code == 403
    assert not Allowlist.objects.exists()


def test_a_cluster_that_does_not_serve_takes_no_list(api: ApiClient, creating: Cluster):
    answer = api.put(f"/clusters/{creating.id}/allowlist", {"entries": []})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "operation_in_progress")


def test_a_deleted_cluster_takes_no_list(api: ApiClient, deleted: Cluster):
    answer = api.put(f"/clusters/{deleted.id}/allowlist", {"entries": []})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_deleted")


def test_behind_a_firewall_an_engine_without_a_list_of_its_own_takes_one(api: ApiClient, active: Cluster):
    Cluster.objects.filter(id=active.id).update(engine="scylla")
    path = f"/clusters/{active.id}/allowlist"
    assert api.get(path).json()["allowed_actions"][0]["allowed"] is False
    Provider.objects.filter(id="local").update(firewall=True)
    shown = api.get(path).json()
    assert shown["allowed_actions"][0]["allowed"] is True
    assert "nobody from outside" in shown["effect"]
    started = api.put(path, {"entries": [OFFICE]})
    assert started.status_code == 202, started.content
    steps = Operation.objects.get(id=started.json()["operation"]["id"]).steps
    assert list(steps.values_list("name", flat=True)) == ["allow_clients"]
    assert api.get(path).json()["effect"] == "The network's firewall lets in these networks only."
    assert (queries.engine_cidrs(active.id), queries.has_allowlist(active.id)) == ([], False)
