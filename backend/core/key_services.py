"""Clouds' key services (AWS KMS, Google Cloud KMS): they wrap the installation's master key, and open it again.

The key never leaves the service; what it wrapped is no secret. Each call is bounded in time and made once more at most.
"""

import base64
from functools import cache
from typing import Any

import boto3
import google.auth
import requests
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession

from backend.core.key_files import Service

_SECONDS = 5
_SCOPE = "https://www.googleapis.com/auth/cloudkms"


class KeyServiceError(Exception):
    """The service cannot be asked, or says no. The text says which key and why."""


def wrap(service: Service, key: str, plaintext: bytes, *, bound_to: str, endpoint: str = "") -> bytes:
    """`bound_to` must be said again to unwrap. `endpoint`: an emulator's. Raises KeyServiceError."""
    if service is Service.AWS:
        return _aws(key, endpoint, "encrypt", Plaintext=plaintext, context=bound_to, answer="CiphertextBlob")
    return _google(key, endpoint, "encrypt", plaintext, bound_to, answer="ciphertext")


def unwrap(service: Service, key: str, wrapped: bytes, *, bound_to: str, endpoint: str = "") -> bytes:
    """Raises KeyServiceError."""
    if service is Service.AWS:
        return _aws(key, endpoint, "decrypt", CiphertextBlob=wrapped, context=bound_to, answer="Plaintext")
    return _google(key, endpoint, "decrypt", wrapped, bound_to, answer="plaintext")


@cache
def _aws_client(region: str, endpoint: str) -> Any:
    bounds = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 2})
    return boto3.client("kms", region_name=region, endpoint_url=endpoint or None, config=bounds)


def _aws(key: str, endpoint: str, operation: str, *, context: str, answer: str, **what: bytes) -> bytes:
    try:
        client = _aws_client(key.split(":")[3], endpoint)
        said = getattr(client, operation)(KeyId=key, EncryptionContext={"ringmaster": context}, **what)
    except (ClientError, BotoCoreError) as error:
        raise KeyServiceError(f"{key}: {error}") from error
    return bytes(said[answer])


@cache
def _google_session(endpoint: str) -> requests.Session:
    if endpoint:
        return requests.Session()
    credentials, _ = google.auth.default(scopes=[_SCOPE])
    session: requests.Session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    return session


def _google(key: str, endpoint: str, operation: str, what: bytes, bound_to: str, *, answer: str) -> bytes:
    sent = "plaintext" if operation == "encrypt" else "ciphertext"
    body = {sent: _text(what), "additionalAuthenticatedData": _text(bound_to.encode())}
    url = f"{endpoint or 'https://cloudkms.googleapis.com'}/v1/{key}:{operation}"
    try:
        said = _google_session(endpoint).post(url, json=body, timeout=_SECONDS)
        if not said.ok:
            raise KeyServiceError(f"{key}: {said.status_code} {said.text[:300]}")
        return base64.b64decode(said.json()[answer], validate=True)
    except (requests.RequestException, GoogleAuthError, ValueError, KeyError) as error:
        raise KeyServiceError(f"{key}: {error}") from error


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
