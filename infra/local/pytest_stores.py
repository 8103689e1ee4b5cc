"""A pytest plugin: the tests' own Postgres and Redis, unless DATABASE_URL and REDIS_URL name others."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from infra.local import services


# A wrapper, because those run before pytest-django reads the settings, which need the environment.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None]:
    """Start the stores before anything of ours is imported; pytest-xdist's workers inherit where they are."""
    services.test_services()
    yield
