"""Taking a new master key into use: every data key is wrapped anew, while the product runs. See docs/security.md.

The secrets themselves stay as they are encrypted; only the small keys they are encrypted with are unwrapped with the
former master key and wrapped with today's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from backend.accounts import provider_actions, second_factor
from backend.accounts.models import FactorSecret, IdentityProvider
from backend.clusters.models import Secret
from backend.config.database_backup import keys_in_use
from backend.console.models import SealedText
from backend.console.sealed import bound_purpose
from backend.core import idempotency
from backend.core.master_keys import keyring, rewrapped_for_today
from backend.core.models import IdempotencyRecord
from backend.core.secrets import Sealed


@dataclass(frozen=True)
class Kind:
    """Rows that hold something sealed, and what each is bound to: owner and purpose."""

    model: type[Model]
    bound_to: Callable[[Any], tuple[str, str]]


# A test holds it against all models that have a `master_key_id`.
KINDS = (
    Kind(Secret, lambda row: (row.owner, row.purpose)),
    Kind(IdentityProvider, lambda row: (row.id, provider_actions.PURPOSE)),
    Kind(SealedText, lambda row: (row.owner, bound_purpose(row.purpose))),
    Kind(FactorSecret, lambda row: (row.user_id, second_factor.PURPOSE)),
    Kind(
        IdempotencyRecord,
        lambda row: (idempotency.owner_of(row.organisation_id, row.user_id, row.key), idempotency.PURPOSE),
    ),
)


def rotate() -> Iterator[tuple[str, int]]:
    """Wraps every row that another key wraps with today's; yields each kind's name and how many there were.

    A row that changes or goes meanwhile is left as it is: whoever wrote it used a key of their own settings. Can be
    stopped and started again at any time. Raises SecretUnreadable and KeyServiceUnavailable.
    """
    for kind in KINDS:
        yield kind.model.__name__, sum(_rewrapped(kind, row) for row in _rows(kind))


def former_keys_in_use() -> list[str]:
    """The ids of keys that some row still needs and that are not today's."""
    return [key for key in keys_in_use() if key != keyring().sealing_id]


def _rows(kind: Kind) -> Iterator[Any]:
    rows = kind.model._default_manager.exclude(master_key_id=keyring().sealing_id)
    return rows.order_by("pk").iterator(chunk_size=500)


def _rewrapped(kind: Kind, row: Any) -> int:
    owner, purpose = kind.bound_to(row)
    was = Sealed(ciphertext=bytes(row.ciphertext), wrapped_key=bytes(row.wrapped_key), master_key_id=row.master_key_id)
    now = rewrapped_for_today(was, owner=owner, purpose=purpose)
    same = kind.model._default_manager.filter(pk=row.pk, wrapped_key=was.wrapped_key, master_key_id=was.master_key_id)
    return same.update(wrapped_key=now.wrapped_key, master_key_id=now.master_key_id)
