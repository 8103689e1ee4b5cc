"""What an organisation wants of access to it: settings that hold for all of its members and tokens."""

from typing import Any

from django.db import transaction

from backend.accounts import second_person
from backend.accounts.models import IdentityProvider, Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.second_factor import has_second_factor
from backend.accounts.states import DeletionTarget, Permission
from backend.audit import actions as audit
from backend.core.errors import Conflict, Invalid

_COLUMNS = ("token_days_default", "token_days_max", "deletes_need_two", "password_sign_in", "second_factor_required")


def get_settings(who: Identity) -> dict[str, Any]:
    """Whoever makes a token has to know them."""
    return dict(Organisation.objects.values(*_COLUMNS).get(id=who.organisation_id))


@transaction.atomic
def update_settings(who: Identity, wanted: dict[str, Any]) -> dict[str, Any]:
    """Raises Forbidden, Invalid; Conflict where one person alone would let one person delete, or where who requires a
    second factor has none."""
    require(who, Permission.MEMBERS_WRITE)
    Organisation.objects.select_for_update().get(id=who.organisation_id)
    before = get_settings(who)
    after = before | wanted
    usual, most = after["token_days_default"], after["token_days_max"]
    if usual is not None and most is not None and usual > most:
        raise Invalid(
            "default_above_maximum",
            f"API tokens would live {usual} days when nobody says, and {most} at most.",
            hint="Choose a default that is no longer than the maximum.",
            field="token_days_default",
        )
    if wanted.get("password_sign_in") is False and not IdentityProvider.objects.filter(disabled_at=None).exists():
        raise Conflict(
            "no_identity_provider",
            "This installation has no identity provider that people could sign in through instead.",
            hint="Ask who runs the installation to add one: docs/identity.md.",
        )
    changed = {name: value for name, value in after.items() if before[name] != value}
    if changed:
        agreed: dict[str, str] = {}
        if changed.get("second_factor_required") and not (who.second_factor or has_second_factor(who.user_id)):
            raise Conflict(
                "no_second_factor",
                "Who requires a second factor of others has one.",
                hint="Set one up in the console (Second factor, in the account's menu), and send this again. "
                "Service accounts have none: let a person turn it on.",
                field="second_factor_required",
            )
        if changed.get("deletes_need_two") is False:
            target = DeletionTarget.ACCESS_SETTINGS
            agreed = second_person.agreed(who, target, who.organisation_id, name="")
        Organisation.objects.filter(id=who.organisation_id).update(**changed)
        audit.record(
            who,
            action="organisation.change_access",
            target_type="organisation",
            target_id=who.organisation_id,
            before={name: before[name] for name in changed},
            after=changed | agreed,
        )
    return after
