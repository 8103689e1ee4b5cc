"""The control plane's own database, backed up, destroyed and restored with a Postgres of its own."""

import base64
import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from backend.config import database_backup
from backend.config.database_backup import BackUpError, back_up, restore
from backend.config.environment import Env
from backend.core.key_files import WrappedKey, parsed
from backend.core.master_keys import Keyring, opened_by_service
from backend.core.secrets import MasterKey
from e2e.serving import serving
from infra.local import migrated, services
from infra.local.layout import CHECKOUT


@dataclass(frozen=True)
class Installation:
    folder: Path
    environment: dict[str, str]

    def manage(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "backend.manage", *(str(word) for word in words)]
        return subprocess.run(
            command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )

    def done(self, *words: str | Path) -> str:
        result = self.manage(*words)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.environment["DATABASE_URL"], autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent.is_relative_to(tmp_path_factory.getbasetemp()):
            parent.chmod(0o711)
    (folder / "django.key").write_text("s" * 40)
    (folder / "master.key").write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    postgres = services.start_postgres(folder / "postgres", migrated.prepared_files())
    environment = {
        **os.environ,
        "DATABASE_URL": services.postgres_url(postgres.sockets, migrated.DATABASE),
        "DJANGO_SETTINGS_MODULE": "backend.config.settings",
        "RINGMASTER_SECRET_KEY_FILE": str(folder / "django.key"),
        "RINGMASTER_MASTER_KEY_FILE": str(folder / "master.key"),
        "RINGMASTER_PUBLIC_URL": "http://127.0.0.1:1",
        "RINGMASTER_ENROL_URL": "https://127.0.0.1:1/enrol/v1",
    }
    made = Installation(folder, environment)
    try:
        credentials = folder / "credentials.json"
        made.done(
            *("bootstrap", "--organisation=Acme", "--owner-email=boss@acme.example"),
            f"--credentials-file={credentials}",
        )
        made.done("back_up", "--to", folder / "saved")
        yield made
    finally:
        postgres.stop()


def test_what_was_destroyed_works_again_and_its_secrets_open(installation: Installation):
    before = installation.sql("SELECT count(*) FROM clusters_secret")[0][0]
    assert before
    installation.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    words = installation.done("restore_backup", "--from", installation.folder / "saved")
    assert f"{before} secrets open" in words
    token = json.loads((installation.folder / "credentials.json").read_text())["api_token"]
    with serving("backend.config.asgi:application", environment=installation.environment) as api:
        assert httpx.get(f"{api.url}/readyz", timeout=60).status_code == 200
        answer = httpx.get(f"{api.url}/api/v1/session", headers={"Authorization": f"Bearer {token}"}, timeout=60)
        assert answer.json()["organisation"]["name"] == "Acme"


def test_neither_the_master_key_nor_a_file_that_others_can_read_is_in_it(installation: Installation):
    files = list((installation.folder / "saved").iterdir())
    key = (installation.folder / "master.key").read_bytes()
    assert {file.name for file in files} == {"database.dump", "back-up.json"}
    assert (installation.folder / "saved").stat().st_mode & 0o077 == 0
    for file in files:
        assert key not in file.read_bytes()
        assert base64.b64decode(key) not in file.read_bytes()


def ring(key: MasterKey | WrappedKey) -> Keyring:
    return Keyring([key], held_seconds=60, opened=opened_by_service)


@pytest.fixture
def here(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> Iterator[Installation]:
    """The functions in this process, on that installation: commands need seconds to start."""
    environment = {name.lower(): value for name, value in installation.environment.items()}
    env = Env(**environment)
    connection = ConnectionHandler({"default": env.database()})["default"]
    monkeypatch.setattr(database_backup, "connection", connection)
    monkeypatch.setattr(database_backup, "keyring", lambda: ring(parsed(env.ringmaster_master_key_file.read_text())))
    with django_db_blocker.unblock():
        yield installation
        connection.close()


def refused(folder: Path, *, replace: bool = True) -> str:
    with pytest.raises(BackUpError) as refusal:
        restore(folder, replace=replace)
    return str(refusal.value)


def test_another_key_is_refused_and_nothing_changes(here: Installation, monkeypatch: pytest.MonkeyPatch):
    before = here.sql("SELECT xmin::text, name FROM accounts_organisation")
    monkeypatch.setattr(database_backup, "keyring", lambda: ring(MasterKey(secrets.token_bytes(32))))
    assert "Put the key file of that installation into" in refused(here.folder / "saved")
    assert here.sql("SELECT xmin::text, name FROM accounts_organisation") == before


def test_a_full_database_is_replaced_only_when_asked(here: Installation):
    here.sql("UPDATE accounts_organisation SET name = 'Changed'; CREATE TABLE IF NOT EXISTS from_later (id int)")
    saved = here.folder / "saved"
    assert "--replace gives up what is in it" in refused(saved, replace=False)
    assert here.sql("SELECT name FROM accounts_organisation") == [("Changed",)]
    restore(saved, replace=True)
    assert here.sql("SELECT name FROM accounts_organisation") == [("Acme",)]
    assert here.sql("SELECT to_regclass('from_later')") == [(None,)]


def test_it_is_refused_while_somebody_uses_the_database(here: Installation):
    with psycopg.connect(here.environment["DATABASE_URL"]):
        assert "Stop the API, workers and beat first" in refused(here.folder / "saved")


def test_what_is_damaged_or_newer_is_refused(here: Installation):
    assert "newer Ringmaster" in refused(changed(here, "newer", migrations=["clusters.9999_to_come"]))
    damaged = changed(here, "damaged")
    with (damaged / "database.dump").open("r+b") as dump:
        dump.truncate(1000)
    assert "it is damaged" in refused(damaged)
    assert "is no back-up" in refused(here.folder)
    with pytest.raises(BackUpError, match="name a folder that does not"):
        back_up(here.folder / "saved")


def test_a_back_up_that_ends_early_changes_nothing(here: Installation):
    short = changed(here, "short")
    dump = short / "database.dump"
    with dump.open("r+b") as file:
        file.truncate(dump.stat().st_size * 3 // 4)
    description = json.loads((short / "back-up.json").read_text())
    description["sha256"] = hashlib.sha256(dump.read_bytes()).hexdigest()
    (short / "back-up.json").write_text(json.dumps(description))
    before = here.sql("SELECT xmin::text, name FROM accounts_organisation")
    assert "Postgres did not take the back-up" in refused(short)
    assert here.sql("SELECT xmin::text, name FROM accounts_organisation") == before


def changed(installation: Installation, name: str, **values: object) -> Path:
    """A copy of the back-up that says something else of itself."""
    folder = installation.folder / name
    subprocess.run(["cp", "--archive", installation.folder / "saved", folder], check=True)
    description = json.loads((folder / "back-up.json").read_text()) | values
    (folder / "back-up.json").write_text(json.dumps(description))
    return folder
