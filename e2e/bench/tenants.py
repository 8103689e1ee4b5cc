"""What benchmarks of the API begin with: a private Postgres, migrated, and organisations with a program's token."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.local.services import start_postgres


@dataclass(frozen=True)
class Tenant:
    organisation_id: str
    token: str


@contextmanager
def private_database() -> Iterator[Path]:
    """A Postgres that DATABASE_URL names, until the block ends, and a folder beside it that goes with it."""
    with tempfile.TemporaryDirectory(prefix="ringmaster-bench-") as name:
        folder = Path(name)
        postgres = start_postgres(folder / "postgres")
        try:
            os.environ["DATABASE_URL"] = postgres.url
            os.environ["RINGMASTER_LOG_LEVEL"] = "WARNING"
            yield folder
        finally:
            postgres.stop()


def set_up() -> None:
    """Migrates an empty database."""
    from backend.config.testing import provide_environment

    provide_environment()
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def tenant_of(name: str) -> Tenant:
    """An organisation with an owner, and a token that may do what the owner may."""
    from backend.accounts.models import ApiToken, Membership, Organisation, User
    from backend.accounts.queries import TOKEN_PREFIX, hash_secret
    from backend.accounts.states import PERMISSIONS, Role

    organisation = Organisation.objects.create(name=name, slug=name)
    user = User.objects.create(email=f"owner@{name}.test", name=name, password="!")
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    secret = f"{TOKEN_PREFIX}bench-{name}"
    scopes = sorted(PERMISSIONS[Role.OWNER])
    ApiToken.objects.create(
        organisation=organisation, user=user, name="bench", secret_hash=hash_secret(secret), hint="ench", scopes=scopes
    )
    return Tenant(organisation.id, secret)
