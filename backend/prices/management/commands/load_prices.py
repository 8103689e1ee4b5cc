"""``manage.py load_prices``: bring the list prices of the price book up to what the product knows."""

from typing import Any

from django.core.management.base import BaseCommand

from backend.prices import actions


class Command(BaseCommand):
    help = "Adds what backend/prices/data and the catalogue's files say and the price book does not. Can be repeated."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Added {actions.load()} prices.")
