"""The settings with throw-away values where nothing is set: for tests, and for tools that load settings but run nothing
(mypy, ``makemigrations --check``, ``export_openapi``)."""

import os

from backend.config.testing import provide_environment

provide_environment()

from backend.config.settings import *  # noqa: E402, F403

# Slow hashing is the point of the real ones; here it would only make the tests slow.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# A database that has every migration already: those of the tests are copies of it.
if template := os.environ.get("RINGMASTER_TEST_TEMPLATE"):
    DATABASES["default"]["TEST"] = {"TEMPLATE": template, "MIGRATE": False}  # noqa: F405
