"""`ringmaster cqlsh` against the real API; a small program stands for cqlsh and tells how it was called."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from django.utils.timezone import now
from ringmaster.cli import cqlsh, failures, profiles
from ringmaster.cli.root import run
from ringmaster.transport import Transport

from backend.access import actions
from backend.access.models import RoleLifetime
from backend.clusters.models import Cluster
from backend.conftest import Tenant
from backend.operations.models import Operation

from .conftest import URL

_STAND_IN = """#!{python}
import json, os, sys
rc = sys.argv[sys.argv.index("--cqlshrc") + 1]
folder = os.path.dirname(rc)
files = {{name: open(os.path.join(folder, name)).read() for name in os.listdir(folder)}}
modes = sorted({{oct(os.stat(os.path.join(folder, name)).st_mode & 0o777) for name in files}})
json.dump({{"arguments": sys.argv[1:], "files": files, "modes": modes, "folder": folder}}, open({told!r}, "w"))
sys.exit({code})
"""


@pytest.fixture
def shell(
    server: httpx.BaseTransport,
    tenant: Tenant,
    active: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[int, dict[str, object]]]:
    """Opens a shell on the cluster `orders`; what the database would do is done while the program waits."""
    monkeypatch.setenv("RINGMASTER_URL", URL)
    monkeypatch.setenv("RINGMASTER_TOKEN", tenant.token())

    def work(_: float) -> None:
        for order in Operation.objects.filter(kind="change_access", state="pending"):
            actions.role_changed(order)
        Operation.objects.filter(finished_at=None).update(state="succeeded", finished_at=now(), due_at=None)

    def transport_of(profile: profiles.Profile) -> Transport:
        return Transport(profile.url, profile.token, http=server, sleep=work)

    def invoke(*words: str, code: int = 0) -> tuple[int, dict[str, object]]:
        program, told = tmp_path / "cqlsh", tmp_path / "told.json"
        program.write_text(_STAND_IN.format(python=sys.executable, told=str(told), code=code))
        program.chmod(0o755)
        monkeypatch.setattr(cqlsh, "_program", lambda: str(program))
        result = run(["cqlsh", "orders", *words], transport_of=transport_of)
        return result, json.loads(told.read_text()) if told.exists() else {}

    return invoke


def ordered() -> list[list[dict[str, object]]]:
    return [order.parameters["changes"] for order in Operation.objects.filter(kind="change_access").order_by("id")]


def test_a_role_is_made_for_it_and_taken_away(shell: Callable[..., tuple[int, dict[str, object]]]) -> None:
    code, told = shell("-e", "SELECT now() FROM system.local")
    assert code == 0
    made, dropped = ordered()
    assert made[0] == {"action": "create", "can_login": True, "password": True}
    assert made[1] == {"action": "grant", "resource": "data", "permissions": ["SELECT"]}
    assert dropped == [{"action": "drop"}]
    arguments, files = told["arguments"], told["files"]
    assert arguments[0] == "--ssl"
    assert arguments[3:] == ["-e", "SELECT now() FROM system.local", "127.1.0.1", "9042"]
    assert "BEGIN CERTIFICATE" in files["ca.pem"]
    assert "validate = true" in files["cqlshrc"]
    assert "password = " in files["credentials"]
    assert "password = " not in files["cqlshrc"]
    assert told["modes"] == ["0o600"]
    assert not os.path.exists(str(told["folder"]))


def test_it_may_do_what_was_asked_for_and_ends_by_itself(shell: Callable[..., tuple[int, dict[str, object]]]) -> None:
    shell("--write", "--schema", "--minutes", "30")
    assert ordered()[0][1]["permissions"] == ["SELECT", "MODIFY", "CREATE", "ALTER", "DROP"]
    lifetime = RoleLifetime.objects.get()
    assert lifetime.role.startswith("shell_")
    assert 29 * 60 < (lifetime.expires_at - now()).total_seconds() <= 30 * 60


def test_the_shells_exit_code_is_the_commands(shell: Callable[..., tuple[int, dict[str, object]]]) -> None:
    assert shell(code=2)[0] == 2
    assert ordered()[-1] == [{"action": "drop"}]


def test_without_permission_no_shell_is_opened(
    shell: Callable[..., tuple[int, dict[str, object]]], tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGMASTER_TOKEN", tenant.token(scopes=["clusters:read"]))
    assert shell() == (failures.NOT_ALLOWED, {})
    assert ordered() == []
