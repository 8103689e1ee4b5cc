"""An environment of throw-away values, for tests and for tools that load the settings but run nothing."""

import base64
import os
import tempfile
from pathlib import Path


def provide_environment() -> None:
    """Sets every required variable that is not set yet. Secrets are the same in all processes of one user's tests."""
    folder = Path(tempfile.gettempdir()) / f"ringmaster-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    secret_key, master_key = folder / "secret.key", folder / "master.key"
    _write_once(secret_key, "not-a-secret-only-for-tests-" + "0" * 32)
    _write_once(master_key, base64.b64encode(b"only-for-tests-only-for-tests-32").decode())
    for name, value in {
        "DATABASE_URL": "postgresql:///ringmaster",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "RINGMASTER_SECRET_KEY_FILE": str(secret_key),
        "RINGMASTER_MASTER_KEY_FILE": str(master_key),
        "RINGMASTER_PUBLIC_URL": "http://testserver",
        "RINGMASTER_ENROL_URL": "https://127.0.0.1:8444/enrol/v1",
        # Counted like everywhere, and wide enough for tests that ask as fast as they can.
        "RINGMASTER_RATE_LIMIT_CALLER": "100000:100000",
        "RINGMASTER_RATE_LIMIT_ORGANISATION": "100000:100000",
    }.items():
        os.environ.setdefault(name, value)


def _write_once(path: Path, text: str) -> None:
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.rename(path)
