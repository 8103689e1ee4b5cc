from datetime import timedelta

from django.utils import timezone

from backend.accounts.models import Invitation, User
from backend.accounts.states import Role
from backend.accounts.tests.test_get_session import sign_in
from backend.audit.models import AuditRecord
from backend.conftest import PASSWORD, ApiClient, Tenant

NEW_PASSWORD = "a long enough pass phrase"


def invite(tenant: Tenant, email: str = "new@acme.example", role: str = "operator"):
    answer = tenant.api().post("/invitations", {"email": email, "role": role})
    assert answer.status_code == 201, answer.content
    return answer.json(), answer.json()["url"].rpartition("#")[2]


def test_it_makes_a_link_that_is_shown_once_and_stored_as_a_hash(tenant: Tenant):
    invitation, secret = invite(tenant)
    assert invitation["state"] == "open"
    assert invitation["created_by"] == tenant.owner.email
    assert len(secret) >= 40
    listed = tenant.api().get("/invitations").json()["items"]
    assert listed == [{k: v for k, v in invitation.items() if k != "url"}]
    assert secret not in str(list(Invitation.objects.values())) + str(list(AuditRecord.objects.values()))


def test_it_says_what_a_link_offers(tenant: Tenant):
    _, secret = invite(tenant)
    offer = ApiClient().get(f"/invitations/by-secret/{secret}").json()
    assert offer["organisation_name"] == "Acme"
    assert offer["email"] == "new@acme.example"
    assert offer["has_account"] is False


def test_a_new_person_accepts_and_signs_in(tenant: Tenant):
    _, secret = invite(tenant)
    answer = ApiClient().post("/invitations/accept", {"secret": secret, "name": "New", "password": NEW_PASSWORD})
    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "email": "new@acme.example",
        "organisation": {"id": tenant.organisation.id, "name": "Acme"},
    }
    _, api = sign_in("new@acme.example", NEW_PASSWORD)
    assert api.get("/session").json()["role"] == "operator"
    assert AuditRecord.objects.filter(action="invitation.accept", actor="new@acme.example").exists()


def test_a_link_works_once(tenant: Tenant):
    _, secret = invite(tenant)
    body = {"secret": secret, "name": "New", "password": NEW_PASSWORD}
    assert ApiClient().post("/invitations/accept", body).status_code == 200
    answer = ApiClient().post("/invitations/accept", body)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "invitation_not_found"


def test_an_existing_account_must_prove_its_password(tenant: Tenant, stranger: Tenant):
    _, secret = invite(tenant, stranger.owner.email.upper())
    answer = ApiClient().post("/invitations/accept", {"secret": secret, "password": "not the password"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "wrong_password"
    answer = ApiClient().post("/invitations/accept", {"secret": secret, "password": PASSWORD})
    assert answer.status_code == 200
    assert tenant.membership(stranger.owner).role == Role.OPERATOR
    assert User.objects.count() == 2


def test_passwords_cannot_be_guessed_through_a_link(tenant: Tenant, stranger: Tenant):
    _, secret = invite(tenant, stranger.owner.email)
    answers = [ApiClient().post("/invitations/accept", {"secret": secret, "password": f"guess {n}"}) for n in range(11)]
    assert answers[-1].status_code == 429
    assert answers[-1]["Retry-After"] == "300"


def test_it_refuses_a_weak_password_and_leaves_nothing_behind(tenant: Tenant):
    _, secret = invite(tenant)
    answer = ApiClient().post("/invitations/accept", {"secret": secret, "name": "New", "password": "short"})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "password"
    assert not User.objects.filter(email="new@acme.example").exists()
    assert ApiClient().get(f"/invitations/by-secret/{secret}").status_code == 200


def test_an_expired_or_revoked_link_is_useless(tenant: Tenant):
    invitation, secret = invite(tenant)
    assert tenant.api().delete(f"/invitations/{invitation['id']}").status_code == 204
    assert ApiClient().get(f"/invitations/by-secret/{secret}").status_code == 404
    assert tenant.api().delete(f"/invitations/{invitation['id']}").status_code == 409
    _, secret = invite(tenant)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ApiClient().get(f"/invitations/by-secret/{secret}").status_code == 404
    invite(tenant)  # an expired one does not stand in the way


def test_one_open_invitation_per_person_and_none_for_members(tenant: Tenant):
    invite(tenant)
    again = tenant.api().post("/invitations", {"email": "New@acme.example", "role": "viewer"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_invited")
    member = tenant.api().post("/invitations", {"email": tenant.owner.email, "role": "viewer"})
    assert (member.status_code, member.json()["error"]["code"]) == (409, "already_member")


def test_nobody_invites_above_their_own_role(tenant: Tenant):
    admin = tenant.member(Role.ADMIN)
    answer = tenant.api(admin).post("/invitations", {"email": "x@acme.example", "role": "owner"})
    assert answer.json()["error"]["code"] == "role_above_own"
    viewer = tenant.member(Role.VIEWER)
    assert tenant.api(viewer).post("/invitations", {"email": "x@acme.example", "role": "viewer"}).status_code == 403


def test_it_refuses_what_is_not_an_address(tenant: Tenant):
    answer = tenant.api().post("/invitations", {"email": "nobody", "role": "viewer"})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "email"


def test_another_organisations_invitation_answers_404(tenant: Tenant, stranger: Tenant):
    invitation, _ = invite(tenant)
    assert stranger.api().get("/invitations").json()["items"] == []
    assert stranger.api().delete(f"/invitations/{invitation['id']}").status_code == 404
