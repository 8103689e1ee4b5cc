"""Sign-in by e-mail and password, and a second factor where there is one (allauth headless).

Nobody signs up: accounts are made by invitation. What both ways of signing in end with is here, too:
provider_sign_in.py is the other one.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.http import HttpRequest, HttpResponse

from backend.accounts.authentication import source_address
from backend.accounts.models import IdentityProvider, Membership, User
from backend.accounts.second_factor import proved_by
from backend.accounts.session_actions import keep_session
from backend.audit.actions import record_of_person
from backend.core.errors import request_id_of

_PENDING = "identity_provider_pending"


class SignInAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """What allauth asks us about accounts. Sign-ins, good and bad, go into the audit log."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return source_address(request) or "local"

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        provider = _taken(request, user)
        proved = proved_by(request, user)
        told = {"identity_provider": provider.name} if provider is not None else {}
        _record(request, user, "sign_in", told | ({"second_factor": proved} if proved else {}) or None)
        keep_session(request, user, source_address=source_address(request), provider=provider)
        return super().post_login(request, user, **kwargs)  # type: ignore[no-any-return]

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        super().authentication_failed(request, **credentials)
        # An address nobody has belongs to no organisation, so there is nowhere to write it down.
        user = User.objects.filter(email__iexact=credentials.get("email") or "").first()
        if user is not None:
            _record(request, user, "sign_in.failed", {"reason": "password"})

    def reauthenticate(self, user: User, password: str) -> bool:
        """allauth's own looks for the address in a table that we do not keep."""
        found = self.authenticate(context.request, email=user.email, password=password)
        return found is not None and found.pk == user.pk


def remember_provider(request: HttpRequest, user: User, provider: IdentityProvider) -> None:
    """The provider has said who they are. The sign-in may take more before ``post_login``, and more requests."""
    request.session[_PENDING] = [provider.id, user.id]


def _taken(request: HttpRequest, user: User) -> IdentityProvider | None:
    """What was remembered of them, once."""
    provider_id, user_id = request.session.pop(_PENDING, None) or ("", "")
    return IdentityProvider.objects.filter(id=provider_id, disabled_at=None).first() if user_id == user.id else None


def _record(request: HttpRequest, user: User, action: str, after: dict[str, Any] | None) -> None:
    record_of_person(
        list(Membership.objects.filter(user=user).values_list("organisation_id", flat=True)),
        action=action,
        email=user.email,
        user_id=user.id,
        source_address=source_address(request),
        request_id=request_id_of(request),
        after=after,
    )
