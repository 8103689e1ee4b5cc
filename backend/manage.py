#!/usr/bin/env python
"""Django's command line: ``python -m backend.manage <command>``, or this file."""

import os
import sys
from pathlib import Path


def main() -> None:
    # Run as a file, the folder of the repository is not on the path.
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
