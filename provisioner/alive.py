"""The sign of life that a health check of the process looks at: a file whose time is the last time it did its work.

A file and not a row or a key: a store that is away must not get the processes killed that wait for it.
"""

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)


def note() -> None:
    """Touch RINGMASTER_ALIVE_FILE, if there is one. A full or read-only disk is logged and does not end the process."""
    file = settings.ENV.ringmaster_alive_file
    if file is None:
        return
    try:
        file.touch()
    except OSError as error:
        log.warning("no sign of life", file=str(file), error=str(error))
