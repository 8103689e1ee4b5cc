"""``manage.py restore_backup --from FOLDER``: the control plane's own database, while nothing else uses it."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.config.database_backup import BackUpError, hold_healing, open_all_secrets, restore


class Command(BaseCommand):
    help = "Restores a back-up of the control plane's database, and migrates it to this version."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="folder", type=Path, required=True, help="what back_up made")
        parser.add_argument("--replace", action="store_true", help="give up what the database holds now")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            restored = restore(options["folder"], replace=options["replace"])
            call_command("migrate", interactive=False, verbosity=0)
            held = hold_healing()
            opened = open_all_secrets()
        except BackUpError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored what was there at {restored.made_at}. {opened} secrets open with this master key.")
        if held:
            self.stdout.write(
                f"Healing of {held} clusters only tells for now: what was deleted since would be made anew. Compare "
                "them with what the clouds have, delete again what is gone, then run resume_healing."
            )
