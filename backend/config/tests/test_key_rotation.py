"""A new master key taken into use while the product runs."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from backend.clusters import vault
from backend.clusters.models import Secret
from backend.clusters.states import SecretPurpose
from backend.config import key_rotation
from backend.conftest import Tenant
from backend.console import sealed
from backend.console.states import SecretPurpose as Console
from backend.core import master_keys
from backend.core.key_files import as_text, parsed
from backend.core.key_services import KeyServiceError
from backend.core.master_keys import Keyring
from backend.core.secrets import MasterKey
from backend.core.tests.google_keys import NAME, GoogleKeys

pytestmark = pytest.mark.django_db

OLD, NEW = MasterKey(b"o" * 32), MasterKey(b"n" * 32)


def use(patch: pytest.MonkeyPatch, *keys: MasterKey) -> None:
    ring = Keyring(keys, held_seconds=60, opened=master_keys.opened_by_service)
    for module in (master_keys, key_rotation):
        patch.setattr(module, "keyring", lambda: ring)
    patch.setattr("backend.config.management.commands.rotate_master_key.keyring", lambda: ring)


def rotate(*arguments: str) -> str:
    said = StringIO()
    call_command("rotate_master_key", *arguments, stdout=said)
    return said.getvalue()


def test_all_kinds_of_rows_are_wrapped_anew_and_open_without_the_former_key(
    monkeypatch: pytest.MonkeyPatch, tenant: Tenant
) -> None:
    use(monkeypatch, OLD)
    vault.keep("clu_1", SecretPurpose.ADMIN_PASSWORD, b"sesame")
    sealed.keep("cqs_1", Console.STATEMENT, {"text": "SELECT 1"}, until=timezone.now() + timedelta(hours=1))
    api, order = tenant.api(), {"name": "ci", "scopes": ["clusters:read"]}
    made = api.post("/tokens", order, **{"idempotency-key": "one"})
    assert made.status_code == 201, made.content
    ciphertext = bytes(Secret.objects.get(owner="clu_1").ciphertext)

    use(monkeypatch, NEW, OLD)
    with pytest.raises(CommandError, match=f"Still needed: {OLD.id}"):
        rotate("--check")
    assert f"Nothing needs master key {OLD.id} any more" in rotate()

    use(monkeypatch, NEW)
    assert vault.read("clu_1", SecretPurpose.ADMIN_PASSWORD) == b"sesame"
    assert bytes(Secret.objects.get(owner="clu_1").ciphertext) == ciphertext
    assert sealed.find("cqs_1", Console.STATEMENT) == {"text": "SELECT 1"}
    again = api.post("/tokens", order, **{"idempotency-key": "one"})
    assert again.json() == made.json()
    assert key_rotation.former_keys_in_use() == []


def test_a_row_that_changes_meanwhile_keeps_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, OLD)
    vault.keep("clu_1", SecretPurpose.ADMIN_PASSWORD, b"before")
    use(monkeypatch, NEW, OLD)
    stale = Secret.objects.get(owner="clu_1")
    vault.keep("clu_1", SecretPurpose.ADMIN_PASSWORD, b"after")
    assert key_rotation._rewrapped(key_rotation.KINDS[0], stale) == 0
    assert vault.read("clu_1", SecretPurpose.ADMIN_PASSWORD) == b"after"


def test_without_the_former_key_nothing_changes_and_it_says_which_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, OLD)
    vault.keep("clu_1", SecretPurpose.ADMIN_PASSWORD, b"sesame")
    use(monkeypatch, NEW)
    with pytest.raises(CommandError, match=f"it needs master key {OLD.id}"):
        rotate()
    assert Secret.objects.get(owner="clu_1").master_key_id == OLD.id


def test_every_kind_of_row_that_names_a_master_key_is_rotated() -> None:
    named = {model for model in apps.get_models() if any(f.name == "master_key_id" for f in model._meta.get_fields())}
    assert named == {kind.model for kind in key_rotation.KINDS}


def test_a_write_while_the_key_service_is_away_is_refused_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tenant: Tenant
) -> None:
    def away(_: Any) -> MasterKey:
        raise KeyServiceError("no route to host")

    closed = parsed(json.dumps({"id": NEW.id, "service": "gcp-kms", "key": NAME, "wrapped": ""}))
    ring = Keyring([closed], held_seconds=60, opened=away)
    monkeypatch.setattr(master_keys, "keyring", lambda: ring)
    api = tenant.api()
    answer = api.post("/tokens", {"name": "ci", "scopes": ["clusters:read"]}, **{"idempotency-key": "two"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "key_service_unavailable")
    assert answer["Retry-After"] == "60"
    assert "ci" not in [token["name"] for token in api.get("/tokens").json()["items"]]


def test_a_key_file_is_wrapped_by_a_key_service_and_stays_the_same_key(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, closed = tmp_path / "master.key", tmp_path / "master.json"
    plain.write_text(as_text(OLD))
    with GoogleKeys() as google:
        monkeypatch.setattr(settings.ENV, "ringmaster_gcp_endpoint", google.url)
        call_command("new_master_key", f"--to={closed}", f"--same-as={plain}", f"--wrap-with=gcp-kms:{NAME}")
        assert parsed(closed.read_text()).id == OLD.id
        assert closed.stat().st_mode & 0o777 == 0o600
        call_command("new_master_key", f"--to={tmp_path / 'opened'}", f"--same-as={closed}")
        assert (tmp_path / "opened").read_text() == as_text(OLD)
    with pytest.raises(CommandError, match="File exists"):
        call_command("new_master_key", f"--to={closed}")
    with pytest.raises(CommandError, match="no ARN of a key"):
        call_command("new_master_key", f"--to={tmp_path / 'other'}", "--wrap-with=aws-kms:alias/mine")
