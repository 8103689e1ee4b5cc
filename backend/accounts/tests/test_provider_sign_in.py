"""Sign-in through an identity provider, with a real one."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.sessions.models import Session

from backend.accounts import provider_actions, second_factor
from backend.accounts.models import ConsoleSession, ExternalIdentity, IdentityProvider, Membership, User
from backend.accounts.tests.providers import Browser, RealProvider, known, real_provider
from backend.accounts.tests.test_get_session import sign_in as sign_in_by_password
from backend.accounts.tests.test_second_factor import now, require_it, second_step, set_up
from backend.audit.models import AuditRecord
from backend.conftest import Tenant

JANE = {"email": "jane@corp.example", "email_verified": True, "name": "Jane", "groups": ["dba"]}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProvider]:
    with real_provider(tmp_path_factory.mktemp("oidc")) as provider:
        yield provider


@pytest.fixture
def corp(process: RealProvider, db: None) -> IdentityProvider:
    process.people(jane=JANE)
    return known(process.issuer)


def through(process: RealProvider, corp: IdentityProvider, browser: Browser, who: str = "jane") -> Any:
    began = browser.start(corp)
    assert began.status_code == 200, began.content
    return browser.come_back(process.sign_in(began.json()["url"], who))


def test_somebody_new_gets_an_account_without_a_password_and_no_organisation(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    browser = Browser()
    answer = through(process, corp, browser)
    assert (answer.status_code, answer["Location"]) == (302, "/members")
    user = User.objects.get(email="jane@corp.example")
    assert (user.name, user.has_usable_password()) == ("Jane", False)
    session = browser.api.get("/session").json()
    assert session["authenticated"] is False
    assert session["without_organisation"] == {"id": user.id, "email": user.email, "name": "Jane"}
    assert browser.api.get("/members").json()["error"]["code"] == "no_organisation"
    assert ExternalIdentity.objects.get().groups == ["dba"]


def test_it_asks_with_pkce_state_and_nonce(process: RealProvider, corp: IdentityProvider):
    url = Browser().start(corp).json()["url"]
    for part in ("code_challenge_method=S256", "state=", "nonce=", "response_type=code", "scope=openid+email+profile"):
        assert part in url
    assert f"redirect_uri=http%3A%2F%2Ftestserver%2F_oidc%2F{corp.id}%2Fcallback" in url


def test_who_has_an_account_keeps_it_and_its_password_ends(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    tenant.owner.email = "jane@corp.example"
    tenant.owner.save()
    _, elsewhere = sign_in_by_password("jane@corp.example")
    browser = Browser()
    through(process, corp, browser)
    assert browser.api.get("/session").json()["user"]["id"] == tenant.owner.id
    tenant.owner.refresh_from_db()
    assert tenant.owner.has_usable_password() is False
    assert elsewhere.get("/organisation").status_code == 401
    record = AuditRecord.objects.filter(action="sign_in").latest("id")
    assert record.after == {"identity_provider": "Corp"}


def test_who_has_a_second_factor_here_is_asked_for_it_unless_the_provider_did(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    tenant.owner.email = "jane@corp.example"
    tenant.owner.save()
    first = Browser()
    through(process, corp, first)
    require_it(tenant)
    assert first.api.get("/organisation").json()["error"]["code"] == "second_factor_needed"
    secret, _ = set_up(first.api)

    browser = Browser()
    answer = through(process, corp, browser)
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in?second_step=true&return_to=%2Fmembers")
    assert browser.api.get("/organisation").status_code == 401
    assert second_step(browser.api, second_factor.totp_code(secret, now())).status_code == 200
    assert browser.api.get("/organisation").status_code == 200
    record = AuditRecord.objects.filter(action="sign_in").latest("id")
    assert record.after == {"identity_provider": "Corp", "second_factor": "totp"}

    IdentityProvider.objects.update(second_factor=True)
    browser = Browser()
    assert through(process, corp, browser)["Location"] == "/members"
    assert browser.api.get("/organisation").status_code == 200
    record = AuditRecord.objects.filter(action="sign_in").latest("id")
    assert record.after == {"identity_provider": "Corp", "second_factor": "provider"}


def test_who_is_signed_in_to_it_keeps_the_password(process: RealProvider, corp: IdentityProvider, tenant: Tenant):
    tenant.owner.email = "jane@corp.example"
    tenant.owner.save()
    _, api = sign_in_by_password("jane@corp.example")
    browser = Browser()
    browser.client = api.client
    browser.csrf = api.get("/session").json()["csrf_token"]
    through(process, corp, browser)
    tenant.owner.refresh_from_db()
    assert tenant.owner.has_usable_password() is True


def test_a_changed_address_moves_no_account(process: RealProvider, corp: IdentityProvider, tenant: Tenant):
    through(process, corp, Browser())
    tenant.owner.email = "boss@corp.example"
    tenant.owner.save()
    process.people(jane=JANE | {"email": "boss@corp.example"})
    browser = Browser()
    through(process, corp, browser)
    assert browser.api.get("/session").json()["without_organisation"]["email"] == "jane@corp.example"
    assert User.objects.count() == 2


def test_an_address_that_somebody_else_got_opens_no_account_until_it_is_unlinked(
    process: RealProvider, corp: IdentityProvider
):
    through(process, corp, Browser())
    process.people(jane2=JANE)
    assert (
        through(process, corp, Browser(), "jane2")["Location"]
        == "/sign-in?problem=address_of_another&return_to=%2Fmembers"
    )
    assert provider_actions.unlink(corp, "JANE@corp.example")
    assert through(process, corp, Browser(), "jane2")["Location"] == "/members"


@pytest.mark.parametrize(
    "changes",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email_verified": "false"},
        {"email_verified": 1.5},
        {"email": "jane@elsewhere.example"},
        {"email": "jane@corp.example.elsewhere.example"},
        {"email": "jane@sub.corp.example"},
        {"email": "owner@acme.example@corp.example"},
        {"email": None},
    ],
)
def test_an_address_that_is_not_verified_or_not_of_the_domains_gets_no_account(
    process: RealProvider, corp: IdentityProvider, changes: dict[str, Any]
):
    process.people(jane=JANE | changes)
    browser = Browser()
    answer = through(process, corp, browser)
    assert answer["Location"] == "/sign-in?problem=address_not_verified&return_to=%2Fmembers"
    assert not User.objects.exists()
    assert browser.api.get("/session").json()["without_organisation"] is None


def test_an_account_that_is_not_active_stays_closed(process: RealProvider, corp: IdentityProvider, tenant: Tenant):
    User.objects.filter(id=tenant.owner.id).update(email="jane@corp.example", is_active=False)
    assert "problem=account_inactive" in through(process, corp, Browser())["Location"]
    assert not ExternalIdentity.objects.exists()


def test_a_code_is_good_once_and_only_in_the_browser_that_began(process: RealProvider, corp: IdentityProvider):
    victim, thief = Browser(), Browser()
    back = process.sign_in(victim.start(corp).json()["url"], "jane")
    assert thief.come_back(back)["Location"] == "/sign-in?problem=not_begun_here"
    assert victim.come_back(back)["Location"] == "/members"
    assert victim.come_back(back)["Location"] == "/sign-in?problem=not_begun_here"
    # A state of their own does not help: the code is bound to the victim's proof (PKCE), and used.
    state = thief.start(corp).json()["url"].partition("state=")[2].partition("&")[0]
    code = back.partition("code=")[2].partition("&")[0]
    stolen = f"http://testserver/_oidc/{corp.id}/callback?code={code}&state={state}&iss={corp.issuer}"
    assert thief.come_back(stolen)["Location"].startswith("/sign-in?problem=provider_failed")
    assert thief.api.get("/session").json()["without_organisation"] is None


def test_a_session_lasts_as_long_as_the_provider_says(process: RealProvider, corp: IdentityProvider, tenant: Tenant):
    IdentityProvider.objects.update(session_hours=2)
    browser = Browser()
    through(process, corp, browser)
    session = Session.objects.get(session_key=ConsoleSession.objects.get().session_key)
    left = session.expire_date - ConsoleSession.objects.get().created_at
    assert 1.9 * 3600 < left.total_seconds() < 2.1 * 3600


def test_a_provider_that_is_disabled_signs_its_people_out_and_nobody_in(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    browser, late = Browser(), Browser()
    Membership.objects.create(
        organisation=tenant.organisation, user=User.objects.create(email="jane@corp.example"), role="viewer"
    )
    through(process, corp, browser)
    back = process.sign_in(late.start(corp).json()["url"], "jane")
    assert browser.api.get("/organisation").status_code == 200
    assert [each["name"] for each in browser.api.get("/session/identity-providers").json()["items"]] == ["Corp"]
    assert provider_actions.disable_provider(corp) == 1
    assert browser.api.get("/organisation").status_code == 401
    assert late.come_back(back).status_code == 404
    assert Browser().start(corp).status_code == 404
    assert browser.api.get("/session/identity-providers").json()["items"] == []
    provider_actions.enable_provider(corp)
    assert through(process, corp, Browser())["Location"] == "/members"


def test_a_browser_that_was_somebody_else_is_who_came_back(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    _, api = sign_in_by_password(tenant.owner.email)
    browser = Browser()
    browser.client = api.client
    browser.csrf = api.get("/session").json()["csrf_token"]
    through(process, corp, browser)
    assert browser.api.get("/session").json()["without_organisation"]["email"] == "jane@corp.example"
    assert ConsoleSession.objects.get(user__email="jane@corp.example").identity_provider == corp


def test_the_session_gets_another_key_at_sign_in(process: RealProvider, corp: IdentityProvider):
    browser = Browser()
    url = browser.start(corp).json()["url"]
    before = browser.client.cookies["ringmaster_session"].value
    browser.come_back(process.sign_in(url, "jane"))
    assert browser.client.cookies["ringmaster_session"].value != before
    assert not Session.objects.filter(session_key=before).exists()


@pytest.mark.parametrize(
    ("wanted", "arrives"),
    [
        ("/clusters?state=active", "/clusters?state=active"),
        ("https://evil.example/", "/clusters"),
        ("//evil.example/", "/clusters"),
        ("/\\evil.example/", "/clusters"),
        ("/\t/evil.example/", "/clusters"),
        ("javascript:alert(1)", "/clusters"),
        ("/sign-in", "/clusters"),
        ("/_oidc/x/start", "/clusters"),
        (7, "/clusters"),
        (None, "/clusters"),
    ],
)
def test_it_ends_on_a_page_of_the_console_only(
    process: RealProvider, corp: IdentityProvider, wanted: object, arrives: str
):
    browser = Browser()
    url = browser.start(corp, wanted).json()["url"]
    assert browser.come_back(process.sign_in(url, "jane"))["Location"] == arrives


def test_nobody_elses_page_begins_a_sign_in(process: RealProvider, corp: IdentityProvider):
    browser = Browser()
    answer = browser.start(corp, **{"X-CSRFToken": ""})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf_failed")
    assert browser.client.get(f"/_oidc/{corp.id}/start").status_code == 405


def test_beginnings_are_limited(process: RealProvider, corp: IdentityProvider):
    browser = Browser()
    answers = [browser.start(corp).status_code for _ in range(61)]
    assert answers[0] == 200
    assert answers[-1] == 429


def test_who_came_through_a_provider_accepts_an_invitation_without_a_password(
    process: RealProvider, corp: IdentityProvider, tenant: Tenant
):
    browser = Browser()
    through(process, corp, browser)
    made = tenant.api().post("/invitations", {"email": "jane@corp.example", "role": "operator"}).json()
    secret = made["url"].partition("#")[2]
    stranger = Browser().api.post("/invitations/accept", {"secret": secret})
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "sign_in_first")
    bare = browser.api
    bare.headers = {}
    assert bare.post("/invitations/accept", {"secret": secret}).json()["error"]["code"] == "csrf_failed"
    assert browser.api.post("/invitations/accept", {"secret": secret}).status_code == 200
    assert browser.api.get("/session").json()["role"] == "operator"


def test_the_secret_is_sealed(corp: IdentityProvider):
    assert b"a secret of tests only" not in bytes(corp.ciphertext)
    assert provider_actions.client_secret(corp) == "a secret of tests only"
