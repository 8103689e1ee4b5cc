"""``manage.py back_up --to FOLDER``: the control plane's own database, while it runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.config.database_backup import BackUpError, back_up


class Command(BaseCommand):
    help = "Backs up the control plane's database. Keep the master key file elsewhere: it is not in the back-up."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=Path, required=True, help="folder to make")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = back_up(options["to"])
        except BackUpError as error:
            raise CommandError(str(error)) from error
        keys = ", ".join(made.master_key_ids) or "none"
        self.stdout.write(f"{options['to']}: {made.size_bytes} bytes. To be restored it needs master key {keys}.")
