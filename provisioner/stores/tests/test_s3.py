import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from provisioner.stores import registry
from provisioner.stores.base import Store, StoreError, StoreRefused, StoreSpec, StoreUnreachable
from provisioner.stores.conformance import Place, StoreConformance

KEY = {"access_key_id": "emulated", "secret_access_key": "emulated", "region": "eu-central-1"}
_number = itertools.count(1)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def _store(endpoint: str, bucket: str, prefix: str) -> Store:
    return registry.store(StoreSpec(kind="s3", bucket=bucket, prefix=prefix, endpoint=endpoint, **KEY))


class TestS3(StoreConformance):
    @pytest.fixture
    def place(self, endpoint: str) -> Place:
        bucket = f"backups-{next(_number)}"
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name=KEY["region"],
            aws_access_key_id="emulated",
            aws_secret_access_key="emulated",
        )
        client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": KEY["region"]})
        return Place(
            open=lambda prefix: _store(endpoint, bucket, prefix),
            absent=lambda: _store(endpoint, "nobodys-bucket", "a"),
        )


def test_a_server_that_is_away_is_tried_again_later() -> None:
    with pytest.raises(StoreUnreachable) as caught:
        _store("http://127.0.0.1:1", "backups", "").probe()
    assert caught.value.retryable


@pytest.fixture
def locked(endpoint: str) -> tuple[Store, Any]:
    """A store in a bucket with object lock, and a client of it."""
    bucket = f"locked-{next(_number)}"
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="emulated",
        aws_secret_access_key="emulated",
    )
    client.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    keys = KEY | {"region": "us-east-1"}
    spec = StoreSpec(kind="s3", bucket=bucket, prefix="a", endpoint=endpoint, object_lock="compliance", **keys)
    return registry.store(spec), client


def test_what_is_locked_is_not_deleted_and_what_is_not_goes_with_all_versions(locked: tuple[Store, Any]) -> None:
    store, client = locked
    store.check_lock()
    for name in ("kept", "free", "free-too"):
        store.put(name, b"first")
        store.put(name, b"second")
    store.lock("kept", datetime.now(UTC) + timedelta(days=1))
    store.delete(["free", "never-there"])
    with pytest.raises(StoreError, match="lock"):
        store.delete(["kept"])
    assert [one.name for one in store.list("")] == ["free-too", "kept"]
    bucket = client.list_buckets()["Buckets"][-1]["Name"]
    left = client.list_object_versions(Bucket=bucket)
    assert {one["Key"] for one in left["Versions"]} == {"a/free-too", "a/kept"}
    assert store.get("kept") == b"second"


def test_a_bucket_without_locks_says_so(endpoint: str) -> None:
    boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="emulated",
        aws_secret_access_key="emulated",
    ).create_bucket(Bucket="plain-one")
    spec = StoreSpec(kind="s3", bucket="plain-one", endpoint=endpoint, object_lock="governance", **KEY)
    with pytest.raises(StoreRefused, match="has no object lock"):
        registry.store(spec).check_lock()
