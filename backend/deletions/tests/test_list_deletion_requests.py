import pytest

from backend.accounts.states import Permission
from backend.backups.models import Backup
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.deletions.tests.conftest import asked, code, decided, of_tags

pytestmark = pytest.mark.usefixtures("two")


def targets(api: ApiClient, words: str = "") -> list[str]:
    answer = api.get(f"/deletion-requests{words}")
    assert answer.status_code == 200, answer.content
    return [each["target_type"] for each in answer.json()["items"]]


def test_it_has_all_newest_first_or_those_of_a_thing_or_those_that_are_open(
    tenant: Tenant, api: ApiClient, active: Cluster, backup: Backup
):
    first = asked(api, "cluster", active.id)
    asked(api, "backup", backup.id)
    asked(api, "access_settings", tenant.organisation.id)
    assert targets(api) == ["access_settings", "backup", "cluster"]
    assert targets(api, f"?target_id={backup.id}") == ["backup"]
    decided(api, first, "withdraw")
    assert targets(api, "?open=true") == ["access_settings", "backup"]


def test_a_role_limited_by_tags_sees_those_of_its_clusters(
    tenant: Tenant, api: ApiClient, active: Cluster, backup: Backup
):
    asked(api, "cluster", active.id)
    asked(api, "backup", backup.id)
    asked(api, "access_settings", tenant.organisation.id)
    limited = of_tags(tenant, {"env": ["dev"]}, email="dev@acme.example")
    assert targets(limited) == []
    Cluster.objects.update(options={"tags": {"env": "dev"}})
    assert targets(limited) == ["backup", "cluster"]


def test_what_is_seen_is_what_scopes_allow_to_read(tenant: Tenant, api: ApiClient, active: Cluster):
    asked(api, "cluster", active.id)
    asked(api, "access_settings", tenant.organisation.id)
    assert targets(tenant.api(scopes=[Permission.CLUSTERS_READ])) == ["cluster"]
    assert targets(tenant.api(scopes=[Permission.MEMBERS_READ])) == ["access_settings"]
    assert code(tenant.api(scopes=[Permission.AUDIT_READ]).get("/deletion-requests")) == (403, "missing_scope")


def test_a_stranger_sees_none(foreign: ApiClient, api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    assert targets(foreign) == []
    assert targets(foreign, f"?target_id={active.id}") == []
    assert code(foreign.get(f"/deletion-requests/{request['id']}")) == (404, "deletion_request_not_found")
