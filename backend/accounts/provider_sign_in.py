"""Sign-in through an identity provider: a person is known by provider and subject, the first time by their address.

The browser is sent away by `start` and comes back to `callback`, which ends with a page of the console in any case.
"""

import json
from urllib.parse import urlencode

import structlog
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_login
from allauth.account.internal.stagekit import get_pending_stage
from allauth.account.models import Login
from allauth.core import ratelimit
from django.conf import settings
from django.contrib.auth import logout
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from backend.accounts import oidc
from backend.accounts.authentication import signed_in_user, source_address
from backend.accounts.group_members import follow_groups, groups_of
from backend.accounts.models import DirectoryUser, ExternalIdentity, IdentityProvider, User
from backend.accounts.oidc import Person, SignInRefused
from backend.accounts.second_factor import note_provider
from backend.accounts.session_actions import forget_password
from backend.accounts.sign_in import remember_provider
from backend.core.errors import DomainError, TooManyRequests, request_id_of

log = structlog.get_logger(__name__)

HOME = "/clusters"


@require_POST
def start(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where to send the browser. A POST with its CSRF token: nobody else's page begins a sign-in here."""
    provider = _provider(provider_id)
    if not ratelimit.consume(request, action="provider_sign_in"):
        raise TooManyRequests(
            "too_many_tries", "Too many sign-ins from here.", hint="Wait a minute and try again.", retry_after=60
        )
    try:
        url = oidc.begin(request, provider, redirect_uri=_redirect_uri(provider), return_to=_return_to(request))
    except SignInRefused as refused:
        _tell(provider, refused)
        raise DomainError(
            "identity_provider_unavailable",
            f"{provider.name} does not answer as it should.",
            status=503,
            hint="Try again in a minute, or tell who runs this installation.",
            retry_after=60,
        ) from refused
    return JsonResponse({"url": url})


@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the provider sends the browser back to."""
    provider = _provider(provider_id)
    return_to = oidc.return_path(request, provider)
    try:
        person = oidc.complete(request, provider)
        identity = _identity_of(provider, person, signed_in_user(request))
    except SignInRefused as refused:
        _tell(provider, refused)
        wanted = {"problem": refused.code} | ({"return_to": return_to} if return_to else {})
        return HttpResponseRedirect(f"/sign-in?{urlencode(wanted)}")
    follow_groups(
        provider,
        identity.user,
        groups_of(identity),
        source_address=source_address(request),
        request_id=request_id_of(request),
    )
    _sign_in(request, provider, identity.user, person)
    if get_pending_stage(request) is not None:
        return HttpResponseRedirect(f"/sign-in?{urlencode({'second_step': 'true', 'return_to': return_to or HOME})}")
    return HttpResponseRedirect(return_to or HOME)


def _sign_in(request: HttpRequest, provider: IdentityProvider, user: User, person: Person) -> None:
    """Through the stages that a sign-in by password passes, unless the provider has asked for a second factor."""
    # Of whoever was signed in with this browser nothing is kept.
    logout(request)
    remember_provider(request, user, provider)
    note_provider(request, user, second_factor=person.has_second_factor)
    login = Login(user=user)
    if person.has_second_factor:
        adapter = get_adapter()
        adapter.login(request, user)
        adapter.post_login(
            request,
            user,
            email_verification=login.email_verification,
            signal_kwargs=None,
            email=None,
            signup=False,
            redirect_url=HOME,
        )
    else:
        perform_login(request, login)


def _identity_of(provider: IdentityProvider, person: Person, signed_in: User | None) -> ExternalIdentity:
    """With the account, linked or made if it is their first time. Raises SignInRefused."""
    try:
        with transaction.atomic():
            return _linked(provider, person, signed_in)
    except IntegrityError as error:
        # Somebody signs in for the first time in two windows at once.
        raise SignInRefused("try_again") from error


def _linked(provider: IdentityProvider, person: Person, signed_in: User | None) -> ExternalIdentity:
    groups = sorted(person.groups)
    entry = (
        DirectoryUser.objects.filter(provider=provider, email=person.email.lower()).first() if person.email else None
    )
    if entry is not None and not entry.active:
        raise SignInRefused("account_inactive", entry.id)
    known = ExternalIdentity.objects.filter(provider=provider, subject=person.subject)
    if (identity := known.select_related("user", "entry").first()) is not None:
        _refuse_inactive(identity.user)
        identity.groups, identity.signed_in_at = groups, timezone.now()
        identity.entry = identity.entry or entry
        identity.save(update_fields=["groups", "signed_in_at", "entry"])
        return identity
    if not person.email:
        raise SignInRefused("address_not_verified")
    user = User.objects.filter(email__iexact=person.email).first()
    if user is None:
        user = User(email=person.email, name=person.name)
        user.set_unusable_password()
        user.save(force_insert=True)
    else:
        _refuse_inactive(user)
        if ExternalIdentity.objects.filter(provider=provider, user=user).exists():
            raise SignInRefused("address_of_another")
        if signed_in is None or signed_in.id != user.id:
            # Whoever had made the account had an invitation's link, and need not be who has the address.
            forget_password(user)
    return ExternalIdentity.objects.create(
        provider=provider, subject=person.subject, user=user, groups=groups, entry=entry, signed_in_at=timezone.now()
    )


def _refuse_inactive(user: User) -> None:
    if not user.is_active:
        raise SignInRefused("account_inactive", user.id)


def _provider(provider_id: str) -> IdentityProvider:
    provider = IdentityProvider.objects.filter(id=provider_id, disabled_at=None).first()
    if provider is None:
        raise Http404
    return provider


def _redirect_uri(provider: IdentityProvider) -> str:
    """From the settings, not from the request's Host. One for each provider: answers cannot be mixed up."""
    return f"{settings.ENV.ringmaster_public_url}/_oidc/{provider.id}/callback"


def _return_to(request: HttpRequest) -> str:
    """A path of the console, never another site."""
    try:
        wanted = json.loads(request.body or b"{}").get("return_to")
    except (ValueError, AttributeError):
        return HOME
    if not isinstance(wanted, str) or len(wanted) > 2000 or not wanted.startswith("/") or not wanted.isprintable():
        return HOME
    inside = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)
    return wanted if inside and not wanted.startswith(("/sign-in", "/_", "/api/")) else HOME


def _tell(provider: IdentityProvider, refused: SignInRefused) -> None:
    log.warning("sign-in refused", provider=provider.id, reason=str(refused))
