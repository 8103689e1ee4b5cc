"""``manage.py export_openapi``: writes backend/openapi.json, which is committed and compared in CI.

Needs neither a database nor secrets: ``DJANGO_SETTINGS_MODULE=backend.config.offline_settings`` will do.
"""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.config.api import api


class Command(BaseCommand):
    help = "Writes the API's description to backend/openapi.json."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")

    def handle(self, *args: Any, **options: Any) -> None:
        file = Path(settings.BASE_DIR) / "openapi.json"
        text = json.dumps(api.get_openapi_schema(path_prefix="/api/v1/"), indent=2, ensure_ascii=False) + "\n"
        if not options["check"]:
            file.write_text(text)
        elif not file.is_file() or file.read_text() != text:
            raise CommandError("backend/openapi.json is out of date: run make generate and commit it.")
