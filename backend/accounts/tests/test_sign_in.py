from django.test import Client

from backend.accounts.tests.test_get_session import sign_in
from backend.audit.models import AuditRecord
from backend.conftest import Tenant


def test_it_signs_in_with_email_and_password(tenant: Tenant):
    answer, api = sign_in(tenant.owner.email)
    assert answer.status_code == 200
    assert api.get("/organisation").status_code == 200


def test_it_ignores_the_case_of_the_address(tenant: Tenant):
    answer, _ = sign_in(tenant.owner.email.upper())
    assert answer.status_code == 200


def test_it_refuses_a_wrong_password_and_writes_that_down(tenant: Tenant):
    answer, api = sign_in(tenant.owner.email, "wrong password")
    assert answer.status_code == 400
    assert api.get("/organisation").status_code == 401
    record = AuditRecord.objects.get()
    assert (record.action, record.actor) == ("sign_in.failed", tenant.owner.email)
    assert record.request_id


def test_it_writes_a_good_sign_in_down(tenant: Tenant):
    sign_in(tenant.owner.email)
    assert AuditRecord.objects.get().action == "sign_in"


def test_it_refuses_to_sign_in_without_the_csrf_token(tenant: Tenant):
    answer = Client(enforce_csrf_checks=True).post(
        "/_allauth/browser/v1/auth/login", {"email": "a@b.example", "password": "x"}, content_type="application/json"
    )
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "csrf_failed"


def test_it_limits_failed_tries_without_needing_redis(tenant: Tenant):
    answers = [sign_in(tenant.owner.email, "wrong password")[0] for _ in range(12)]
    assert answers[0].status_code == 400
    assert answers[-1].status_code in {400, 429}
    assert "too_many_login_attempts" in answers[-1].content.decode() or answers[-1].status_code == 429


def test_it_has_no_sign_up_and_no_password_reset(db):
    client = Client()
    for name in ("signup", "password/request", "code/request"):
        assert client.post(f"/_allauth/browser/v1/auth/{name}").status_code == 404


def test_it_signs_out(tenant: Tenant):
    _, api = sign_in(tenant.owner.email)
    answer = api.client.delete("/_allauth/browser/v1/auth/session", headers=api.headers)
    assert answer.status_code == 401  # allauth's way to say: nobody is signed in any more
    assert api.get("/organisation").status_code == 401


def test_a_session_ends_when_the_password_changes(tenant: Tenant):
    _, api = sign_in(tenant.owner.email)
    tenant.owner.set_password("another password entirely")
    tenant.owner.save()
    assert api.get("/organisation").status_code == 401


def test_a_session_must_send_its_csrf_token_to_write(tenant: Tenant):
    _, api = sign_in(tenant.owner.email)
    api.headers = {}
    answer = api.post("/tokens", {"name": "t", "scopes": ["clusters:read"]})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "csrf_failed"
