"""Which installation, and as whom: from the environment or from a file that only its owner can read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ringmaster.errors import RingmasterError


@dataclass(frozen=True)
class Profile:
    url: str
    token: str
    organisation: str = ""


@dataclass(frozen=True)
class Profiles:
    """All that the file has. `current` is used when no other is named."""

    current: str
    by_name: dict[str, Profile]


def file() -> Path:
    if named := os.environ.get("RINGMASTER_CONFIG"):
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "ringmaster" / "config.json"


def read() -> Profiles:
    """Raises RingmasterError when the file is not what `ringmaster login` writes."""
    try:
        found = json.loads(file().read_text())
        return Profiles(found["current"], {name: Profile(**one) for name, one in found["profiles"].items()})
    except FileNotFoundError:
        return Profiles("", {})
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise RingmasterError(f"{file()} cannot be read ({problem}): remove it and sign in again.") from problem


def write(profiles: Profiles) -> None:
    """In place of the file before, readable by its owner only, from its first byte."""
    target = file()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = target.with_name(f".{target.name}.{os.getpid()}")
    document = {"current": profiles.current, "profiles": {name: asdict(one) for name, one in profiles.by_name.items()}}
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as output:
        output.write(json.dumps(document, indent=2) + "\n")
    new.replace(target)


def chosen(name: str | None) -> Profile:
    """The one that was named; else the environment's RINGMASTER_URL and RINGMASTER_TOKEN; else the current one."""
    environment = os.environ
    if name is None and environment.get("RINGMASTER_URL") and environment.get("RINGMASTER_TOKEN"):
        return Profile(
            environment["RINGMASTER_URL"],
            environment["RINGMASTER_TOKEN"],
            environment.get("RINGMASTER_ORGANISATION", ""),
        )
    profiles = read()
    name = name or environment.get("RINGMASTER_PROFILE") or profiles.current
    if not name:
        raise RingmasterError(
            "Nobody is signed in. Run `ringmaster login`, or set RINGMASTER_URL and RINGMASTER_TOKEN."
        )
    if name not in profiles.by_name:
        raise RingmasterError(f"There is no profile {name} in {file()}. `ringmaster profile list` shows them.")
    return profiles.by_name[name]
