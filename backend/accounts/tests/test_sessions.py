"""People see where they are signed in and end that; administrators do so for members."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from backend.accounts import session_actions
from backend.accounts.models import ConsoleSession, Membership
from backend.accounts.states import Permission, Role
from backend.accounts.tests.test_get_session import sign_in
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant


def browser(email: str, agent: str = "Firefox") -> ApiClient:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False, headers={"User-Agent": agent})
    return sign_in(email, client=client)[1]


def sessions(api: ApiClient) -> list[dict[str, object]]:
    answer = api.get("/sessions")
    assert answer.status_code == 200, answer.content
    return list(answer.json()["items"])


def signed_in(api: ApiClient) -> bool:
    return bool(api.get("/organisation").status_code == 200)


def test_one_sees_ones_own_browsers_and_which_one_asks(tenant: Tenant, stranger: Tenant):
    browser(stranger.owner.email)
    browser(tenant.owner.email, "Chrome")
    here = browser(tenant.owner.email, "Fire\tfox" + "x" * 400)
    found = sessions(here)
    assert [(each["user_agent"], each["current"]) for each in found] == [
        (("Firefox" + "x" * 400)[:300], True),
        ("Chrome", False),
    ]
    assert found[0]["source_address"] == "127.0.0.1"
    keys = Session.objects.values_list("session_key", flat=True)
    assert not any(key in str(found) for key in keys)


def test_one_that_is_ended_is_nobodys_at_once(tenant: Tenant):
    here, lost = browser(tenant.owner.email), browser(tenant.owner.email, "lost laptop")
    assert signed_in(lost)
    other = next(each["id"] for each in sessions(here) if not each["current"])
    assert here.delete(f"/sessions/{other}").status_code == 204
    assert not signed_in(lost)
    assert signed_in(here)
    assert here.delete(f"/sessions/{other}").status_code == 404
    record = AuditRecord.objects.get(action="session.end")
    assert (record.actor, record.target_name) == (tenant.owner.email, tenant.owner.email)


def test_all_others_are_ended(tenant: Tenant, stranger: Tenant):
    here, first, second = (browser(tenant.owner.email) for _ in range(3))
    foreign = browser(stranger.owner.email)
    assert here.delete("/sessions").json() == {"ended": 2}
    assert [signed_in(api) for api in (here, first, second, foreign)] == [True, False, False, True]
    assert here.delete("/sessions").json() == {"ended": 0}
    assert AuditRecord.objects.filter(action="session.end").count() == 1


def test_who_signed_out_is_not_listed_and_what_is_left_of_it_goes(tenant: Tenant):
    gone, here = browser(tenant.owner.email), browser(tenant.owner.email)
    gone.client.delete("/_allauth/browser/v1/auth/session", headers=gone.headers)
    assert len(sessions(here)) == 1
    browser(tenant.owner.email)
    assert ConsoleSession.objects.count() == 2


def test_one_that_expired_is_not_listed(tenant: Tenant):
    browser(tenant.owner.email)
    Session.objects.update(expire_date=timezone.now())
    assert len(sessions(browser(tenant.owner.email))) == 1


def test_its_use_is_noted_about_once_a_minute(tenant: Tenant, monkeypatch):
    here = browser(tenant.owner.email)
    signed_in(here)
    old = timezone.now() - timedelta(hours=1)
    ConsoleSession.objects.update(last_used_at=old, source_address="10.0.0.1")
    signed_in(here)
    assert ConsoleSession.objects.get().last_used_at == old
    monkeypatch.setattr(session_actions, "_noted", {})
    signed_in(here)
    found = ConsoleSession.objects.get()
    assert found.last_used_at > old
    assert found.source_address == "127.0.0.1"


def test_an_administrator_sees_and_ends_those_of_members(tenant: Tenant):
    admin, member = tenant.member(Role.ADMIN), tenant.member(Role.OPERATOR)
    theirs = [browser(member.email), browser(member.email)]
    path = f"/members/{tenant.membership(member).id}/sessions"
    for api in (browser(admin.email), tenant.api(admin)):
        assert [each["current"] for each in api.get(path).json()["items"]] == [False, False]
    one, _ = ConsoleSession.objects.filter(user=member).order_by("id")
    assert tenant.api(admin).delete(f"/sessions/{one.id}").status_code == 204
    assert [signed_in(api) for api in theirs] == [False, True]
    assert tenant.api(admin).delete(path).json() == {"ended": 1}
    assert not signed_in(theirs[1])
    assert AuditRecord.objects.filter(action="session.end", target_name=member.email).count() == 2


def test_operators_and_tokens_without_the_scope_do_not(tenant: Tenant):
    member = tenant.member(Role.VIEWER)
    api = browser(member.email)
    path = f"/members/{tenant.membership(member).id}/sessions"
    found = ConsoleSession.objects.get()
    for other in (
        browser(tenant.member(Role.OPERATOR).email),
        tenant.api(scopes=[Permission.MEMBERS_READ]),
        tenant.api(member),
    ):
        assert other.get(path).status_code == 403
        assert other.delete(path).status_code == 403
        assert other.delete(f"/sessions/{found.id}").status_code == 404
    assert signed_in(api)


def test_an_administrator_does_not_end_those_of_owners(tenant: Tenant):
    owner = browser(tenant.owner.email)
    admin = tenant.api(tenant.member(Role.ADMIN))
    path = f"/members/{tenant.membership(tenant.owner).id}/sessions"
    for answer in (admin.delete(path), admin.delete(f"/sessions/{ConsoleSession.objects.get().id}")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed_for_owner")
    assert signed_in(owner)
    assert tenant.api(tenant.member(Role.OWNER, email="second@acme.example")).delete(path).json() == {"ended": 1}


def test_strangers_meet_nothing(tenant: Tenant, stranger: Tenant):
    theirs = browser(tenant.owner.email)
    found = ConsoleSession.objects.get()
    for api in (stranger.api(), browser(stranger.owner.email)):
        assert api.get(f"/members/{tenant.membership(tenant.owner).id}/sessions").status_code == 404
        assert api.delete(f"/members/{tenant.membership(tenant.owner).id}/sessions").status_code == 404
        assert api.delete(f"/sessions/{found.id}").status_code == 404
    assert signed_in(theirs)


def test_who_is_in_two_organisations_is_one_person(tenant: Tenant, stranger: Tenant):
    person = tenant.member(Role.VIEWER)
    Membership.objects.create(organisation=stranger.organisation, user=person, role=Role.OWNER)
    api = browser(person.email)
    path = f"/members/{tenant.membership(person).id}/sessions"
    assert tenant.api().delete(path).json() == {"ended": 1}
    assert not signed_in(api)
    # The other organisation is not told who is in this one.
    assert not AuditRecord.objects.filter(organisation=stranger.organisation, action="session.end").exists()


@pytest.mark.parametrize("method", ["get", "delete"])
def test_a_program_does_not_see_where_its_person_is_signed_in(tenant: Tenant, method: str):
    browser(tenant.owner.email)
    answer = getattr(tenant.api(), method)("/sessions")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "session_needed")
    assert ConsoleSession.objects.exists()


def test_a_token_ends_no_session_of_its_own_person_without_the_scope(tenant: Tenant):
    here = browser(tenant.owner.email)
    answer = tenant.api(scopes=[Permission.CLUSTERS_READ]).delete(f"/sessions/{ConsoleSession.objects.get().id}")
    assert answer.status_code == 404
    assert signed_in(here)


def test_an_answer_to_an_old_key_does_not_take_the_new_one_away(tenant: Tenant):
    here = browser(tenant.owner.email)
    cookie = here.client.cookies[settings.SESSION_COOKIE_NAME]
    key = cookie.value
    session = here.client.session
    session.cycle_key()
    session.save()
    late = here.get("/organisation")
    assert late.status_code == 401
    assert settings.SESSION_COOKIE_NAME not in late.cookies
    here.client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    assert session.session_key != key
    assert signed_in(here)


def test_signing_out_takes_the_cookie_back(tenant: Tenant):
    here = browser(tenant.owner.email)
    answer = here.client.delete("/_allauth/browser/v1/auth/session", headers=here.headers)
    assert answer.status_code == 401  # as allauth says that nobody is signed in
    assert answer.cookies[settings.SESSION_COOKIE_NAME]["max-age"] == 0
    assert not signed_in(here)
