"""``manage.py identity_provider`` and ``set_password``."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.models import IdentityProvider
from backend.accounts.provider_actions import client_secret
from backend.accounts.tests.providers import LyingProvider
from backend.accounts.tests.test_get_session import sign_in
from backend.conftest import Tenant


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("shared\n")
    return file


def said(*words: str) -> str:
    out = StringIO()
    call_command("identity_provider", *words, stdout=out)
    return out.getvalue()


def add(liar: LyingProvider, secret: Path, *more: str) -> str:
    usual = ["--name=Corp", f"--issuer={liar.issuer}", "--client-id=ringmaster", f"--client-secret-file={secret}"]
    return said("add", *usual, "--email-domains=Corp.example, b.example", *more)


def test_a_provider_is_added_listed_changed_and_removed(db: None, liar: LyingProvider, secret: Path):
    told = add(liar, secret)
    provider = IdentityProvider.objects.get()
    assert f"http://testserver/_oidc/{provider.id}/callback" in told
    assert provider.email_domains == ["b.example", "corp.example"]
    assert client_secret(provider) == "shared"
    secret.write_text("another")
    said("set-secret", "corp", f"--client-secret-file={secret}")
    provider.refresh_from_db()
    assert client_secret(provider) == "another"
    said("disable", "Corp")
    assert said("list").split("\t")[:3] == ["Corp", provider.id, "disabled"]
    said("enable", provider.id)
    assert "removed" in said("remove", "Corp")
    assert said("list") == ""


@pytest.mark.parametrize(
    "wrong",
    [
        "--issuer=http://corp.example",
        "--issuer=https://127.0.0.1:9",
        "--email-domains=*",
        "--email-domains=,",
        "--email-domains=com",
        "--session-hours=0",
        "--scopes=email",
        "--client-secret-file=/nowhere",
        "--name= ",
    ],
)
def test_a_wrong_provider_is_refused_and_not_added(db: None, liar: LyingProvider, secret: Path, wrong: str):
    with pytest.raises(CommandError):
        add(liar, secret, wrong)
    assert not IdentityProvider.objects.exists()


def test_a_second_one_of_the_name_or_issuer_is_refused(db: None, liar: LyingProvider, secret: Path):
    add(liar, secret)
    with pytest.raises(CommandError, match="already"):
        add(liar, secret, "--name=Other")
    with pytest.raises(CommandError, match="no identity provider Other"):
        said("disable", "Other")
    with pytest.raises(CommandError, match="has nobody"):
        said("unlink", "Corp", "a@corp.example")


def test_an_operator_gives_somebody_a_password(tenant: Tenant, secret: Path):
    _, before = sign_in(tenant.owner.email)
    secret.write_text("a long enough password")
    call_command("set_password", tenant.owner.email, f"--password-file={secret}", stdout=StringIO())
    assert before.get("/organisation").status_code == 401
    assert sign_in(tenant.owner.email, "a long enough password")[0].status_code == 200
    for email, password in ((tenant.owner.email, "short"), ("nobody@acme.example", "a long enough password")):
        secret.write_text(password)
        with pytest.raises(CommandError):
            call_command("set_password", email, f"--password-file={secret}", stdout=StringIO())
