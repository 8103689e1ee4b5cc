"""Google Cloud Storage."""

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import Forbidden, GoogleAPICallError, NotFound, Unauthorized
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage import Blob, Client
from google.oauth2 import service_account
from requests.exceptions import RequestException

from provisioner.stores.base import (
    PROBE,
    ObjectMissing,
    Part,
    Store,
    Stored,
    StoreError,
    StoreMissing,
    StoreRefused,
    StoreSpec,
    StoreUnreachable,
    checked,
)

_CHUNK = 4 << 20
# Within what a step of an operation may take; it is the operation that tries again.
_SECONDS = 2.5
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


class GcsStore:
    def __init__(self, spec: StoreSpec) -> None:
        self._name = spec.bucket
        self._root = f"{spec.prefix}/" if spec.prefix else ""
        self._client = _client(spec)
        self._object_lock = spec.object_lock
        self._bucket = self._client.bucket(spec.bucket)

    def put(self, name: str, content: bytes) -> None:
        with self._translating():
            self._blob(name).upload_from_string(
                content, content_type="application/octet-stream", timeout=_SECONDS, retry=None
            )

    def get(self, name: str) -> bytes:
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        with (
            self._translating(name),
            self._blob(name).open("rb", timeout=_SECONDS, chunk_size=_CHUNK, retry=None) as reader,
        ):
            while piece := reader.read(_CHUNK):
                yield piece

    def size(self, name: str) -> int | None:
        with self._translating():
            found = self._bucket.get_blob(self._key(name), timeout=_SECONDS, retry=None)
            return None if found is None else int(found.size)

    def delete(self, names: Sequence[str]) -> None:
        with self._translating():
            for name in names:
                try:
                    self._blob(name).delete(timeout=_SECONDS, retry=None)
                except NotFound as error:
                    self._raise_without_bucket(error)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        with self._translating():
            for found in self._client.list_blobs(
                self._bucket,
                prefix=self._root + prefix,
                start_offset=self._root + after if after else None,
                timeout=_SECONDS,
                retry=None,
            ):
                name = found.name.removeprefix(self._root)
                # Google begins with the offset itself.
                if name != after:
                    yield Stored(name=name, size=int(found.size), modified_at=found.updated)

    def read(self, name: str, begin: int, length: int) -> bytes:
        with self._translating(name):
            return bytes(
                self._blob(name).download_as_bytes(
                    start=begin, end=begin + length - 1, timeout=_SECONDS, retry=None, checksum=None
                )
            )

    def begin_upload(self, name: str, size: int) -> str:
        with self._translating():
            return str(
                self._blob(name).create_resumable_upload_session(
                    content_type="application/octet-stream", size=size, timeout=_SECONDS
                )
            )

    def put_part(self, name: str, upload: str, part: Part, content: bytes) -> str:
        """https://cloud.google.com/storage/docs/performing-resumable-uploads: what it has already it passes over."""
        last = part.begin + part.length - 1
        headers = {"Content-Range": f"bytes {part.begin}-{last}/{part.size}"}
        with self._translating(name):
            answer = self._client._http.put(upload, data=content, headers=headers, timeout=_SECONDS)
        if answer.status_code in (404, 410):
            raise ObjectMissing(f"The upload of {name} is over.")
        taken = answer.status_code in (200, 201) or (
            answer.status_code == 308 and answer.headers.get("Range", "").endswith(f"-{last}")
        )
        if not taken:
            raise StoreUnreachable(f"The bucket {self._name} did not take all of a part of {name}.")
        return str(part.number)

    def copy_part(self, source: Store, name: str, upload: str, part: Part) -> str | None:
        return None

    def finish_upload(self, name: str, upload: str, receipts: Sequence[str]) -> None:
        """The last part has put it in its place."""
        if self.size(name) is None:
            raise ObjectMissing(f"The upload of {name} is over.")

    def abort_upload(self, name: str, upload: str) -> None:
        with self._translating():
            self._client._http.delete(upload, timeout=_SECONDS)

    def lock(self, name: str, until: datetime) -> None:
        """https://cloud.google.com/storage/docs/object-lock: Locked is compliance, Unlocked can be taken back."""
        blob = self._blob(name)
        blob.retention.mode = "Locked" if self._object_lock == "compliance" else "Unlocked"
        blob.retention.retain_until_time = until
        with self._translating(name):
            blob.patch(timeout=_SECONDS, retry=None)

    def check_lock(self) -> None:
        with self._translating():
            bucket = self._client.get_bucket(self._name, timeout=_SECONDS, retry=None)
        if bucket.object_retention_mode != "Enabled":
            raise StoreRefused(
                f"The bucket {self._name} has no object retention.",
                hint="Switch object retention on for the bucket, or bring the location without it.",
            )

    def probe(self) -> None:
        name = f"{PROBE}-{secrets.token_hex(8)}"
        self.put(name, b"probe")
        if self.get(name) != b"probe":
            raise StoreUnreachable(f"The bucket {self._name} gives back something else than was written.")
        self.delete([name])

    def _key(self, name: str) -> str:
        return self._root + checked(name)

    def _blob(self, name: str) -> Blob:
        return self._bucket.blob(self._key(name))

    def _raise_without_bucket(self, error: NotFound) -> None:
        if "bucket" in str(error.message).lower():
            raise error

    @contextmanager
    def _translating(self, name: str = "") -> Iterator[None]:
        try:
            yield
        except NotFound as error:
            raise self._not_found(error, name) from error
        except (Forbidden, Unauthorized) as error:
            raise StoreRefused(
                f"The bucket {self._name} refuses: {error.message}",
                hint="The service account needs the role Storage Object Admin on the bucket.",
            ) from error
        except GoogleAuthError as error:
            raise StoreRefused(
                f"Google does not accept the credentials for the bucket {self._name}: {error}",
                hint="Give the backup location the key of a service account.",
            ) from error
        except (GoogleAPICallError, RequestException, OSError) as error:
            raise StoreUnreachable(f"The bucket {self._name} cannot be reached: {error}") from error

    def _not_found(self, error: NotFound, name: str) -> StoreError:
        if name and "bucket" not in str(error.message).lower():
            return ObjectMissing(f"There is no {name} in the bucket {self._name}.")
        return StoreMissing(f"There is no bucket {self._name}.", hint="Make it, or correct its name.")


def _client(spec: StoreSpec) -> Client:
    options = ClientOptions(api_endpoint=spec.endpoint) if spec.endpoint else None
    if spec.service_account:
        try:
            key = json.loads(spec.service_account)
            credentials = service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]
                key, scopes=[_SCOPE]
            )
        except (ValueError, KeyError) as error:
            raise StoreRefused(
                "The key of the service account cannot be read.", hint="Paste the JSON file as Google hands it out."
            ) from error
        return Client(project=str(key.get("project_id", "")), credentials=credentials, client_options=options)
    if spec.endpoint:
        anonymous = AnonymousCredentials()  # type: ignore[no-untyped-call]
        return Client(project="emulated", credentials=anonymous, client_options=options)
    try:
        return Client(client_options=options)
    except (GoogleAuthError, OSError) as error:
        raise StoreRefused(
            f"There are no credentials for the bucket {spec.bucket}: {error}",
            hint="Give the backup location the key of a service account.",
        ) from error
