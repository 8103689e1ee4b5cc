"""``manage.py new_master_key --to FILE``: a master key, or one that a cloud's key service keeps closed."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.core import key_files, master_keys
from backend.core.key_files import Service
from backend.core.key_services import KeyServiceError
from backend.core.secrets import KEY_BYTES, MasterKey


class Command(BaseCommand):
    help = "Makes a master key file, which only its owner can read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=Path, required=True, help="file to make")
        parser.add_argument(
            "--wrap-with",
            default="",
            metavar="SERVICE:KEY",
            help="aws-kms:ARN or gcp-kms:projects/P/locations/L/keyRings/R/cryptoKeys/K",
        )
        parser.add_argument("--same-as", type=Path, help="wrap the key of this file instead of making a new one")

    def handle(self, *args: Any, **options: Any) -> None:
        master = _known(options["same_as"]) if options["same_as"] else MasterKey(os.urandom(KEY_BYTES))
        text = _wrapped(master, options["wrap_with"]) if options["wrap_with"] else key_files.as_text(master)
        try:
            file = os.open(options["to"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{options['to']}: {error.strerror}. Nothing was made.") from error
        with os.fdopen(file, "w") as output:
            output.write(text)
        self.stdout.write(f"{options['to']}: master key {master.id}")


def _known(file: Path) -> MasterKey:
    try:
        found = key_files.parsed(file.read_text())
        return (
            found
            if isinstance(found, MasterKey)
            else master_keys.opened_by_service(found, endpoint=_endpoint(found.service))
        )
    except (OSError, ValueError, KeyServiceError) as error:
        raise CommandError(f"{file}: {error}") from error


def _wrapped(master: MasterKey, wanted: str) -> str:
    name, _, key = wanted.partition(":")
    try:
        service = Service(name)
        key_files.check_name(service, key)
        return master_keys.wrapped_by(service, key, master, endpoint=_endpoint(service)).as_text()
    except (ValueError, KeyServiceError) as error:
        raise CommandError(str(error)) from error


def _endpoint(service: Service) -> str:
    return str(settings.ENV.ringmaster_aws_endpoint if service is Service.AWS else settings.ENV.ringmaster_gcp_endpoint)
