"""Asking an identity provider who somebody is: OpenID Connect's authorization code with PKCE, state and nonce.

The protocol is Authlib's. What is here says what is asked, and what of an answer is believed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client.errors import MismatchingStateError
from authlib.integrations.django_client import DjangoOAuth2App, OAuth
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from joserfc.errors import JoseError
from requests import RequestException

from backend.accounts.models import IdentityProvider
from backend.accounts.provider_actions import client_secret

log = structlog.get_logger(__name__)

TIMEOUT = 10
"""Seconds, for each call to a provider."""
LEEWAY = 60
"""Seconds that the provider's clock may differ."""
# By a key of the provider's only: neither unsigned nor by a secret that we share.
_ALGORITHMS = {f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)} | {"EdDSA", "Ed25519"}
_MULTIPLE = "mfa"
"""Of ``amr`` (RFC 8176)."""


class SignInRefused(Exception):
    """``code`` is for the sign-in page, which has words for each."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code


@dataclass(frozen=True)
class Person:
    """What a provider says of somebody. ``email`` is an address that it may speak for and has verified, else ""."""

    subject: str
    email: str
    name: str
    groups: frozenset[str]
    has_second_factor: bool


def begin(request: HttpRequest, provider: IdentityProvider, *, redirect_uri: str, return_to: str) -> str:
    """Where to send the browser. What the answer is checked by is kept in its session. Raises SignInRefused."""
    try:
        client = _client(provider)
        made = client.create_authorization_url(redirect_uri)
    except _FAILURES as error:
        raise _failed(provider, error) from error
    client.save_authorize_data(request, redirect_uri=redirect_uri, return_to=return_to, **made)
    return str(made["url"])


def return_path(request: HttpRequest, provider: IdentityProvider) -> str:
    """Where this browser wanted to go; "" when it did not begin here."""
    known = OAuth.framework_integration_cls(provider.id).get_state_data(request.session, request.GET.get("state"))
    return str(known["return_to"]) if known else ""


def complete(request: HttpRequest, provider: IdentityProvider) -> Person:
    """Who came back, from the code that they brought. Raises SignInRefused."""
    try:
        client = _client(provider)
        _check_sender(request, provider, client.server_metadata)
        token = client.authorize_access_token(
            request,
            leeway=LEEWAY,
            claims_options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
                "sub": {"essential": True},
            },
        )
        claims = dict(token.get("userinfo") or {})
        if not claims:
            raise SignInRefused("provider_failed", "it sent no id token")
        claims = _with_userinfo(client, token, claims)
    except MismatchingStateError as error:
        raise SignInRefused("not_begun_here", str(error)) from error
    except _FAILURES as error:
        raise _failed(provider, error) from error
    return _person(provider, claims)


_FAILURES = (AuthlibBaseError, JoseError, RequestException, RuntimeError, ValueError, KeyError, TypeError)
"""What a provider's answers, or none, can lead to. The library reads them as if they were well formed."""


def _client(provider: IdentityProvider) -> DjangoOAuth2App:
    client = OAuth().register(
        name=provider.id,
        client_id=provider.client_id,
        client_secret=client_secret(provider),
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": provider.scopes, "code_challenge_method": "S256", "default_timeout": TIMEOUT},
    )
    metadata = client.load_server_metadata()
    if metadata.get("issuer") != provider.issuer:
        raise SignInRefused("provider_failed", f"it calls itself {metadata.get('issuer')}, not {provider.issuer}")
    usable = _ALGORITHMS.intersection(metadata.get("id_token_signing_alg_values_supported") or ["RS256"])
    metadata["id_token_signing_alg_values_supported"] = sorted(usable)
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if "client_secret_basic" not in methods:
        client.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"
    return client


def check(provider: IdentityProvider) -> None:
    """Whether it is there and calls itself so. Raises SignInRefused."""
    try:
        _client(provider)
    except _FAILURES as error:
        raise _failed(provider, error) from error


def _check_sender(request: HttpRequest, provider: IdentityProvider, metadata: Mapping[str, Any]) -> None:
    """RFC 9207: the answer names who sent it, where the provider does so."""
    sender = request.GET.get("iss")
    if sender is None and not metadata.get("authorization_response_iss_parameter_supported"):
        return
    if sender != provider.issuer:
        raise SignInRefused("provider_failed", "the answer names another issuer")


def _with_userinfo(client: DjangoOAuth2App, token: Mapping[str, Any], claims: dict[str, Any]) -> dict[str, Any]:
    """Some providers tell address and groups only when they are asked; what is signed goes before."""
    if "userinfo_endpoint" not in client.server_metadata:
        return claims
    told = dict(client.userinfo(token=token))
    if told.get("sub") != claims["sub"]:
        raise SignInRefused("provider_failed", "it tells of somebody else than it signed for")
    return told | claims


def _person(provider: IdentityProvider, claims: Mapping[str, Any]) -> Person:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= 255 or "\x00" in subject:
        raise SignInRefused("provider_failed", "the subject is none")
    name = claims.get("name")
    return Person(
        subject=subject,
        email=_email(provider, claims),
        name=_line(name)[:100] if isinstance(name, str) else "",
        groups=_groups(provider, claims),
        has_second_factor=has_second_factor(provider, claims),
    )


def has_second_factor(provider: IdentityProvider, claims: Mapping[str, Any]) -> bool:
    """Whether this sign-in took more than a password: the provider says so, or the operator says it of the provider."""
    methods = claims.get("amr")
    return provider.second_factor or (isinstance(methods, list) and _MULTIPLE in methods)


def _email(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    """In lower case; "" for one that is not verified, or not of the provider's domains."""
    email = claims.get("email")
    # Some send words for it.
    if not isinstance(email, str) or claims.get("email_verified") not in (True, "true") or len(email) > 254:
        return ""
    email = email.lower()
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email if email.isascii() and email.rpartition("@")[2] in provider.email_domains else ""


def _groups(provider: IdentityProvider, claims: Mapping[str, Any]) -> frozenset[str]:
    """Raises SignInRefused where the provider left them out because there are too many: nobody loses access by that."""
    elsewhere = claims.get("_claim_names")
    if isinstance(elsewhere, dict) and provider.groups_claim in elsewhere:
        raise SignInRefused("too_many_groups")
    found = claims.get(provider.groups_claim) or []
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(each for each in names if isinstance(each, str) and 0 < len(each) <= 255 and "\x00" not in each)


def _line(text: str) -> str:
    return "".join(each for each in text if each.isprintable()).strip()


def _failed(provider: IdentityProvider, error: BaseException) -> SignInRefused:
    # Authlib's errors name claims and codes of the standard; what a provider writes besides is not taken over.
    code = getattr(error, "error", "") or type(error).__name__
    return SignInRefused("provider_refused" if code == "access_denied" else "provider_failed", str(code)[:100])
