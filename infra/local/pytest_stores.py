"""A pytest plugin: the tests' own Postgres and Redis, unless DATABASE_URL and REDIS_URL name others."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from infra.local import migrated, services


# A wrapper, because those run before pytest-django reads the settings, which need the environment.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Start the stores before anything of ours is imported; pytest-xdist's workers inherit where they are."""
    if not os.environ.get("DATABASE_URL"):
        os.environ["RINGMASTER_TEST_TEMPLATE"] = migrated.DATABASE
    services.test_services(migrated.prepared_files)
    yield
