"""The second step of the sign-in, and a person's own second factor, over HTTP.

Beside allauth's sign-in (config/urls.py) and not in the API: they are for a browser and its person, and no program.
"""

import time
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.core.exceptions import ReauthenticationRequired
from allauth.core.internal import ratelimit
from allauth.headless.base.views import AuthenticatedAPIView
from allauth.headless.internal.restkit.inputs import CharField, Input
from allauth.headless.internal.restkit.response import APIResponse
from allauth.headless.mfa.inputs import AuthenticateInput
from allauth.headless.mfa.views import AuthenticateView
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from django.http import HttpRequest

from backend.accounts import second_factor_actions as actions
from backend.accounts.authentication import source_address
from backend.accounts.models import User
from backend.accounts.second_factor import qr_path, totp_url, use_code
from backend.core.errors import TooManyRequests

_TRIES = {"second_step": "30/m/ip,10/5m/key,100/d/key"}
"""A code is one of a million and three are good at a time: with these, of who has the password one in 3,000 a day
guesses it."""
_LONGEST = 100


class SecondStep(AuthenticateInput):  # type: ignore[misc]  # allauth has no types
    """A code of the app, or a recovery code."""

    def clean_code(self) -> str:
        request, user = context.request, self.user
        take = ratelimit.consume(
            request, app="allauth.account", action="second_step", config=_TRIES, key=f"second-step:{user.pk}"
        )
        if take is None:
            raise get_account_adapter().validation_error("too_many_login_attempts")
        code: str = self.cleaned_data["code"]
        found = use_code(user.pk, code)
        if found is None:
            after = {"reason": "second_factor"}
            actions.record_second_factor(request, user, "sign_in.failed", source_address(request), after)
            raise get_adapter().validation_error("incorrect_code")
        take.rollback()
        found.user = user
        self.authenticator = found
        return code


class SecondStepView(AuthenticateView):  # type: ignore[misc]
    """Only for who has sent the password, in the same session, in the last 15 minutes."""

    input_class = SecondStep


class _OwnView(AuthenticatedAPIView):  # type: ignore[misc]
    """For who is signed in, and was a moment ago where they change something."""

    def handle(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method not in {"GET", "HEAD", "OPTIONS"}:
            require_recent_sign_in(request)
        return super().handle(request, *args, **kwargs)

    @property
    def user(self) -> User:
        found = self.request.user
        assert isinstance(found, User)
        return found


class FactorsView(_OwnView):
    def get(self, request: HttpRequest) -> Any:
        """What the person has set up; never a secret."""
        kinds: dict[str, Any] = {"totp": None, "recovery_codes": None}
        for row in Authenticator.objects.filter(user=self.user, type__in=list(kinds)):
            kinds[row.type] = {"created_at": row.created_at, "last_used_at": row.last_used_at}
            if row.type == Authenticator.Type.RECOVERY_CODES:
                kinds[row.type]["unused"] = len(row.wrap().get_unused_codes())
        return APIResponse(request, data=kinds)


class Code(Input):  # type: ignore[misc]
    code = CharField(max_length=_LONGEST)


class TotpView(_OwnView):
    input_class = {"POST": Code}

    def put(self, request: HttpRequest) -> Any:
        """Begins to set it up: a secret, which is nothing until `post`."""
        secret = actions.begin_totp(request, self.user)
        url = totp_url(self.user.email, secret)
        size, path = qr_path(url)
        return APIResponse(request, data={"secret": secret, "url": url, "qr": {"size": size, "path": path}})

    def post(self, request: HttpRequest) -> Any:
        """Sets it up. The recovery codes are in this answer and in no other; null: those from before stay."""
        take = ratelimit.consume(
            request, app="allauth.account", action="second_step", config=_TRIES, key=f"set-up:{self.user.pk}"
        )
        if take is None:
            raise TooManyRequests("too_many_codes", "Too many codes were wrong.", hint="Wait some minutes.")
        codes = actions.confirm_totp(
            request, self.user, self.input.cleaned_data["code"], source_address=source_address(request)
        )
        take.rollback()
        return APIResponse(request, data={"recovery_codes": codes})

    def delete(self, request: HttpRequest) -> Any:
        actions.remove_totp(request, self.user, source_address=source_address(request))
        return APIResponse(request)


class RecoveryCodesView(_OwnView):
    def post(self, request: HttpRequest) -> Any:
        """New ones. They are in this answer and in no other."""
        codes = actions.new_recovery_codes(request, self.user, source_address=source_address(request))
        return APIResponse(request, data={"recovery_codes": codes})


def require_recent_sign_in(request: HttpRequest) -> None:
    """Raises ReauthenticationRequired unless the person signed in, or sent their password again, minutes ago.

    Who has no password here, because they come from an identity provider, signs in anew.
    """
    newest = max((each["at"] for each in get_authentication_records(request, request.user)), default=0.0)
    if time.time() - newest >= app_settings.REAUTHENTICATION_TIMEOUT:
        raise ReauthenticationRequired
