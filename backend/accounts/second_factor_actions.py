"""Second factors: set up, taken away, reset. Each is one transaction with its lines in the audit log.

A change ends the person's other sessions, and the one that made it goes on under another key: whoever had taken the
key of one is out.
"""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.db import transaction
from django.http import HttpRequest

from backend.accounts.models import ConsoleSession, Membership, User
from backend.accounts.queries import Identity, require
from backend.accounts.second_factor import (
    KINDS,
    PROVED,
    forget_unused_secrets,
    has_second_factor,
    keep_secret,
    matching_step,
    new_totp_secret,
    open_secret,
    plain_code,
)
from backend.accounts.session_actions import SESSION_ID, end_sessions_of
from backend.accounts.session_queries import check_may_end, find_member
from backend.accounts.states import Permission, reason_against_resetting_second_factor
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, request_id_of

_PENDING = "second_factor_pending"
"""In Django's session: where the secret is that waits to be confirmed."""


@transaction.atomic
def begin_totp(request: HttpRequest, user: User) -> str:
    """A new secret for the person's app, which counts when a code of it was sent. Raises Conflict."""
    _locked(user)
    _refuse_second_totp(user)
    forget_unused_secrets(user.id)
    secret = new_totp_secret()
    request.session[_PENDING] = keep_secret(user.id, secret)
    return secret


@transaction.atomic
def confirm_totp(request: HttpRequest, user: User, code: str, *, source_address: str | None) -> list[str] | None:
    """Sets it up; the recovery codes, or None where the person has some. Raises Conflict.

    The code is used up: it is not good for a sign-in.
    """
    _locked(user)
    _refuse_second_totp(user)
    reference = request.session.get(_PENDING)
    step = None if reference is None else matching_step(open_secret(user.id, reference), plain_code(code))
    if step is None:
        raise Conflict(
            "code_not_right",
            "This is not the code that the app shows now.",
            hint="Wait for the app's next code; check that the device's clock is right.",
            field="code",
        )
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": reference, "last_step": step})
    del request.session[_PENDING]
    codes = None
    if not Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).exists():
        codes = RecoveryCodes.activate(user).get_unused_codes()
    _renew_session(request, user, proved=True)
    record_second_factor(request, user, "second_factor.add", source_address, {"second_factor": "totp"})
    return codes


@transaction.atomic
def remove_totp(request: HttpRequest, user: User, *, source_address: str | None) -> None:
    """With the last one the recovery codes go, too. Raises Conflict where there is none."""
    _locked(user)
    gone, _ = Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).delete()
    if not gone:
        raise _nothing_set_up()
    _tidy(user.id)
    _renew_session(request, user, proved=has_second_factor(user.id))
    record_second_factor(request, user, "second_factor.remove", source_address, {"second_factor": "totp"})


@transaction.atomic
def new_recovery_codes(request: HttpRequest, user: User, *, source_address: str | None) -> list[str]:
    """Those from before are good for nothing then. Raises Conflict."""
    _locked(user)
    if not has_second_factor(user.id):
        raise _nothing_set_up()
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).get_unused_codes()
    forget_unused_secrets(user.id)
    record_second_factor(request, user, "second_factor.new_codes", source_address, None)
    return codes


@transaction.atomic
def reset_member_second_factor(who: Identity, membership_id: str) -> None:
    """Takes away what a member lost, and signs them out everywhere. Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.MEMBERS_WRITE)
    member = find_member(who, membership_id)
    _locked(member.user)
    if member.user_id != who.user_id:
        check_may_end(who, member)
    elsewhere = Membership.objects.filter(user_id=member.user_id).exclude(id=member.id).exists()
    reason = reason_against_resetting_second_factor(
        own=member.user_id == who.user_id, counts_elsewhere=elsewhere or member.user.platform_admin
    )
    if reason is not None:
        raise Forbidden(
            "not_yours_to_reset", reason, hint="Whoever runs this installation has a command: reset_second_factor."
        )
    if not has_second_factor(member.user_id):
        raise _nothing_set_up()
    ended = _reset(member.user_id)
    audit.record(
        who,
        action="second_factor.reset",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        after={"sessions_ended": ended},
    )


@transaction.atomic
def reset_second_factor(email: str) -> bool:
    """For the command line. False: there is no such person, or they have none."""
    user = User.objects.select_for_update().filter(email__iexact=email).first()
    if user is None or not has_second_factor(user.id):
        return False
    ended = _reset(user.id)
    audit.record_of_person(
        _organisations(user),
        action="second_factor.reset",
        email=user.email,
        user_id=user.id,
        source_address=None,
        request_id="",
        after={"sessions_ended": ended, "by": "the operator's command line"},
    )
    return True


def record_second_factor(
    request: HttpRequest, user: User, action: str, source_address: str | None, after: dict[str, Any] | None
) -> None:
    """In the audit log of each of the person's organisations."""
    audit.record_of_person(
        _organisations(user),
        action=action,
        email=user.email,
        user_id=user.id,
        source_address=source_address,
        request_id=request_id_of(request),
        after=after,
    )


def _organisations(user: User) -> list[str]:
    return list(Membership.objects.filter(user=user).values_list("organisation_id", flat=True))


def _locked(user: User) -> None:
    """One change of a person's factors at a time."""
    User.objects.select_for_update().get(id=user.id)


def _refuse_second_totp(user: User) -> None:
    if Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists():
        raise Conflict(
            "second_factor_exists", "An authenticator app is set up already.", hint="Remove it to set up another one."
        )


def _nothing_set_up() -> Conflict:
    return Conflict("no_second_factor", "No second factor is set up.", hint="Look at the account's page.")


def _tidy(user_id: str) -> None:
    if not has_second_factor(user_id):
        Authenticator.objects.filter(user_id=user_id).delete()
    forget_unused_secrets(user_id)


def _reset(user_id: str) -> int:
    Authenticator.objects.filter(user_id=user_id, type__in=KINDS).delete()
    _tidy(user_id)
    return end_sessions_of(user_id)


def _renew_session(request: HttpRequest, user: User, *, proved: bool) -> None:
    session: Any = request.session
    kept = session.get(SESSION_ID)
    end_sessions_of(user.id, but=kept)
    session[PROVED] = proved
    session.cycle_key()
    ConsoleSession.objects.filter(id=kept).update(session_key=session.session_key, second_factor=proved)
