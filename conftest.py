"""Gives the tests an environment before Django reads it."""

from backend.config.testing import provide_environment

provide_environment()
