import json
import ssl
import stat
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from backend.accounts.models import ApiToken, Organisation
from backend.accounts.tests.test_get_session import sign_in
from backend.catalog.models import MachineType
from backend.clusters.models import Secret
from backend.conftest import ApiClient


def bootstrap(file: Path) -> None:
    call_command("bootstrap", organisation="Acme & Co", owner_email="Boss@acme.example", credentials_file=file)


def test_it_makes_an_installation_usable(db, tmp_path: Path):
    file = tmp_path / "secrets" / "credentials.json"
    bootstrap(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = json.loads(file.read_text())
    assert Organisation.objects.get().slug == "acme-co"
    assert MachineType.objects.exists()
    assert Secret.objects.exists()
    answer, api = sign_in(written["email"], written["password"])
    assert answer.status_code == 200
    assert api.get("/session").json()["role"] == "owner"
    assert ApiClient(authorization=f"Bearer {written['api_token']}").get("/audit").status_code == 200


def test_a_second_run_changes_nothing(db, tmp_path: Path):
    file = tmp_path / "credentials.json"
    bootstrap(file)
    before = file.read_text(), list(ApiToken.objects.values()), list(Secret.objects.values("id"))
    bootstrap(file)
    assert (file.read_text(), list(ApiToken.objects.values()), list(Secret.objects.values("id"))) == before


def test_it_does_not_write_secrets_to_a_file_when_there_is_an_account_already(db, tmp_path: Path):
    bootstrap(tmp_path / "first.json")
    bootstrap(tmp_path / "second.json")
    assert not (tmp_path / "second.json").exists()


def test_without_an_organisation_it_makes_all_but_that(db, tmp_path: Path):
    call_command("bootstrap")
    assert MachineType.objects.exists()
    assert not Organisation.objects.exists()
    with pytest.raises(CommandError, match="go together"):
        call_command("bootstrap", organisation="Acme")
    bootstrap(tmp_path / "credentials.json")
    assert Organisation.objects.exists()


def test_the_enrolment_servers_certificate_can_be_had_alone(db, tmp_path: Path):
    call_command("bootstrap")
    certificate, key = tmp_path / "enrol.crt", tmp_path / "enrol.key"
    call_command("enrol_certificate", certificate_file=certificate, key_file=key)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
