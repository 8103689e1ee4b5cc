from django.test import Client

from backend.accounts.models import Membership
from backend.accounts.states import PLATFORM, Permission, Role
from backend.conftest import PASSWORD, ApiClient, Tenant


def sign_in(email: str, password: str = PASSWORD, *, client: Client | None = None):
    """Signs in as the console does; gives the answer and a client with session and CSRF token."""
    client = client or Client(enforce_csrf_checks=True, raise_request_exception=False)
    token = client.get("/api/v1/session").json()["csrf_token"]
    answer = client.post(
        "/_allauth/browser/v1/auth/login",
        {"email": email, "password": password},
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )
    session = client.get("/api/v1/session").json()
    return answer, ApiClient(client=client, **{"X-CSRFToken": session["csrf_token"]})


def test_it_says_nobody_is_signed_in_and_sets_the_csrf_cookie(db):
    answer = Client().get("/api/v1/session")
    assert answer.status_code == 200
    assert answer.json()["authenticated"] is False
    assert answer.json()["user"] is None
    assert "ringmaster_csrf" in answer.cookies


def test_it_describes_the_signed_in_member(tenant: Tenant):
    _, api = sign_in(tenant.owner.email)
    session = api.get("/session").json()
    assert session["authenticated"] is True
    assert session["user"] == {"id": tenant.owner.id, "email": "owner@acme.example", "name": "Owner"}
    assert session["organisation"]["slug"] == "acme"
    assert session["role"] == "owner"
    assert set(session["permissions"]) == set(Permission) - PLATFORM


def test_it_chooses_the_organisation_named_in_the_header(tenant: Tenant, stranger: Tenant):
    Membership.objects.create(organisation=stranger.organisation, user=tenant.owner, role=Role.VIEWER)
    _, api = sign_in(tenant.owner.email)
    session = api.get("/session", **{"Ringmaster-Organisation": stranger.organisation.id}).json()
    assert session["organisation"]["slug"] == "stranger"
    assert session["role"] == "viewer"
    assert [o["id"] for o in session["organisations"]] == [tenant.organisation.id, stranger.organisation.id]


def test_it_answers_404_for_an_organisation_that_is_not_mine(tenant: Tenant, stranger: Tenant):
    _, api = sign_in(tenant.owner.email)
    answer = api.get("/session", **{"Ringmaster-Organisation": stranger.organisation.id})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "organisation_not_found"


def test_it_describes_the_authority_of_a_token(tenant: Tenant):
    session = tenant.api(scopes=[Permission.CLUSTERS_READ]).get("/session").json()
    assert session["authenticated"] is True
    assert session["permissions"] == ["clusters:read"]


def test_it_refuses_a_wrong_token_instead_of_pretending_nobody_asked(db):
    answer = ApiClient(authorization="Bearer rmt_wrong").get("/session")
    assert answer.status_code == 401
