"""Signing in, and choosing as whom."""

from __future__ import annotations

import sys

import click

from ringmaster.cli import profiles, show
from ringmaster.cli.profiles import Profile, Profiles
from ringmaster.cli.session import Session
from ringmaster.errors import RingmasterError
from ringmaster.transport import answer_of


@click.command()
@click.option("--url", help="Where the console is: https://ringmaster.example")
@click.option("--token", help="An API token; - reads it from standard input. Better not given here: others see it")
@click.option("--organisation", default="", help="Its id, for tokens of people who belong to several")
@click.option("--name", default="default", show_default=True, help="Of the profile that is written")
@click.pass_obj
def login(session: Session, url: str | None, token: str | None, organisation: str, name: str) -> None:
    """Keep an installation's address and a token in a file that only you can read.

    Make the token in the console, under Tokens, or with `ringmaster tokens create`.
    """
    url = (url or str(click.prompt("Address of the console", err=True))).rstrip("/")
    if token == "-":
        token = sys.stdin.readline().strip()
    token = token or str(click.prompt("Token (rmt_...)", hide_input=True, err=True))
    profile = Profile(url, token, organisation)
    transport = session.with_profile(profile)
    found = answer_of(transport.send("GET", "/api/v1/organisation"))
    known = profiles.read()
    profiles.write(Profiles(name, {**known.by_name, name: profile}))
    sys.stderr.write(f"Signed in to {found['name']} at {url}, as profile {name} in {profiles.file()}.\n")


@click.group()
def profile() -> None:
    """Installations and tokens that `ringmaster login` kept."""


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs; tokens are not shown")
def list_profiles(as_json: bool) -> None:
    """The profiles, without their tokens."""
    known = profiles.read()
    rows = [
        {"name": name, "url": one.url, "organisation": one.organisation, "current": name == known.current}
        for name, one in known.by_name.items()
    ]
    if as_json:
        show.as_json(rows)
    else:
        show.rows(rows)


@profile.command()
@click.argument("name")
def use(name: str) -> None:
    """Make a profile the one that is used when no other is named."""
    known = profiles.read()
    _must_be_known(known, name)
    profiles.write(Profiles(name, known.by_name))


@profile.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a profile. Its token stays valid: revoke it with `ringmaster tokens revoke`."""
    known = profiles.read()
    _must_be_known(known, name)
    left = {other: one for other, one in known.by_name.items() if other != name}
    profiles.write(Profiles(known.current if known.current != name else "", left))


def _must_be_known(known: Profiles, name: str) -> None:
    if name not in known.by_name:
        raise RingmasterError(f"There is no profile {name}. `ringmaster profile list` shows them.")
