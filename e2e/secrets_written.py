"""What the product wrote, searched for secrets: every secret that its database held at any time, and their shapes.

`python -m e2e.secrets_written watch RUN FILE` notes the secrets of a running product into FILE, which only its owner
can read, until it is told to end. `... check RUN FILE` searches all files of the run folder and says where one is.
"""

import argparse
import base64
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

EVERY_SECONDS = 1.0
_SHORTEST = 8
"""Characters: a shorter word would be found by chance."""

# What holds secrets because it is there to do so: keys of the installation; and on machines, what an engine and an
# agent read theirs from (docs/security.md). Everything else is searched, the stores' own files too.
BY_DESIGN = (
    "secrets/*",
    "machines/*/data/identity/*",
    "machines/*/data/cassandra/control.json",
)

_SHAPES = {
    "an API token": re.compile(rb"rmt_[0-9A-Za-z_-]{30,}"),
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}


@dataclass(frozen=True)
class Found:
    file: str
    what: str
    around: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="secrets_written")
    parser.add_argument("verb", choices=("watch", "check"))
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args()
    if chosen.verb == "watch":
        watch(chosen.run, chosen.file)
        return 0
    known = json.loads(chosen.file.read_text())
    found = list(search(chosen.run, known))
    for each in found:
        sys.stdout.write(f"{each.file}: {each.what}: {each.around}\n")
    sys.stdout.write(f"{len(known)} secrets were looked for in all that was written; found: {len(found)}\n")
    return 1 if found else 0


def watch(run: Path, file: Path) -> None:
    """Note what can be opened, again and again: what is destroyed meanwhile was there in between."""
    _set_up(run)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    known = dict(_own(run))
    while True:
        known |= _stored()
        fresh = file.with_name(f"{file.name}.new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as output:
            json.dump(known, output)
        fresh.replace(file)
        if ended.wait(EVERY_SECONDS):
            return


def search(run: Path, known: dict[str, str]) -> Iterator[Found]:
    """`known`: secrets, and what each is."""
    words = {secret.encode(): what for secret, what in known.items()}
    pattern = re.compile(b"|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    for file in sorted(run.rglob("*")):
        name = str(file.relative_to(run))
        if file.is_symlink() or not file.is_file():
            continue
        if any(file.relative_to(run).match(each) for each in BY_DESIGN):
            if not _private(file, run):
                yield Found(name, "a file of secrets", "others can read it")
            continue
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            continue
        for found in pattern.finditer(content):
            yield Found(name, words[found[0]], _around(content, found))
        for what, shape in _SHAPES.items():
            for found in shape.finditer(content):
                yield Found(name, what, _around(content, found))


def _private(file: Path, run: Path) -> bool:
    """That only its owner reaches it, by its own mode or that of a folder it is in."""
    folders = [folder for folder in file.parents if folder.is_relative_to(run)]
    return any(place.stat().st_mode & 0o077 == 0 for place in (file, *folders))


def _around(content: bytes, found: re.Match[bytes]) -> str:
    """The line it is in, without itself."""
    before, after = content[max(0, found.start() - 80) : found.start()], content[found.end() : found.end() + 40]
    return repr((before.rpartition(b"\n")[2] + b"<here>" + after.partition(b"\n")[0]).decode(errors="replace"))


def _set_up(run: Path) -> None:
    from infra.local import ports
    from infra.local.layout import layout
    from infra.local.programs import Installation, environment
    from infra.local.services import socket_folder

    os.environ["RINGMASTER_RUN_DIR"] = str(run)
    place = layout()
    os.environ |= environment(Installation(place, ports.read(place.ports_file), socket_folder(run)))
    os.environ["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
    import django

    django.setup()


def _own(run: Path) -> Iterator[tuple[str, str]]:
    """The installation's own keys and the owner's sign-in."""
    for file in sorted((run / "secrets").iterdir()):
        text = file.read_text()
        if file.suffix == ".json":
            yield from ((value, f"{file.name}'s {key}") for key, value in json.loads(text).items() if _secret(key))
        elif file.suffix in {".key", ".token"}:
            yield from _words(text.encode(), file.name)


def _secret(name: str) -> bool:
    return "password" in name or "token" in name


def _stored() -> dict[str, str]:
    from backend.accounts.models import FactorSecret, IdentityProvider
    from backend.accounts.provider_actions import client_secret
    from backend.accounts.second_factor import open_secret
    from backend.clusters import vault
    from backend.clusters.models import Secret

    found: dict[str, str] = {}
    for row in Secret.objects.order_by("id"):
        found |= dict(_words(vault.opened(row), f"{row.purpose} of {row.owner}"))
    for provider in IdentityProvider.objects.all():
        found[client_secret(provider)] = f"client secret of {provider.name}"
    for factor in FactorSecret.objects.order_by("id"):
        found |= dict(
            _words(open_secret(factor.user_id, str(factor.id)).encode(), f"a second factor of {factor.user_id}")
        )
    return found


def _words(secret: bytes, what: str) -> Iterator[tuple[str, str]]:
    """A secret as it would be written: its text, a line of a PEM, the values of JSON, or base64 of bytes."""
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        yield base64.b64encode(secret).decode(), what
        return
    if text.startswith("-----BEGIN"):
        # The first lines of a key tell its kind only.
        yield max(text.splitlines()[2:-1] or [text.splitlines()[1]], key=len), what
    elif text.startswith("{"):
        yield from ((value, what) for value in map(_secret_part, _leaves(json.loads(text))) if len(value) >= _SHORTEST)
    elif len(text.strip()) >= _SHORTEST:
        yield text.strip(), what


def _secret_part(value: str) -> str:
    """Of an address what comes after the host: that much of it is shown, so that people know it again."""
    if not value.startswith(("http://", "https://")):
        return value
    url = urlsplit(value)
    return url._replace(scheme="", netloc="").geturl()


def _leaves(value: object) -> Iterator[str]:
    match value:
        case dict():
            for inner in value.values():
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case str():
            yield value


if __name__ == "__main__":
    sys.exit(main())
