"""The program `ringmaster`: runs a command, and turns what went wrong into words and an exit code."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code; they are listed in cli/failures.py."""
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError as missing:
        sys.stderr.write(f"{missing.name} is missing: pip install 'ringmaster[cli]'\n")
        return 1
    from ringmaster.cli.root import run

    return run(sys.argv[1:] if arguments is None else arguments)
