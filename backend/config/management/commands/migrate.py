"""``manage.py migrate``: Django's own. Of several machines that start with a new version one migrates, others wait."""

from typing import Any

from django.core.management.commands import migrate

from backend.config.one_at_a_time import one_at_a_time


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with one_at_a_time(options["database"]):
            super().handle(*args, **options)
