"""``manage.py identity_provider add|list|set-secret|directory|...``: who may say who people are."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts import directory_actions, oidc, provider_actions
from backend.accounts.directory import PATH
from backend.accounts.models import IdentityProvider
from backend.core.errors import DomainError

_DOMAIN = re.compile(r"(?=.{1,253}$)([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Command(BaseCommand):
    help = "Providers that people sign in through (OpenID Connect). docs/identity.md"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="let people sign in through a provider")
        add.add_argument("--name", required=True, help="on the button of the sign-in page")
        add.add_argument("--issuer", required=True, help="as the provider calls itself, to the letter")
        add.add_argument("--client-id", required=True)
        add.add_argument("--client-secret-file", required=True, type=Path)
        add.add_argument(
            "--email-domains", required=True, help="domains of addresses that it speaks for, separated by commas"
        )
        add.add_argument("--groups-claim", default="groups")
        add.add_argument("--scopes", default="openid email profile")
        add.add_argument("--session-hours", type=int, default=12, help="how long a sign-in holds, 1 to 336")
        add.add_argument("--second-factor", action="store_true", help="it asks everybody for a second factor")
        verbs.add_parser("list", help="show them")
        secret = verbs.add_parser("set-secret", help="another client secret")
        secret.add_argument("name")
        secret.add_argument("--client-secret-file", required=True, type=Path)
        told = verbs.add_parser("directory", help="let its directory tell of people and groups by SCIM: a new token")
        told.add_argument("name")
        told.add_argument("--off", action="store_true", help="forget the token, and what was told with it")
        verbs.add_parser("disable", help="nobody signs in by it; who did is signed out").add_argument("name")
        verbs.add_parser("enable", help="take it into use again").add_argument("name")
        verbs.add_parser("remove", help="disable it, and end the memberships by its groups").add_argument("name")
        unlink = verbs.add_parser("unlink", help="forget who somebody is to it: their address was given to another")
        unlink.add_argument("name")
        unlink.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["verb"]:
                case "add":
                    self._add(options)
                case "list":
                    self._list()
                case verb:
                    self._change(verb, provider_actions.find_provider(options["name"]), options)
        except DomainError as problem:
            raise CommandError(f"{problem.message} {problem.hint}".strip()) from problem

    def _add(self, options: dict[str, Any]) -> None:
        issuer = urlsplit(options["issuer"])
        if issuer.scheme != "https" and not (issuer.scheme == "http" and issuer.hostname in _LOOPBACK):
            raise CommandError("--issuer must begin with https:// (http:// only on this machine).")
        domains = sorted({each.strip().lower() for each in options["email_domains"].split(",") if each.strip()})
        if not domains or not all(_DOMAIN.fullmatch(each) for each in domains):
            raise CommandError("--email-domains must be names such as example.com,example.org.")
        if not 1 <= options["session_hours"] <= 336:
            raise CommandError("--session-hours must be 1 to 336.")
        if "openid" not in options["scopes"].split():
            raise CommandError("--scopes must hold openid.")
        limits = (("name", 60), ("issuer", 300), ("client_id", 200), ("scopes", 200), ("groups_claim", 100))
        for name, most in limits:
            if not 0 < len(options[name].strip()) <= most or not options[name].isprintable():
                raise CommandError(f"--{name.replace('_', '-')} must have 1 to {most} characters.")
        columns = {name: options[name].strip() for name, _ in limits}
        provider = provider_actions.add_provider(
            client_secret=_secret(options["client_secret_file"]),
            email_domains=domains,
            session_hours=options["session_hours"],
            second_factor=options["second_factor"],
            **columns,
        )
        try:
            oidc.check(provider)
        except oidc.SignInRefused as refused:
            provider.delete()
            raise CommandError(
                f"{provider.issuer} does not answer as a provider: {refused}. Nothing was added."
            ) from refused
        self.stdout.write(f"{provider.name} ({provider.id}) added. Its redirect URI, to enter at the provider:")
        self.stdout.write(f"{settings.ENV.ringmaster_public_url}/_oidc/{provider.id}/callback")

    def _list(self) -> None:
        for each in IdentityProvider.objects.order_by("name"):
            state = "disabled" if each.disabled_at else "enabled"
            self.stdout.write(f"{each.name}\t{each.id}\t{state}\t{each.issuer}\t{','.join(each.email_domains)}")

    def _change(self, verb: str, provider: IdentityProvider, options: dict[str, Any]) -> None:
        match verb:
            case "set-secret":
                provider_actions.set_secret(provider, _secret(options["client_secret_file"]))
                self.stdout.write(f"{provider.name} has another client secret.")
            case "directory" if options["off"]:
                told = directory_actions.forget_directory(provider)
                self.stdout.write(f"{provider.name} tells nothing any more; people forgotten: {told}.")
            case "directory":
                token = directory_actions.new_token(provider)
                self.stdout.write(f"Base URL, to enter at {provider.name}: {settings.ENV.ringmaster_public_url}{PATH}")
                self.stdout.write(f"Token, shown once: {token}")
            case "disable":
                ended = provider_actions.disable_provider(provider)
                self.stdout.write(f"{provider.name} is disabled; sessions ended: {ended}.")
            case "enable":
                provider_actions.enable_provider(provider)
                self.stdout.write(f"{provider.name} is enabled.")
            case "remove":
                ended, gone = provider_actions.remove_provider(provider)
                self.stdout.write(f"{provider.name} is removed; sessions ended: {ended}; memberships: {gone}.")
            case "unlink":
                if not provider_actions.unlink(provider, options["email"]):
                    raise CommandError(f"{provider.name} has nobody with the address {options['email']}.")
                self.stdout.write(f"{options['email']} is linked anew by whoever {provider.name} says has it.")


def _secret(file: Path) -> str:
    try:
        secret = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read.") from error
    if not secret:
        raise CommandError(f"{file} is empty.")
    return secret
