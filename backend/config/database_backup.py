"""Back-up and restore of the control plane's own database, with Postgres' own programs: docs/deploy.md.

A back-up is a folder: the database as pg_dump writes it, and a description with the fingerprint of the master key,
which itself is never in it. It is readable by its owner only: it holds people's e-mail addresses and hashes of their
passwords.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from backend.clusters import vault
from backend.clusters.models import Cluster, Secret
from backend.core.master_keys import keyring
from backend.core.secrets import SecretUnreadable

FORMAT = 1
_DUMP, _DESCRIPTION = "database.dump", "back-up.json"


class BackUpError(Exception):
    """What was asked for was not done. The text says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a back-up says of itself. `sha256` is of the dump; `master_key_ids` name all keys that rows need."""

    format: int
    made_at: str
    sha256: str
    size_bytes: int
    master_key_ids: list[str]
    migrations: list[str]
    postgres: str


def back_up(folder: Path) -> Description:
    """Write a consistent back-up of the database into `folder`, which must not exist. The product goes on meanwhile."""
    if folder.exists():
        raise BackUpError(f"{folder} exists: name a folder that does not.")
    made = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o700, parents=True)
    try:
        dump = made / _DUMP
        # First, so that a key that came into use meanwhile cannot be missing: the dump is of this moment or later.
        keys, migrations = keys_in_use(), _applied()
        os.close(os.open(dump, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _run([_program("pg_dump"), "--format=custom", "--no-owner", "--no-privileges", f"--file={dump}"])
        description = Description(
            format=FORMAT,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            sha256=_sha256(dump),
            size_bytes=dump.stat().st_size,
            master_key_ids=keys,
            migrations=migrations,
            postgres=_server_version(),
        )
        (made / _DESCRIPTION).write_text(json.dumps(asdict(description), indent=2) + "\n")
        # Whole or not there: an interrupted one must not pass for a back-up.
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return description


def restore(folder: Path, *, replace: bool) -> Description:
    """Put the back-up in place of an empty database, or of a full one with `replace`. Nothing changes if it fails."""
    description = _described(folder)
    _refuse_other_keys(description)
    _refuse_newer(description)
    _refuse_while_used()
    if not replace and connection.introspection.table_names():
        raise BackUpError("The database is not empty. --replace gives up what is in it.")
    connection.close()
    _load(folder / _DUMP)
    return description


def hold_healing() -> int:
    """So that nothing is bought for clusters that were deleted since the back-up. How many are living."""
    return Cluster.objects.filter(deleted_at=None).update(healing_held=True)


def open_all_secrets() -> int:
    """Decrypt every stored secret, so that a restore is known to be good; how many there were. Tables must be ours."""
    opened = 0
    for secret in Secret.objects.order_by("id").iterator():
        try:
            vault.opened(secret)
        except SecretUnreadable as error:
            raise BackUpError(f"The database is there, but a secret cannot be opened: {error}.") from error
        opened += 1
    return opened


def _described(folder: Path) -> Description:
    try:
        description = Description(**json.loads((folder / _DESCRIPTION).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise BackUpError(f"{folder} is no back-up: {error}") from error
    if description.format != FORMAT:
        raise BackUpError(f"This back-up has format {description.format}, and this Ringmaster reads {FORMAT}.")
    if not (folder / _DUMP).is_file() or _sha256(folder / _DUMP) != description.sha256:
        raise BackUpError(f"{folder / _DUMP} is not what was written: it is damaged. Take another back-up.")
    return description


def _refuse_other_keys(description: Description) -> None:
    missing = sorted(set(description.master_key_ids) - keyring().ids)
    if missing:
        raise BackUpError(
            f"The secrets in this back-up were encrypted with master key {', '.join(missing)}, but "
            f"this installation has {', '.join(sorted(keyring().ids))}. Put the key file of that installation into "
            "RINGMASTER_MASTER_KEY_FILE or RINGMASTER_FORMER_MASTER_KEY_FILES: without it no secret can ever be read."
        )


def _refuse_newer(description: Description) -> None:
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or {}}
    if unknown := sorted(set(description.migrations) - known):
        raise BackUpError(
            f"This back-up was made by a newer Ringmaster ({unknown[0]} is not known here). Install that version first."
        )


def _refuse_while_used() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        others = cursor.fetchone()[0]
    if others:
        raise BackUpError(f"{others} other sessions use the database. Stop the API, workers and beat first.")


def _load(dump: Path) -> None:
    """All of it in one transaction, in place of what there is: what a newer version added goes too."""
    reading = [_program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(dump)]
    writing = [_program("psql"), "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    writing += ["--output=/dev/null", "--command=DROP SCHEMA public CASCADE; CREATE SCHEMA public", "--file=-"]
    with (
        subprocess.Popen(reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as source,
        subprocess.Popen(
            writing, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
        ) as target,
    ):
        assert source.stdout is not None
        assert source.stderr is not None
        assert target.stdin is not None
        assert target.stderr is not None
        with suppress(BrokenPipeError):  # it says itself why it ended
            shutil.copyfileobj(source.stdout, target.stdin)
        source.stdout.close()
        complaint = source.stderr.read()
        if source.wait() != 0 and target.poll() is None:
            # Before its input ends: it would take the end for that of the back-up, and commit half of it.
            target.kill()
        with suppress(BrokenPipeError):
            target.stdin.close()
        complaint = target.stderr.read() or complaint
        if target.wait() != 0:
            words = complaint.decode().strip().splitlines()
            raise BackUpError(f"Postgres did not take the back-up: {words[0] if words else 'it was ended'}")


def keys_in_use() -> list[str]:
    """The ids of all master keys that some row is encrypted with."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name = 'master_key_id' ORDER BY table_name"
        )
        tables = [row[0] for row in cursor.fetchall()]
        found: set[str] = set()
        for table in tables:
            cursor.execute(f"SELECT DISTINCT master_key_id FROM {connection.ops.quote_name(table)}")
            found |= {row[0] for row in cursor.fetchall() if row[0]}
    return sorted(found)


def _applied() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationLoader(connection).applied_migrations)


def _server_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return str(cursor.fetchone()[0])


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _program(name: str) -> str:
    """The newest that there is: Debian keeps one for each version of Postgres; an older one refuses a newer server."""
    versions = [path for path in Path("/usr/lib/postgresql").glob(f"*/bin/{name}") if path.parents[1].name.isdigit()]
    newest = max(versions, key=lambda path: int(path.parents[1].name), default=None)
    found = str(newest) if newest else shutil.which(name)
    if found is None:
        raise BackUpError(f"{name} is missing: install Postgres' client programs (Debian: postgresql-client).")
    return found


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if result.returncode != 0:
        raise BackUpError(f"{Path(command[0]).name} failed: {result.stderr.strip()}")


def _environment() -> dict[str, str]:
    """Where the database is, as Postgres' programs take it; a password is never on a command line."""
    database = connection.settings_dict
    found = {
        "PGDATABASE": database["NAME"],
        "PGHOST": database["HOST"],
        "PGPORT": database["PORT"],
        "PGUSER": database["USER"],
        "PGPASSWORD": database["PASSWORD"],
        "PGSSLMODE": database["OPTIONS"].get("sslmode", ""),
        "PGSSLROOTCERT": database["OPTIONS"].get("sslrootcert", ""),
    }
    return {**os.environ, **{name: str(value) for name, value in found.items() if value}}
