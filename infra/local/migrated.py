"""The files of a Postgres whose database `ringmaster_migrated` has every migration, made once and kept in the cache.

Migrating an empty database takes ten seconds, and every worker of every test run would do it. Django makes its test
databases as copies of this one instead, which takes a tenth of a second.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from infra.local import services, stamps
from infra.local.layout import layout

DATABASE = "ringmaster_migrated"


def prepared_files() -> Path:
    """A folder with the files of a stopped Postgres, to be copied, never used in its place.

    Made when the migrations are other than they were, whoever asks first; the rest wait. Raises ServiceError.
    """
    place = layout()
    backend = place.checkout / "backend"
    sources = [place.checkout / "requirements.txt", *sorted(backend.glob("*/migrations"))]
    name = stamps.fingerprint(sources, facts=[services.postgres_program("postgres")])[:16]
    folder = place.cache / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        files = folder / f"postgres-{name}"
        if not files.exists():
            _make(folder / "new", files)
            for old in folder.glob("postgres-*"):
                if old != files:
                    shutil.rmtree(old, ignore_errors=True)
        return files


def _make(work: Path, files: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    postgres = services.start_postgres(work)
    try:
        services.create_database(postgres.sockets, DATABASE)
        variables = {
            **os.environ,
            "DATABASE_URL": services.postgres_url(postgres.sockets, DATABASE),
            "DJANGO_SETTINGS_MODULE": "backend.config.offline_settings",
        }
        command = [sys.executable, "-m", "backend.manage", "migrate", "--verbosity=0"]
        done = subprocess.run(
            command, env=variables, cwd=layout().checkout, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise services.ServiceError(f"the migrations failed:\n{done.stderr.strip()}")
    finally:
        postgres.stop()
    (work / "data").rename(files)
    shutil.rmtree(work)
