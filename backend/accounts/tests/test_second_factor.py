"""A second factor: set up, asked for at the sign-in, taken away, reset; and what strangers and thieves get of it."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test import Client

from backend.accounts import second_factor
from backend.accounts.models import ConsoleSession, FactorSecret, Membership
from backend.accounts.sign_in import SignInAdapter
from backend.accounts.states import Permission, Role
from backend.accounts.tests.test_get_session import sign_in
from backend.accounts.tests.test_sessions import browser, signed_in
from backend.audit.models import AuditRecord
from backend.conftest import PASSWORD, ApiClient, Tenant

OWN = "/_allauth/browser/v1/"
SECOND = "auth/2fa/authenticate"
TOTP = "account/authenticators/totp"
CODES = "account/authenticators/recovery-codes"


def now() -> int:
    return int(time.time()) // second_factor.STEP_SECONDS


def send(api: ApiClient, method: str, path: str, body: object = None) -> Any:
    return api.client.generic(
        method,
        OWN + path,
        b"" if body is None else json.dumps(body).encode(),
        content_type="application/json",
        headers=api.headers,
    )


def set_up(api: ApiClient) -> tuple[str, list[str]]:
    """The secret and the recovery codes. The code of two steps ago is used up, so that later ones are good."""
    begun = send(api, "PUT", TOTP)
    assert begun.status_code == 200, begun.content
    secret = begun.json()["data"]["secret"]
    done = send(api, "POST", TOTP, {"code": second_factor.totp_code(secret, now() - 1)})
    assert done.status_code == 200, done.content
    return secret, done.json()["data"]["recovery_codes"]


def second_step(api: ApiClient, code: str) -> Any:
    return send(api, "POST", SECOND, {"code": code})


def half(email: str) -> ApiClient:
    answer, api = sign_in(email)
    assert answer.status_code == 401, answer.content
    return api


def actions(tenant: Tenant) -> list[str]:
    return list(
        AuditRecord.objects.filter(organisation=tenant.organisation, action__startswith="second_factor")
        .order_by("id")
        .values_list("action", flat=True)
    )


def test_codes_are_those_of_the_rfc(monkeypatch):
    """RFC 6238, appendix B, whose eight digits end in our six."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    for at, code in ((59, "287082"), (1111111109, "081804"), (20000000000, "353130")):
        assert second_factor.totp_code(secret, at // 30) == code


def test_a_sign_in_takes_the_second_step_and_is_nobodys_before(tenant: Tenant):
    secret, _ = set_up(browser(tenant.owner.email))
    written = AuditRecord.objects.count()
    api = half(tenant.owner.email)
    kept = ConsoleSession.objects.count()
    assert not signed_in(api)
    assert api.get("/session").json()["authenticated"] is False
    for method, path in (("GET", "account/authenticators"), ("PUT", TOTP), ("DELETE", TOTP), ("POST", CODES)):
        assert send(api, method, path).status_code == 401
    assert ConsoleSession.objects.count() == kept
    assert AuditRecord.objects.count() == written

    key = api.client.cookies["ringmaster_session"].value
    assert second_step(api, second_factor.totp_code(secret, now())).status_code == 200
    assert signed_in(api)
    assert api.client.cookies["ringmaster_session"].value != key  # whoever planted or saw the first one has nothing
    assert not Session.objects.filter(session_key=key).exists()
    session = api.get("/session").json()
    assert (session["second_factor"], session["second_factor_needed"]) == (True, False)
    record = AuditRecord.objects.latest("id")
    assert (record.action, record.after) == ("sign_in", {"second_factor": "totp"})


def test_a_code_is_good_once(tenant: Tenant):
    secret, _ = set_up(browser(tenant.owner.email))
    code = second_factor.totp_code(secret, now())
    assert second_step(half(tenant.owner.email), f"{code[:3]} {code[3:]}").status_code == 200
    late = half(tenant.owner.email)
    again = second_step(late, code)
    assert (again.status_code, again.json()["errors"][0]["code"]) == (400, "incorrect_code")
    # Nor is an older one, which nobody used.
    assert second_step(late, second_factor.totp_code(secret, now() - 1)).status_code == 400
    assert not signed_in(late)
    assert AuditRecord.objects.filter(action="sign_in.failed", after={"reason": "second_factor"}).count() == 2


def test_the_code_that_set_it_up_does_not_sign_in(tenant: Tenant):
    secret, _ = set_up(browser(tenant.owner.email))
    assert second_step(half(tenant.owner.email), second_factor.totp_code(secret, now() - 1)).status_code == 400


@pytest.mark.django_db(transaction=True)
def test_of_two_who_send_one_code_at_once_one_gets_in(tenant: Tenant):
    secret, codes = set_up(browser(tenant.owner.email))
    for code in (second_factor.totp_code(secret, now()), codes[0]):
        waiting = [half(tenant.owner.email) for _ in range(4)]

        def enter(api: ApiClient, code: str = code) -> int:
            try:
                return int(second_step(api, code).status_code)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(enter, waiting)) == [200, 400, 400, 400]


def test_a_recovery_code_is_in_its_place_once(tenant: Tenant):
    _, codes = set_up(browser(tenant.owner.email))
    assert len(set(codes)) == 10
    api = half(tenant.owner.email)
    assert second_step(api, codes[3]).status_code == 200
    factors = send(api, "GET", "account/authenticators").json()["data"]
    assert factors["recovery_codes"]["unused"] == 9
    assert codes[0] not in str(factors)
    assert second_step(half(tenant.owner.email), codes[3]).status_code == 400


def test_codes_of_somebody_else_are_no_good(tenant: Tenant, stranger: Tenant):
    set_up(browser(tenant.owner.email))
    secret, codes = set_up(browser(stranger.owner.email))
    api = half(tenant.owner.email)
    for code in (second_factor.totp_code(secret, now()), codes[0], "", "١٢٣٤٥٦", "x" * 200):
        assert second_step(api, code).status_code == 400
    assert not signed_in(api)


def test_a_secret_moved_to_another_persons_factor_does_not_open(tenant: Tenant, stranger: Tenant):
    set_up(browser(tenant.owner.email))
    secret, codes = set_up(browser(stranger.owner.email))
    for mine in Authenticator.objects.filter(user=tenant.owner):
        other = Authenticator.objects.get(user=stranger.owner, type=mine.type)
        Authenticator.objects.filter(id=mine.id).update(data=other.data)
    api = half(tenant.owner.email)
    for code in (second_factor.totp_code(secret, now()), codes[0]):
        assert second_step(api, code).status_code == 500
    FactorSecret.objects.filter(user=stranger.owner).update(user=tenant.owner)
    assert second_step(api, second_factor.totp_code(secret, now())).status_code == 500
    assert not signed_in(api)


def test_the_second_step_belongs_to_who_sent_the_password_there(tenant: Tenant, stranger: Tenant):
    secret, _ = set_up(browser(tenant.owner.email))
    foreign, _ = set_up(browser(stranger.owner.email))
    nobody = ApiClient()
    nobody.headers = {"X-CSRFToken": nobody.client.get("/api/v1/session").json()["csrf_token"]}
    assert second_step(nobody, second_factor.totp_code(secret, now())).status_code == 401
    # Whoever begins anew is who they began as last.
    api = half(tenant.owner.email)
    _, api = sign_in(stranger.owner.email, client=api.client)
    assert second_step(api, second_factor.totp_code(secret, now())).status_code == 400
    assert second_step(api, second_factor.totp_code(foreign, now())).status_code == 200
    assert api.get("/session").json()["user"]["email"] == stranger.owner.email


def test_tries_are_limited_and_signing_in_anew_does_not_help(tenant: Tenant):
    secret, _ = set_up(browser(tenant.owner.email))
    for _ in range(10):
        assert second_step(half(tenant.owner.email), "000000").status_code == 400
    answer = second_step(half(tenant.owner.email), second_factor.totp_code(secret, now()))
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "too_many_login_attempts")


def test_neither_the_database_nor_what_is_shown_later_has_a_secret_in_plain(tenant: Tenant):
    api = browser(tenant.owner.email)
    pending = send(api, "PUT", TOTP).json()["data"]["secret"]
    written = [str(each.get_decoded()) for each in Session.objects.all()]
    assert pending not in str(written)
    secret, codes = set_up(api)
    with connection.cursor() as cursor:
        for table in ("mfa_authenticator", "accounts_factorsecret", "audit_auditrecord", "core_cache"):
            cursor.execute(f"SELECT t::text FROM {table} t")
            text = str(cursor.fetchall())
            assert not any(each in text for each in (secret, *codes)), table
    assert secret not in str([each.get_decoded() for each in Session.objects.all()])
    # One for the app and one for the codes: what was begun and not confirmed has gone.
    assert FactorSecret.objects.count() == 2
    assert not re.search(secret, send(api, "GET", "account/authenticators").content.decode())


def test_a_wrong_code_sets_nothing_up(tenant: Tenant):
    api = browser(tenant.owner.email)
    assert send(api, "POST", TOTP, {"code": "123456"}).status_code == 409
    secret = send(api, "PUT", TOTP).json()["data"]["secret"]
    code = second_factor.totp_code(secret, now() + 5)
    answer = send(api, "POST", TOTP, {"code": code})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "code_not_right")
    assert not Authenticator.objects.exists()
    assert sign_in(tenant.owner.email)[0].status_code == 200


def test_setting_up_removing_and_new_codes_are_in_the_log_of_every_organisation(tenant: Tenant, stranger: Tenant):
    Membership.objects.create(organisation=stranger.organisation, user=tenant.owner, role=Role.VIEWER)
    api = browser(tenant.owner.email)
    _, codes = set_up(api)
    fresh = send(api, "POST", CODES).json()["data"]["recovery_codes"]
    assert not set(fresh) & set(codes)
    assert second_step(half(tenant.owner.email), codes[0]).status_code == 400
    assert second_step(half(tenant.owner.email), fresh[0]).status_code == 200
    assert send(api, "PUT", TOTP).json()["error"]["code"] == "second_factor_exists"
    assert send(api, "DELETE", TOTP).status_code == 200
    assert send(api, "DELETE", TOTP).json()["error"]["code"] == "no_second_factor"
    assert send(api, "POST", CODES).json()["error"]["code"] == "no_second_factor"
    assert not Authenticator.objects.exists()
    assert not FactorSecret.objects.exists()
    for each in (tenant, stranger):
        assert actions(each) == ["second_factor.add", "second_factor.new_codes", "second_factor.remove"]
    assert sign_in(tenant.owner.email)[0].status_code == 200


def test_a_change_ends_the_other_sessions_and_renews_the_key_of_its_own(tenant: Tenant):
    here, lost = browser(tenant.owner.email), browser(tenant.owner.email)
    stolen = Client(headers={})
    stolen.cookies["ringmaster_session"] = here.client.cookies["ringmaster_session"].value
    assert stolen.get("/api/v1/organisation").status_code == 200
    secret, _ = set_up(here)
    assert signed_in(here)
    assert not signed_in(lost)
    assert stolen.get("/api/v1/organisation").status_code == 401
    assert [each["current"] for each in here.get("/sessions").json()["items"]] == [True]

    other = half(tenant.owner.email)
    second_step(other, second_factor.totp_code(secret, now()))
    assert signed_in(other)
    assert send(here, "DELETE", TOTP).status_code == 200
    assert (signed_in(here), signed_in(other)) == (True, False)


def later(monkeypatch, seconds: int) -> None:
    real = time.time
    monkeypatch.setattr("backend.accounts.second_factor_views.time.time", lambda: real() + seconds)


def test_an_old_session_changes_nothing_without_the_password(tenant: Tenant, monkeypatch):
    here = browser(tenant.owner.email)
    set_up(here)
    with monkeypatch.context() as patch:
        later(patch, 301)
        for method, path in (("PUT", TOTP), ("POST", TOTP), ("DELETE", TOTP), ("POST", CODES)):
            answer = send(here, method, path, {"code": "1"})
            assert answer.status_code == 401
            assert answer.json()["meta"]["is_authenticated"] is True
    assert Authenticator.objects.count() == 2
    session = here.client.session
    records = [each | {"at": each["at"] - 3600} for each in session["account_authentication_methods"]]
    session["account_authentication_methods"] = records
    session.save()
    assert send(here, "DELETE", TOTP).status_code == 401
    assert send(here, "POST", "auth/reauthenticate", {"password": "wrong password"}).status_code == 400
    assert AuditRecord.objects.get(action="sign_in.failed").after == {"reason": "password"}
    assert send(here, "DELETE", TOTP).status_code == 401
    assert send(here, "POST", "auth/reauthenticate", {"password": PASSWORD}).status_code == 200
    assert send(here, "DELETE", TOTP).status_code == 200


def test_the_password_is_not_tried_without_end(tenant: Tenant):
    here = browser(tenant.owner.email)
    answers = [send(here, "POST", "auth/reauthenticate", {"password": "wrong"}) for _ in range(12)]
    assert "too_many_login_attempts" in answers[-1].content.decode() or answers[-1].status_code == 429
    assert send(here, "POST", "auth/reauthenticate", {"password": PASSWORD}).status_code in {400, 429}


def test_writes_need_the_csrf_token(tenant: Tenant):
    here = browser(tenant.owner.email)
    here.headers = {}
    for method, path in (("PUT", TOTP), ("POST", TOTP), ("DELETE", TOTP), ("POST", CODES), ("POST", SECOND)):
        assert send(here, method, path).status_code == 403


def test_a_program_has_none_of_it(tenant: Tenant):
    api = tenant.api()
    assert send(api, "GET", "account/authenticators").status_code == 401


# Resetting


def test_an_administrator_resets_a_members(tenant: Tenant):
    admin, member = tenant.member(Role.ADMIN), tenant.member(Role.OPERATOR)
    theirs = browser(member.email)
    set_up(theirs)
    path = f"/members/{tenant.membership(member).id}/second-factor"
    row = next(each for each in tenant.api(admin).get("/members").json()["items"] if each["user_id"] == member.id)
    assert row["second_factor"] is True
    assert {each["action"]: each["allowed"] for each in row["allowed_actions"]}["reset_member_second_factor"] is True
    assert tenant.api(admin).delete(path).status_code == 204
    assert not signed_in(theirs)
    assert not FactorSecret.objects.exists()
    answer, _ = sign_in(member.email)
    assert answer.status_code == 200
    assert actions(tenant)[-1] == "second_factor.reset"
    again = tenant.api(admin).delete(path)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "no_second_factor")


def test_nobody_resets_what_is_not_theirs_to(tenant: Tenant, stranger: Tenant):
    admin, operator = tenant.member(Role.ADMIN), tenant.member(Role.OPERATOR)
    for user in (tenant.owner, admin, operator):
        set_up(browser(user.email))

    def reset(api: ApiClient, user: Any) -> tuple[int, str]:
        answer = api.delete(f"/members/{tenant.membership(user).id}/second-factor")
        return answer.status_code, answer.json()["error"]["code"] if answer.content else ""

    assert reset(tenant.api(admin), tenant.owner) == (403, "not_allowed_for_owner")
    assert reset(tenant.api(operator), admin) == (403, "forbidden")
    assert reset(tenant.api(admin, scopes=[Permission.MEMBERS_READ]), operator) == (403, "missing_scope")
    assert reset(tenant.api(admin), admin) == (403, "not_yours_to_reset")
    assert reset(stranger.api(), operator) == (404, "member_not_found")
    # It guards more than this organisation: what they are elsewhere, and the installation.
    Membership.objects.create(organisation=stranger.organisation, user=operator, role=Role.OWNER)
    assert reset(tenant.api(), operator) == (403, "not_yours_to_reset")
    type(admin).objects.filter(id=admin.id).update(platform_admin=True)
    assert reset(tenant.api(), admin) == (403, "not_yours_to_reset")
    assert Authenticator.objects.count() == 6


def test_the_operator_resets_it_by_a_command(tenant: Tenant):
    here = browser(tenant.owner.email)
    set_up(here)
    call_command("reset_second_factor", tenant.owner.email.upper())
    assert not signed_in(here)
    assert sign_in(tenant.owner.email)[0].status_code == 200
    assert actions(tenant) == ["second_factor.add", "second_factor.reset"]
    for email in (tenant.owner.email, "nobody@acme.example"):
        with pytest.raises(CommandError, match="no person"):
            call_command("reset_second_factor", email)


# Required


def require_it(tenant: Tenant) -> None:
    type(tenant.organisation).objects.filter(id=tenant.organisation.id).update(second_factor_required=True)


def test_who_turns_it_on_has_one(tenant: Tenant):
    wanted = {"second_factor_required": True}
    here = browser(tenant.owner.email)
    for api in (here, tenant.api()):
        answer = api.patch("/organisation/access-settings", wanted)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_second_factor")
    assert here.get("/organisation/access-settings").json()["second_factor_required"] is False
    set_up(here)
    assert here.patch("/organisation/access-settings", wanted).json()["second_factor_required"] is True
    assert signed_in(here)
    record = AuditRecord.objects.get(action="organisation.change_access")
    assert (record.before, record.after) == ({"second_factor_required": False}, wanted)
    assert tenant.api().patch("/organisation/access-settings", {"second_factor_required": False}).status_code == 200
    # A token of who has one may, too.
    assert tenant.api().patch("/organisation/access-settings", wanted).status_code == 200


def test_who_has_none_gets_nothing_of_the_organisation_until_they_set_one_up(tenant: Tenant, stranger: Tenant):
    member = tenant.member(Role.OPERATOR)
    Membership.objects.create(organisation=stranger.organisation, user=member, role=Role.VIEWER)
    api, token = browser(member.email), tenant.api(member)
    require_it(tenant)
    mine = {"Ringmaster-Organisation": tenant.organisation.id}
    for answer in (
        api.get("/organisation", **mine),
        api.get("/members", **mine),
        api.post("/tokens", {"name": "t", "scopes": ["clusters:read"]}, **mine),
        api.get("/sessions", **mine),
        api.get("/events", **mine),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "second_factor_needed")
    assert api.get("/session", **mine).json()["second_factor_needed"] is True
    # The other organisation does not require it, and programs go on.
    assert api.get("/organisation", **{"Ringmaster-Organisation": stranger.organisation.id}).status_code == 200
    assert token.get("/organisation").status_code == 200
    assert token.get("/session").json()["second_factor_needed"] is False

    set_up(api)
    assert api.get("/organisation", **mine).status_code == 200
    assert send(api, "DELETE", TOTP).status_code == 200
    assert api.get("/organisation", **mine).status_code == 403


def test_it_costs_no_query(tenant: Tenant, django_assert_num_queries: Any):
    api = browser(tenant.owner.email)
    set_up(api)
    api.get("/organisation")
    with django_assert_num_queries(3):
        api.get("/organisation")
    require_it(tenant)
    with django_assert_num_queries(3):
        api.get("/organisation")


@pytest.mark.parametrize("counts", [False, True])
def test_a_provider_counts_if_it_or_the_operator_says_so(tenant: Tenant, monkeypatch, counts: bool):
    def told(self: Any, request: Any, user: Any, **kwargs: Any) -> None:
        second_factor.note_provider(request, user, second_factor=counts)

    monkeypatch.setattr(SignInAdapter, "pre_login", told)
    require_it(tenant)
    _, api = sign_in(tenant.owner.email)
    assert signed_in(api) is counts
