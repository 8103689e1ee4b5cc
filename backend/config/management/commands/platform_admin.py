"""``manage.py platform_admin EMAIL``: who may change what is everybody's, such as machine images."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.actions import set_platform_admin


class Command(BaseCommand):
    help = "Makes a person a platform administrator, beside their role in their organisation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--revoke", action="store_true", help="the person is none any more")

    def handle(self, *args: Any, **options: Any) -> None:
        if not set_platform_admin(options["email"], not options["revoke"]):
            raise CommandError(f"There is no person with the e-mail address {options['email']}.")
        self.stdout.write(f"{options['email']} is {'no' if options['revoke'] else 'a'} platform administrator.")
