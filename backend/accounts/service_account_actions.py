"""Every change to service accounts. Each is one transaction with its line in the audit log."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from backend.accounts.actions import grantable_role, role_word
from backend.accounts.models import ApiToken, CustomRole, Organisation, ServiceAccount
from backend.accounts.queries import Identity, account_not_found, require
from backend.accounts.service_account_queries import get_account
from backend.accounts.states import Permission, Role, reason_against_changing_account, role_permissions
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, Invalid

ACCOUNTS_LIMIT = 200


@transaction.atomic
def create_account(
    who: Identity, *, name: str, description: str, contact: str, role: Role, custom_role_id: str | None
) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Invalid, Conflict."""
    require(who, Permission.MEMBERS_WRITE)
    # One after the other, so that the limit holds.
    Organisation.objects.select_for_update().get(id=who.organisation_id)
    if ServiceAccount.objects.filter(organisation_id=who.organisation_id).count() >= ACCOUNTS_LIMIT:
        raise Conflict(
            "too_many_service_accounts",
            f"There are {ACCOUNTS_LIMIT} service accounts already.",
            hint="Use one that is there, under another name.",
        )
    account = ServiceAccount(
        organisation_id=who.organisation_id,
        name=name,
        description=description,
        contact=contact.lower(),
        role=role,
        custom_role=_role(who, role, custom_role_id),
        created_by=who.actor,
    )
    _write(account)
    _record(who, account, "service_account.create", after=_described(account))
    return get_account(who, account.id)


@transaction.atomic
def update_account(
    who: Identity,
    account_id: str,
    *,
    name: str | None,
    description: str | None,
    contact: str | None,
    role: tuple[Role, str | None] | None,
    disabled: bool | None,
) -> dict[str, Any]:
    """What is None stays. Whoever disables an account ends its tokens for good: enabling does not bring them back."""
    require(who, Permission.MEMBERS_WRITE)
    account = _locked(who, account_id)
    held = account.custom_role.held if account.custom_role is not None else None
    beyond = role_permissions(Role(account.role), held) - who.role_permissions
    if reason := reason_against_changing_account(True, beyond):
        raise Forbidden("role_above_own", reason, hint="Ask somebody who holds all of it.")
    before = _described(account)
    account.name = account.name if name is None else name
    account.description = account.description if description is None else description
    account.contact = account.contact if contact is None else contact.lower()
    if role is not None and role != (account.role, account.custom_role_id):
        account.role, account.custom_role = role[0], _role(who, *role)
    if disabled is not None and disabled is (account.disabled_at is None):
        account.disabled_at = timezone.now() if disabled else None
        if disabled:
            tokens = ApiToken.objects.filter(service_account=account, revoked_at=None)
            tokens.update(revoked_at=timezone.now())
    after = _described(account)
    changed = [key for key in after if after[key] != before[key]]
    if changed:
        _write(account)
        told = {key: {each: values[each] for each in changed} for key, values in (("before", before), ("after", after))}
        _record(who, account, "service_account.update", **told)
    return get_account(who, account.id)


def _role(who: Identity, role: Role, custom_role_id: str | None) -> CustomRole | None:
    if role is Role.OWNER:
        raise Invalid("owner_is_a_person", "Owners are people.", hint="Choose another role.", field="role")
    return grantable_role(who, role, custom_role_id)


def _locked(who: Identity, account_id: str) -> ServiceAccount:
    mine = ServiceAccount.objects.select_for_update(of=("self",)).filter(organisation_id=who.organisation_id)
    account = mine.select_related("custom_role").filter(id=account_id).first()
    if account is None:
        raise account_not_found()
    return account


def _described(account: ServiceAccount) -> dict[str, Any]:
    return {
        "name": account.name,
        "description": account.description,
        "contact": account.contact,
        "role": role_word(Role(account.role), account.custom_role),
        "disabled": account.disabled_at is not None,
    }


def _record(who: Identity, account: ServiceAccount, action: str, **values: Any) -> None:
    audit.record(
        who, action=action, target_type="service_account", target_id=account.id, target_name=account.name, **values
    )


def _write(account: ServiceAccount) -> None:
    try:
        with transaction.atomic():
            account.save()
    except IntegrityError as error:
        if "service_account_name_once" in str(error):
            raise Conflict(
                "service_account_name_taken",
                f"There is a service account {account.name} already.",
                hint="Choose another name.",
                field="name",
            ) from error
        raise
