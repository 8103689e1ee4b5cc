"""The settings with throw-away values: for mypy, ``makemigrations --check`` and ``export_openapi``, which run nothing."""

from backend.config.testing import provide_environment

provide_environment()

from backend.config.settings import *  # noqa: E402, F403
