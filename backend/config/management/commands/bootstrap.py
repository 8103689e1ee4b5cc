"""``manage.py bootstrap``: everything that a migrated but empty installation needs. Can be repeated.

Without an organisation it makes none: where nobody could read the owner's password, a person runs it once more.
"""

import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils.text import slugify

from backend.accounts.actions import FirstOwner, ensure_first_owner
from backend.backups.locations import ensure_operators
from backend.catalog import actions as catalog
from backend.clusters.authorities import (
    ensure_control_plane_pki,
    write_enrol_certificate,
    write_prometheus_certificate,
)
from backend.config.one_at_a_time import one_at_a_time
from backend.prices import actions as prices


class Command(BaseCommand):
    help = "Loads catalogue and price book; makes certificates, and the first organisation with its owner."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organisation", help="name of the first organisation; none: it is not made")
        parser.add_argument("--owner-email")
        parser.add_argument(
            "--credentials-file",
            type=Path,
            help="where the owner's password and API token are written, readable by you only, the first time",
        )
        parser.add_argument(
            "--enrol-certificate-file", type=Path, help="where the enrolment server's certificate is written, PEM"
        )
        parser.add_argument("--enrol-key-file", type=Path, help="where its key is written, PEM, readable by you only")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = [options[each] for each in ("organisation", "owner_email", "credentials_file")]
        if any(wanted) and not all(wanted):
            raise CommandError("--organisation, --owner-email and --credentials-file go together.")
        # Machines that start at once do this at once.
        with one_at_a_time():
            self._make(wanted, options)

    def _make(self, wanted: list[Any], options: dict[str, Any]) -> None:
        catalog.load(with_tests=settings.ENV.ringmaster_test_catalog, clouds=settings.ENV.clouds)
        prices.load()
        ensure_control_plane_pki()
        ensure_operators()
        if options["enrol_certificate_file"] and options["enrol_key_file"]:
            write_enrol_certificate(options["enrol_certificate_file"], options["enrol_key_file"])
        if settings.ENV.ringmaster_prometheus_dir is not None:
            write_prometheus_certificate(settings.ENV.ringmaster_prometheus_dir)
        if not all(wanted):
            self.stdout.write("No organisation was asked for: none was made.")
            return
        name, file = options["organisation"], options["credentials_file"]
        # The file is there before the account is: a crash in between leaves a file that the next run replaces,
        # never an account whose password nobody knows.
        with transaction.atomic():
            owner = ensure_first_owner(
                organisation=name, slug=slugify(name)[:63] or "organisation", email=options["owner_email"]
            )
            if owner is not None:
                _write(file, owner)
        if owner is None:
            self.stdout.write("There is an organisation already; its accounts are left as they are.")
        else:
            self.stdout.write(f"Made {name} with owner {owner.email}. Password and API token are in {file}.")


def _write(file: Path, owner: FirstOwner) -> None:
    document = {
        "console_url": settings.ENV.ringmaster_public_url,
        "organisation_id": owner.organisation_id,
        "email": owner.email,
        "password": owner.password,
        "api_token": owner.token,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        json.dump(document, opened, indent=2)
        opened.write("\n")
        opened.flush()
        os.fsync(opened.fileno())
    fresh.rename(file)
