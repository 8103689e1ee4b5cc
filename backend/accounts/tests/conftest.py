"""An identity provider that answers what a test wants, and its place among those of the installation."""

from collections.abc import Iterator

import pytest

from backend.accounts.models import IdentityProvider
from backend.accounts.tests.providers import LyingProvider, known, lying_provider


@pytest.fixture
def liar() -> Iterator[LyingProvider]:
    with lying_provider() as provider:
        yield provider


@pytest.fixture
def corp(liar: LyingProvider, db: None) -> IdentityProvider:
    return known(liar.issuer)
