"""Keys from files, and keys that a cloud's key service keeps closed."""

import base64
from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from backend.core import key_services
from backend.core.key_files import Service, WrappedKey, as_text, parsed
from backend.core.key_services import KeyServiceError
from backend.core.master_keys import Keyring, KeyServiceUnavailable, opened_by_service, wrapped_by
from backend.core.secrets import MasterKey, SecretUnreadable, rewrapped, seal, unseal
from backend.core.tests.google_keys import GoogleKeys

OLD, NEW = MasterKey(b"o" * 32), MasterKey(b"n" * 32)
GOOGLE = "projects/shop/locations/global/keyRings/ringmaster/cryptoKeys/master"


class Closed:
    """A key service that can be away, and a clock."""

    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        self.now = 0.0

    def __call__(self, wrapped: WrappedKey) -> MasterKey:
        self.asked += 1
        if self.away:
            raise KeyServiceError("away")
        return NEW

    def keyring(self) -> Keyring:
        wrapped = WrappedKey(NEW.id, Service.AWS, "arn:aws:kms:eu-west-1:1:key/1", b"")
        return Keyring([wrapped, OLD], held_seconds=3600, opened=self, clock=lambda: self.now)


def test_the_first_key_seals_and_every_key_opens() -> None:
    ring = Keyring([NEW, OLD], held_seconds=60, opened=opened_by_service)
    assert ring.sealing() == NEW
    assert ring.opening(OLD.id) == OLD
    with pytest.raises(SecretUnreadable, match="RINGMASTER_FORMER_MASTER_KEY_FILES"):
        ring.opening(MasterKey(b"x" * 32).id)


def test_a_rewrapped_secret_opens_with_the_new_key_only_and_is_encrypted_as_before() -> None:
    before = seal(OLD, b"sesame", owner="clu_1", purpose="p")
    after = rewrapped(OLD, NEW, before, owner="clu_1", purpose="p")
    assert unseal(NEW, after, owner="clu_1", purpose="p") == b"sesame"
    assert after.ciphertext == before.ciphertext
    with pytest.raises(SecretUnreadable):
        unseal(OLD, after, owner="clu_1", purpose="p")
    with pytest.raises(SecretUnreadable):
        rewrapped(OLD, NEW, before, owner="clu_2", purpose="p")


def test_a_key_service_is_asked_at_half_the_time_and_may_be_away_for_the_other_half() -> None:
    service = Closed()
    ring = service.keyring()
    assert [ring.sealing(), ring.sealing()] == [NEW, NEW]
    assert service.asked == 1
    service.away, service.now = True, 1800.0
    assert [ring.sealing(), ring.sealing()] == [NEW, NEW]
    assert service.asked == 2
    service.now = 3599.0
    assert ring.sealing() == NEW
    service.now = 3600.0
    with pytest.raises(KeyServiceUnavailable):
        ring.sealing()
    assert ring.opening(OLD.id) == OLD


def test_who_needs_a_key_that_is_not_to_be_had_is_refused_at_once_and_helped_when_it_is_back() -> None:
    service = Closed()
    service.away = True
    ring = service.keyring()
    for _ in range(3):
        with pytest.raises(KeyServiceUnavailable, match="away"):
            ring.sealing()
    assert service.asked == 1
    service.away, service.now = False, 6.0
    assert ring.sealing() == NEW


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("c2hvcnQ=", "32 bytes in base64"),
        ("{}", "a wrapped key"),
        ('{"id": "1", "service": "own", "key": "k", "wrapped": ""}', "a wrapped key"),
        ('{"id": "1", "service": "aws-kms", "key": "alias/k", "wrapped": ""}', "no ARN of a key"),
        ('{"id": "1", "service": "gcp-kms", "key": "projects/p", "wrapped": ""}', "no name of a key"),
    ],
)
def test_a_file_that_holds_no_key_says_what_it_should_hold(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parsed(text)


def test_files_are_read_as_they_are_written() -> None:
    wrapped = WrappedKey(NEW.id, Service.GCP, GOOGLE, b"closed")
    assert parsed(as_text(NEW)) == NEW
    assert parsed(wrapped.as_text()) == wrapped


@pytest.fixture(scope="module")
def aws() -> Iterator[tuple[str, str]]:
    """The endpoint of an emulator and the ARN of a key."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        endpoint = f"http://{host}:{port}"
        made = boto3.client("kms", region_name="eu-west-1", endpoint_url=endpoint).create_key()
        yield endpoint, made["KeyMetadata"]["Arn"]
    key_services._aws_client.cache_clear()
    server.stop()


def test_aws_wraps_and_opens_and_refuses_another_context(aws: tuple[str, str]) -> None:
    endpoint, arn = aws
    wrapped = wrapped_by(Service.AWS, arn, NEW, endpoint=endpoint)
    assert NEW.key not in wrapped.wrapped
    assert opened_by_service(wrapped, endpoint=endpoint) == NEW
    other = WrappedKey(OLD.id, Service.AWS, arn, wrapped.wrapped)
    with pytest.raises(KeyServiceError, match="InvalidCiphertext"):
        opened_by_service(other, endpoint=endpoint)
    gone = WrappedKey(NEW.id, Service.AWS, f"{arn[:-12]}000000000000", wrapped.wrapped)
    with pytest.raises(KeyServiceError, match="000000000000"):
        opened_by_service(gone, endpoint=endpoint)


def test_google_wraps_and_opens_and_refuses_another_context() -> None:
    with GoogleKeys() as google:
        wrapped = wrapped_by(Service.GCP, GOOGLE, NEW, endpoint=google.url)
        assert base64.b64encode(NEW.key).decode() not in wrapped.as_text()
        assert opened_by_service(wrapped, endpoint=google.url) == NEW
        with pytest.raises(KeyServiceError, match="Decryption failed"):
            opened_by_service(WrappedKey(OLD.id, Service.GCP, GOOGLE, wrapped.wrapped), endpoint=google.url)
        with pytest.raises(KeyServiceError, match="NOT_FOUND"):
            wrapped_by(Service.GCP, GOOGLE.replace("shop", "other"), NEW, endpoint=google.url)
        google.disable()
        with pytest.raises(KeyServiceError, match="is not enabled"):
            opened_by_service(wrapped, endpoint=google.url)
