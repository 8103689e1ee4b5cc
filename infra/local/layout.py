"""Where the launcher keeps things. Two checkouts, or two run folders of one checkout, share nothing but the cache.

Standard library only: it is used before anything is installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ENGINE = "cassandra"
ENGINE_VERSION = "5.0.5"


@dataclass(frozen=True)
class Layout:
    """The folders of one installation. `run` is removed by `make clean`, `cache` only by `make distclean`."""

    checkout: Path
    run: Path
    cache: Path
    engines: Path

    @property
    def venv(self) -> Path:
        return self.checkout / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def agent(self) -> Path:
        return self.cache / "bin" / "agent"

    @property
    def terraform(self) -> Path:
        """The built provider, as Terraform wants it in a `filesystem_mirror`, and the `terraformrc` that says so."""
        return self.cache / "terraform"

    @property
    def console(self) -> Path:
        """The built console, as the API serves it."""
        return self.checkout / "frontend" / "dist"

    @property
    def marker(self) -> Path:
        """Says that the run folder is ours to remove; it may have been named by the user."""
        return self.run / "README"

    @property
    def logs(self) -> Path:
        return self.run / "log"

    @property
    def secrets(self) -> Path:
        return self.run / "secrets"

    @property
    def machines(self) -> Path:
        return self.run / "machines"

    @property
    def ports_file(self) -> Path:
        return self.run / "ports.json"

    @property
    def credentials_file(self) -> Path:
        """Written once by `manage.py bootstrap`: the owner's sign-in and an API token."""
        return self.secrets / "credentials.json"

    @property
    def demo_file(self) -> Path:
        """What is known of the cluster `demo`: its id, and its password once that was revealed."""
        return self.secrets / "demo.json"


def layout(environment: Mapping[str, str] = os.environ) -> Layout:
    """The layout of this checkout; RINGMASTER_RUN_DIR and RINGMASTER_CACHE_DIR move the run folder and the engines."""
    cache = CHECKOUT / ".cache"
    return Layout(
        checkout=CHECKOUT,
        run=_folder(environment, "RINGMASTER_RUN_DIR", CHECKOUT / ".run"),
        cache=cache,
        engines=_folder(environment, "RINGMASTER_CACHE_DIR", cache / "engines"),
    )


def _folder(environment: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environment.get(variable, "")
    return Path(value).expanduser().absolute() if value else default
