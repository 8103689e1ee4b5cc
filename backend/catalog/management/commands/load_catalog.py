"""``manage.py load_catalog``: make the catalogue say what backend/catalog/data says."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from backend.catalog import actions


class Command(BaseCommand):
    help = "Loads providers, regions, machine types and engine versions from backend/catalog/data. Can be repeated."

    def handle(self, *args: Any, **options: Any) -> None:
        actions.load(with_tests=settings.ENV.ringmaster_test_catalog, clouds=settings.ENV.clouds)
