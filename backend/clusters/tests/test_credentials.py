import secrets

import pytest

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.clusters import lifecycle, queries
from backend.clusters.models import Cluster, Secret
from backend.clusters.states import SecretPurpose
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant


def test_the_password_is_shown_once(api: ApiClient, active: Cluster):
    first = api.post(f"/clusters/{active.id}/credentials/reveal")
    assert first.status_code == 200
    assert first["Cache-Control"] == "no-store"
    assert first.json()["username"] == "admin"
    assert len(first.json()["password"]) == 32
    again = api.post(f"/clusters/{active.id}/credentials/reveal")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_revealed")
    assert "rotate" in again.json()["error"]["hint"]
    assert first.json()["password"] not in str(list(AuditRecord.objects.values()))
    assert AuditRecord.objects.filter(action="credentials.reveal").count() == 1


def test_a_lost_answer_can_be_had_again_with_its_key(api: ApiClient, active: Cluster):
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    first = api.post(f"/clusters/{active.id}/credentials/reveal", **headers)
    assert api.post(f"/clusters/{active.id}/credentials/reveal", **headers).json() == first.json()


def test_it_is_not_shown_before_the_cluster_is_active(api: ApiClient, creating: Cluster):
    answer = api.post(f"/clusters/{creating.id}/credentials/reveal")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "operation_in_progress")


@pytest.mark.parametrize("verb", ["reveal", "rotate"])
def test_nothing_is_left_to_show_of_a_deleted_cluster(api: ApiClient, deleted: Cluster, verb: str):
    answer = api.post(f"/clusters/{deleted.id}/credentials/{verb}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_deleted")


@pytest.mark.parametrize("verb", ["reveal", "rotate"])
def test_a_viewer_may_neither_see_nor_set_it(tenant: Tenant, active: Cluster, verb: str):
    answer = tenant.api(tenant.member(Role.VIEWER)).post(f"/clusters/{active.id}/credentials/{verb}")
    assert answer.status_code == 403


def test_a_token_needs_the_scope(tenant: Tenant, active: Cluster):
    api = tenant.api(scopes=[Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE])
    answer = api.post(f"/clusters/{active.id}/credentials/reveal")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")


def test_a_new_password_is_shown_once_when_the_engine_has_it(api: ApiClient, active: Cluster):
    old = api.post(f"/clusters/{active.id}/credentials/reveal").json()["password"]
    answer = api.post(f"/clusters/{active.id}/credentials/rotate")
    assert answer.status_code == 202
    assert answer.json()["operation"]["kind"] == "rotate_credentials"
    assert queries.secret(active.id, SecretPurpose.ADMIN_PASSWORD).decode() == old
    waiting = api.post(f"/clusters/{active.id}/credentials/reveal")
    assert waiting.json()["error"]["code"] == "operation_in_progress"

    expected = queries.secret(active.id, SecretPurpose.NEXT_ADMIN_PASSWORD).decode()
    finish_operations()
    lifecycle.credentials_rotated(active.id)
    lifecycle.credentials_rotated(active.id)
    revealed = api.post(f"/clusters/{active.id}/credentials/reveal").json()["password"]
    assert revealed == expected != old
    assert not Secret.objects.filter(purpose=SecretPurpose.NEXT_ADMIN_PASSWORD).exists()


def test_a_cancelled_rotation_forgets_the_new_password(api: ApiClient, active: Cluster):
    old = queries.secret(active.id, SecretPurpose.ADMIN_PASSWORD)
    api.post(f"/clusters/{active.id}/credentials/rotate")
    finish_operations()
    lifecycle.credentials_rotation_cancelled(active.id)
    lifecycle.credentials_rotated(active.id)
    assert queries.secret(active.id, SecretPurpose.ADMIN_PASSWORD) == old


def test_two_rotations_do_not_run_at_once(api: ApiClient, active: Cluster):
    api.post(f"/clusters/{active.id}/credentials/rotate")
    answer = api.post(f"/clusters/{active.id}/credentials/rotate")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "operation_in_progress")


def test_it_cannot_be_set_while_the_cluster_is_made(api: ApiClient, creating: Cluster):
    assert api.post(f"/clusters/{creating.id}/credentials/rotate").status_code == 409
