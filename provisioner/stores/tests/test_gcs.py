from collections.abc import Iterator

import pytest

from provisioner.stores import registry
from provisioner.stores.base import Store, StoreRefused, StoreSpec, StoreUnreachable
from provisioner.stores.conformance import Place, StoreConformance
from provisioner.stores.tests.gcs_emulator import emulated


def _store(endpoint: str, bucket: str, prefix: str) -> Store:
    return registry.store(StoreSpec(kind="gcs", bucket=bucket, prefix=prefix, endpoint=endpoint))


class TestGcs(StoreConformance):
    @pytest.fixture
    def place(self) -> Iterator[Place]:
        with emulated("backups") as endpoint:
            yield Place(
                open=lambda prefix: _store(endpoint, "backups", prefix),
                absent=lambda: _store(endpoint, "nobodys", "a"),
            )


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(StoreRefused, match="cannot be read"):
        registry.store(StoreSpec(kind="gcs", bucket="backups", service_account="{}"))


def test_a_server_that_is_away_is_tried_again_later() -> None:
    with pytest.raises(StoreUnreachable):
        _store("http://127.0.0.1:1", "backups", "").put("x", b"1")
