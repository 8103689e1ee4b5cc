"""The outside world as operations see it: providers, engines and agents, looked up by name.

Tests put a fake world in place with `use`; everything else gets the real one, built once per process.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from backend.cloud_accounts.models import CloudAccount
from backend.clusters.models import Node
from provisioner.agent.base import AgentClient
from provisioner.engines.base import Engine
from provisioner.operations.served_certificate import served_certificate
from provisioner.providers.base import Provider
from provisioner.stores import registry as stores
from provisioner.stores.base import Store, StoreSpec


class FindProvider(Protocol):
    def __call__(self, name: str, account: CloudAccount | None = None, /) -> Provider:
        """In an account that was brought; None: in the installation's own. InvalidRequest where it is not offered."""
        ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    provider: FindProvider
    engine: Callable[[str], Engine]
    agent: Callable[[Node], AgentClient]
    # PEM of the certificate that a node's engine shows to drivers.
    served_certificate: Callable[[Node], str] = served_certificate
    store: Callable[[StoreSpec], Store] = stores.store


class _Place:
    """Holds the surroundings of this process. Not a context variable: step functions run in threads of their own."""

    current: Surroundings | None = None


def surroundings() -> Surroundings:
    if _Place.current is None:
        from provisioner.operations.wiring import real_surroundings

        _Place.current = real_surroundings()
    return _Place.current


@contextmanager
def use(replacement: Surroundings) -> Iterator[None]:
    before, _Place.current = _Place.current, replacement
    try:
        yield
    finally:
        _Place.current = before
