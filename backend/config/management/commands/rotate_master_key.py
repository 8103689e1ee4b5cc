"""``manage.py rotate_master_key [--check]``: today's master key in the place of former ones, while the product runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.config.key_rotation import former_keys_in_use, rotate
from backend.core.master_keys import KeyServiceUnavailable, keyring
from backend.core.secrets import SecretUnreadable


class Command(BaseCommand):
    help = "Wraps every secret with today's master key, so that former keys can be put away."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say which former keys are still needed")

    def handle(self, *args: Any, **options: Any) -> None:
        ring = keyring()
        if not options["check"]:
            try:
                for name, count in rotate():
                    self.stdout.write(f"{name}: {count} wrapped with {ring.sealing_id}")
            except (SecretUnreadable, KeyServiceUnavailable) as error:
                raise CommandError(f"{error} What was wrapped anew stays so; run this again.") from error
        needed = former_keys_in_use()
        for key in sorted(ring.ids - {ring.sealing_id} - set(needed)):
            self.stdout.write(f"Nothing needs master key {key} any more, but back-ups that were made with it do.")
        if needed:
            raise CommandError(
                f"Still needed: {', '.join(needed)}. Something writes with it, or its file is not named."
            )
