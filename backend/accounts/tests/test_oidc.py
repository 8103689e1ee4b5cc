"""Providers whose answers are not what they should be: nobody is signed in by them, and nothing is made."""

from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from backend.accounts import oidc
from backend.accounts.models import ExternalIdentity, IdentityProvider, User
from backend.accounts.tests.providers import CLIENT_ID, CLIENT_SECRET, Browser, LyingProvider, known, lying_provider
from backend.conftest import Tenant


def through(liar: LyingProvider, corp: IdentityProvider, **parameters: str) -> str:
    """Where the console sends a browser that came back."""
    browser = Browser()
    url = browser.start(corp).json()["url"]
    return str(browser.come_back(liar.send_back(url, **parameters))["Location"])


def refused(where: str, problem: str = "provider_failed") -> bool:
    return where.startswith(f"/sign-in?problem={problem}") and not User.objects.exists()


def test_what_is_as_it_should_be_signs_in(liar: LyingProvider, corp: IdentityProvider):
    assert through(liar, corp) == "/members"
    assert ExternalIdentity.objects.get().subject == "jane"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": None, "nonce_supported": False},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": ["another client", "and another"]},
        {"aud": None},
        {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
        {"exp": 1},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": 7},
        {"sub": ""},
        {"sub": "x" * 256},
        {"at_hash": "wrong"},
    ],
)
def test_an_id_token_with_a_wrong_claim_signs_nobody_in(
    liar: LyingProvider, corp: IdentityProvider, claims: dict[str, Any]
):
    liar.claims = claims
    assert refused(through(liar, corp))


def test_an_id_token_that_another_key_signed_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider):
    liar.signs_with = RSAKey.generate_key(2048)
    assert refused(through(liar, corp))


@pytest.mark.parametrize("algorithms", [["none"], ["RS256", "none"], None])
def test_an_id_token_without_a_signature_signs_nobody_in(
    liar: LyingProvider, corp: IdentityProvider, algorithms: list[str] | None
):
    liar.metadata = {"id_token_signing_alg_values_supported": algorithms}
    liar.header = {"alg": "none"}
    assert refused(through(liar, corp))


def test_an_id_token_that_a_shared_secret_signed_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider):
    liar.metadata = {"id_token_signing_alg_values_supported": ["HS256", "RS256"]}
    liar.header = {"alg": "HS256"}
    liar.signs_with = OctKey.import_key(CLIENT_SECRET)  # type: ignore[assignment]
    assert refused(through(liar, corp))


def test_an_answer_without_an_id_token_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider):
    liar.token = {"id_token": None}
    assert refused(through(liar, corp))


@pytest.mark.parametrize("token", [{"id_token": "nonsense"}, {"id_token": 7}, {"error": "invalid_grant"}])
def test_an_answer_that_is_none_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider, token: dict[str, Any]):
    liar.token = token
    assert refused(through(liar, corp))


def test_a_wrong_state_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider):
    assert refused(through(liar, corp, state="another"), "not_begun_here")


def test_an_answer_that_names_another_issuer_signs_nobody_in(liar: LyingProvider, corp: IdentityProvider):
    assert refused(through(liar, corp, iss="https://elsewhere.example"))
    liar.metadata = {"authorization_response_iss_parameter_supported": True}
    assert refused(through(liar, corp))
    assert through(liar, corp, iss=liar.issuer) == "/members"


def test_a_provider_that_calls_itself_otherwise_is_not_asked(liar: LyingProvider, corp: IdentityProvider):
    liar.metadata = {"issuer": "https://elsewhere.example"}
    answer = Browser().start(corp)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "identity_provider_unavailable")
    assert answer["Retry-After"] == "60"
    with pytest.raises(oidc.SignInRefused, match="calls itself"):
        oidc.check(corp)


def test_a_provider_that_is_away_is_said_to_be(db: None):
    away = known("http://127.0.0.1:9")
    assert Browser().start(away).json()["error"]["code"] == "identity_provider_unavailable"


def test_who_said_no_at_the_provider_is_told_so(liar: LyingProvider, corp: IdentityProvider):
    assert refused(through(liar, corp, error="access_denied"), "provider_refused")


def test_what_is_asked_for_tells_of_the_same_person_or_nobody(liar: LyingProvider, corp: IdentityProvider):
    liar.claims = {"email": None, "email_verified": None}
    liar.userinfo = {"sub": "boss", "email": "boss@corp.example", "email_verified": True}
    assert refused(through(liar, corp))
    liar.userinfo["sub"] = "jane"
    assert through(liar, corp) == "/members"


def test_what_is_signed_goes_before_what_is_asked_for(liar: LyingProvider, corp: IdentityProvider):
    liar.userinfo = {"sub": "jane", "email": "boss@corp.example", "email_verified": True}
    assert through(liar, corp) == "/members"
    assert User.objects.get().email == "jane@corp.example"


@pytest.mark.parametrize("groups", [7, {"a": 1}, [1, None, "x" * 256, "a\x00b", ""], ""])
def test_groups_that_are_none_are_left_out(liar: LyingProvider, corp: IdentityProvider, groups: object):
    liar.claims = {"groups": groups}
    assert through(liar, corp) == "/members"
    assert ExternalIdentity.objects.get().groups == []


def test_groups_that_are_elsewhere_because_they_are_too_many_refuse_the_sign_in(
    liar: LyingProvider, corp: IdentityProvider
):
    liar.claims = {"_claim_names": {"groups": "src1"}}
    assert refused(through(liar, corp), "too_many_groups")


@pytest.mark.parametrize(
    ("operator", "methods", "expected"),
    [
        (False, ["pwd"], False),
        (False, ["pwd", "mfa"], True),
        (False, None, False),
        (False, "mfa", False),
        (True, None, True),
    ],
)
def test_a_second_factor_is_what_the_provider_or_the_operator_says(operator: bool, methods: object, expected: bool):
    provider = IdentityProvider(second_factor=operator)
    assert oidc.has_second_factor(provider, {"amr": methods}) is expected


def test_what_a_liar_says_opens_no_other_providers_account(liar: LyingProvider, corp: IdentityProvider, tenant: Tenant):
    with lying_provider() as other:
        elsewhere = known(other.issuer, name="Elsewhere", email_domains=["elsewhere.example"])
        assert through(liar, corp) == "/members"
        assert "problem=address_not_verified" in through(other, elsewhere)
        other.claims = {"email": "jane@elsewhere.example"}
        assert through(other, elsewhere) == "/members"
    assert User.objects.filter(email__startswith="jane@").count() == 2
