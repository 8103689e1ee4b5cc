"""Runs a command of `manage.py` in the surroundings of an installation: `python manage.py RUN_FOLDER COMMAND …`."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from infra.local import ports
from infra.local.layout import layout
from infra.local.programs import Installation, environment
from infra.local.services import socket_folder


def main(folder: str, *command: str) -> None:
    os.environ["RINGMASTER_RUN_DIR"] = folder
    place = layout()
    os.environ |= environment(Installation(place, ports.read(place.ports_file), socket_folder(Path(folder))))
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *command])


if __name__ == "__main__":
    main(*sys.argv[1:])
