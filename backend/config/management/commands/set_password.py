"""``manage.py set_password EMAIL --password-file FILE``: a way in for somebody who has none."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.actions import set_password
from backend.core.errors import DomainError


class Command(BaseCommand):
    help = "Gives a person another password, and signs them out everywhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--password-file", required=True, type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            password = options["password_file"].read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['password_file']} cannot be read.") from error
        try:
            done = set_password(options["email"], password)
        except DomainError as problem:
            raise CommandError(f"{problem.message} {problem.hint}") from problem
        if not done:
            raise CommandError(f"There is no person with the e-mail address {options['email']}.")
        self.stdout.write(f"{options['email']} has another password.")
