import itertools
from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from provisioner.stores import registry
from provisioner.stores.base import Store, StoreSpec, StoreUnreachable
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
