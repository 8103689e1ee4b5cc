"""Migrate and bootstrap in one process: loading the application twice is what takes the time."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str]) -> None:
    """Arguments are those of `manage bootstrap`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", interactive=False, verbosity=0)
    call_command("bootstrap", *arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
