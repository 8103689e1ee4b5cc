"""``manage.py reset_second_factor EMAIL``: for who lost theirs and has nobody else to reset it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.second_factor_actions import reset_second_factor


class Command(BaseCommand):
    help = "Takes away a person's second factor and recovery codes, and ends their console sessions."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        if not reset_second_factor(options["email"]):
            raise CommandError(f"There is no person with the address {options['email']} who has a second factor.")
        self.stdout.write(f"{options['email']} signs in with the password alone now, and can set up a new one.")
