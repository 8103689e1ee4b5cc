"""Several machines start with a new version at once: what changes the whole installation happens one at a time."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connection

from infra.local import services
from infra.local.layout import CHECKOUT

HELD = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"


def manage(environment: dict[str, str], *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "backend.manage", *words]
    return subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_machines_prepare_an_empty_database_at_once(tmp_path: Path):
    tmp_path.parent.chmod(0o711)
    tmp_path.chmod(0o711)
    (tmp_path / "django.key").write_text("s" * 40)
    (tmp_path / "master.key").write_text(base64.b64encode(b"m" * 32).decode())
    postgres = services.start_postgres(tmp_path / "postgres")
    try:
        services.create_database(postgres.sockets, "fresh")
        environment = {
            **os.environ,
            "DATABASE_URL": services.postgres_url(postgres.sockets, "fresh"),
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "RINGMASTER_SECRET_KEY_FILE": str(tmp_path / "django.key"),
            "RINGMASTER_MASTER_KEY_FILE": str(tmp_path / "master.key"),
            "RINGMASTER_PUBLIC_URL": "https://ringmaster.example",
            "RINGMASTER_ENROL_URL": "https://enrol.example:8444/enrol/v1",
            "DJANGO_SETTINGS_MODULE": "backend.config.settings",
        }
        for words in (["migrate", "--no-input"], ["bootstrap"]):
            both = [manage(environment, *words) for _ in range(2)]
            for each in both:
                _, complaint = each.communicate(timeout=240)
                assert each.returncode == 0, complaint
        with psycopg.connect(environment["DATABASE_URL"]) as database:
            row = database.execute("SELECT count(*), count(DISTINCT (app, name)) FROM django_migrations").fetchone()
            assert row is not None
            assert row[0] == row[1] > 100
    finally:
        postgres.stop()


def test_the_lock_is_given_back(db):
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(HELD)
        assert cursor.fetchone() == (0,)
