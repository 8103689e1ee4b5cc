from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

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


def test_what_is_locked_is_not_deleted() -> None:
    with emulated("locked") as endpoint:
        spec = StoreSpec(kind="gcs", bucket="locked", prefix="a", endpoint=endpoint, object_lock="compliance")
        store = registry.store(spec)
        store.check_lock()
        store.put("kept", b"1")
        store.lock("kept", datetime.now(UTC) + timedelta(days=1))
        with pytest.raises(StoreRefused, match="Retention"):
            store.delete(["kept"])
        assert store.get("kept") == b"1"


def test_a_bucket_without_retention_says_so() -> None:
    with emulated("plain") as endpoint:
        spec = StoreSpec(kind="gcs", bucket="plain", endpoint=endpoint, object_lock="governance")
        with pytest.raises(StoreRefused, match="has no object retention"):
            registry.store(spec).check_lock()
