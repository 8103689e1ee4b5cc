"""Writes down that an organisation spent so many micro-dollars today, for tests that cannot wait for an hour to close.

    python spend.py RUN_FOLDER MICROS

As closing an hour writes it, of no cluster in particular. Less than nothing takes it back.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from infra.local import services
from infra.local.control_plane import supervisor_of
from infra.local.layout import layout


def main(folder: str, micros: int) -> None:
    place = layout({"RINGMASTER_RUN_DIR": folder})
    os.environ["DATABASE_URL"] = services.postgres_url(supervisor_of(place).sockets)
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.offline_settings"
    import django

    django.setup()
    from django.utils import timezone

    from backend.accounts.models import Organisation
    from backend.costs.recording import add_to_days
    from backend.costs.sharing import parts_of

    today = timezone.now().date()
    add_to_days({(Organisation.objects.get().id, "", today): (parts_of(machines=micros), 0)})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
