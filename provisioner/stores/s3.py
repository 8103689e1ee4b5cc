"""Amazon S3, and every server that speaks its language."""

import base64
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from provisioner.stores.base import (
    PROBE,
    ObjectMissing,
    Part,
    Store,
    Stored,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreRefused,
    StoreSpec,
    StoreUnreachable,
    checked,
)

_CHUNK = 1 << 20
# Within what a step of an operation may take; it is the operation that tries again.
_CONNECT_SECONDS, _READ_SECONDS = 1.5, 2.5
_AT_ONCE = 1000
_ABSENT = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})
_REFUSED = frozenset({"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "Forbidden"})


class S3Store:
    def __init__(self, spec: StoreSpec) -> None:
        self._bucket = spec.bucket
        self._root = f"{spec.prefix}/" if spec.prefix else ""
        self._object_lock = spec.object_lock
        self.service = spec.endpoint
        """Whose buckets can be copied into each other without us; empty: Amazon's."""
        self._client: Any = boto3.client(
            "s3",
            region_name=spec.region or None,
            endpoint_url=spec.endpoint or None,
            aws_access_key_id=spec.access_key_id or None,
            aws_secret_access_key=spec.secret_access_key or None,
            config=Config(
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_READ_SECONDS,
                retries={"total_max_attempts": 1, "mode": "standard"},
                # Servers that only speak like S3 know neither the newer checksums nor, often, names of hosts.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                s3={"addressing_style": "path"} if spec.endpoint else {},
            ),
        )

    def put(self, name: str, content: bytes) -> None:
        with self._translating(name):
            self._client.put_object(Bucket=self._bucket, Key=self._key(name), Body=content)

    def get(self, name: str) -> bytes:
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        with self._translating(name):
            body = self._client.get_object(Bucket=self._bucket, Key=self._key(name))["Body"]
            yield from body.iter_chunks(_CHUNK)

    def size(self, name: str) -> int | None:
        try:
            with self._translating(name):
                return int(self._client.head_object(Bucket=self._bucket, Key=self._key(name))["ContentLength"])
        except ObjectMissing:
            return None

    def delete(self, names: Sequence[str]) -> None:
        if not names:
            return
        if len(names) > _AT_ONCE:
            raise ValueError(f"{len(names)} objects at once, and {_AT_ONCE} are the most")
        keys = [{"Key": self._key(name)} for name in names]
        if self._object_lock:
            keys = [version for key in keys for version in self._versions(key["Key"])]
        if not keys:
            return
        with self._translating():
            answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": keys, "Quiet": True})
        for failed in answer.get("Errors", []):
            if failed["Code"] not in _ABSENT:
                raise self._in_words(failed["Code"], failed.get("Message", ""), failed["Key"])

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stored]:
        with self._translating():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._root + prefix, **({"StartAfter": self._root + after} if after else {})
            )
            for page in pages:
                for found in page.get("Contents", []):
                    name = found["Key"].removeprefix(self._root)
                    yield Stored(name=name, size=found["Size"], modified_at=found["LastModified"])

    def read(self, name: str, begin: int, length: int) -> bytes:
        with self._translating(name):
            answer = self._client.get_object(
                Bucket=self._bucket, Key=self._key(name), Range=f"bytes={begin}-{begin + length - 1}"
            )
            return bytes(answer["Body"].read())

    def begin_upload(self, name: str, size: int) -> str:
        with self._translating():
            answer = self._client.create_multipart_upload(Bucket=self._bucket, Key=self._key(name))
            return str(answer["UploadId"])

    def put_part(self, name: str, upload: str, part: Part, content: bytes) -> str:
        with self._translating(name):
            answer = self._client.upload_part(
                Bucket=self._bucket,
                Key=self._key(name),
                UploadId=upload,
                PartNumber=part.number + 1,
                Body=content,
                # The service compares it with what has arrived.
                ContentMD5=base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode(),
            )
            return str(answer["ETag"])

    def copy_part(self, source: Store, name: str, upload: str, part: Part) -> str | None:
        if not isinstance(source, S3Store) or source.service != self.service:
            return None
        try:
            answer = self._client.upload_part_copy(
                Bucket=self._bucket,
                Key=self._key(name),
                UploadId=upload,
                PartNumber=part.number + 1,
                CopySource={"Bucket": source._bucket, "Key": source._key(name)},
                **(
                    {}
                    if part.length == part.size
                    else {"CopySourceRange": f"bytes={part.begin}-{part.begin + part.length - 1}"}
                ),
            )
        except (ClientError, BotoCoreError):
            # Whoever may write here need not be allowed to read there; then it goes through us.
            return None
        return str(answer["CopyPartResult"]["ETag"])

    def finish_upload(self, name: str, upload: str, receipts: Sequence[str]) -> None:
        parts = [{"PartNumber": number, "ETag": receipt} for number, receipt in enumerate(receipts, start=1)]
        with self._translating(name):
            self._client.complete_multipart_upload(
                Bucket=self._bucket, Key=self._key(name), UploadId=upload, MultipartUpload={"Parts": parts}
            )

    def abort_upload(self, name: str, upload: str) -> None:
        with suppress(ObjectMissing), self._translating(name):
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=self._key(name), UploadId=upload)

    def _versions(self, key: str) -> Sequence[dict[str, str]]:
        """In a bucket with locks a deletion without a version only hides the object."""
        with self._translating():
            pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=key)
            found = [one for page in pages for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]
        return [{"Key": key, "VersionId": one["VersionId"]} for one in found if one["Key"] == key]

    def lock(self, name: str, until: datetime) -> None:
        with self._translating(name):
            self._client.put_object_retention(
                Bucket=self._bucket,
                Key=self._key(name),
                Retention={"Mode": self._object_lock.upper(), "RetainUntilDate": until},
            )

    def check_lock(self) -> None:
        try:
            answer = self._client.get_object_lock_configuration(Bucket=self._bucket)
            enabled = answer["ObjectLockConfiguration"].get("ObjectLockEnabled") == "Enabled"
        except ClientError as error:
            told = error.response["Error"]
            if told.get("Code") != "ObjectLockConfigurationNotFoundError":
                raise self._in_words(str(told.get("Code", "")), told.get("Message", ""), "") from error
            enabled = False
        except (BotoCoreError, OSError) as error:
            raise StoreUnreachable(f"The bucket {self._bucket} cannot be reached: {error}") from error
        if not enabled:
            raise StoreRefused(
                f"The bucket {self._bucket} has no object lock.",
                hint="Switch object lock on for the bucket, or bring the location without it.",
            )

    def probe(self) -> None:
        name = f"{PROBE}-{secrets.token_hex(8)}"
        self.put(name, b"probe")
        if self.get(name) != b"probe":
            raise StoreUnreachable(f"The bucket {self._bucket} gives back something else than was written.")
        self.delete([name])

    def _key(self, name: str) -> str:
        return self._root + checked(name)

    @contextmanager
    def _translating(self, name: str = "") -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            told = error.response["Error"]
            raise self._in_words(str(told.get("Code", "")), told.get("Message", ""), name) from error
        except NoCredentialsError as error:
            raise StoreRefused(
                f"There are no credentials for the bucket {self._bucket}.",
                hint="Give the backup location an access key, or the control plane a role.",
            ) from error
        except (BotoCoreError, OSError) as error:
            raise StoreUnreachable(f"The bucket {self._bucket} cannot be reached: {error}") from error

    def _in_words(self, code: str, message: str, name: str) -> StoreError:
        if code in _ABSENT and name:
            return ObjectMissing(f"There is no {name} in the bucket {self._bucket}.")
        if code in ("NoSuchBucket", *_ABSENT):
            return StoreMissing(f"There is no bucket {self._bucket}.", hint="Make it, or correct its name or region.")
        if code in _REFUSED:
            return StoreRefused(
                f"The bucket {self._bucket} refuses: {message or code}",
                hint="The key needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket there.",
            )
        if code in ("QuotaExceeded", "XMinioStorageFull"):
            return StoreFull(f"The bucket {self._bucket} is full.", hint="Make room, or keep fewer backups.")
        return StoreUnreachable(f"The bucket {self._bucket}: {message or code}")
