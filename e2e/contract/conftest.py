from collections.abc import Iterator

import pytest

from e2e.contract.server import Api, serving_api


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    with serving_api() as running:
        yield running
