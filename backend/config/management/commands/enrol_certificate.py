"""``manage.py enrol_certificate``: the enrolment server's certificate, for a process that has no folder of secrets."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from backend.clusters.authorities import write_enrol_certificate


class Command(BaseCommand):
    help = "Writes the enrolment server's certificate and its key, which bootstrap has made."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--certificate-file", type=Path, required=True)
        parser.add_argument("--key-file", type=Path, required=True, help="readable by you only")

    def handle(self, *args: Any, **options: Any) -> None:
        write_enrol_certificate(options["certificate_file"], options["key_file"])
