"""`make sbom`: what is delivered, as one CycloneDX file, from the lock files alone: docs/deploy.md.

Of Python what requirements.txt pins, of the console what package-lock.json pins and is not for development only, of the
agent and the Terraform provider the modules that their programs are built from. Each with a package URL, by which a
vulnerability database is asked, and with its checksum where the lock file has one that the format knows.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from infra.local.layout import layout

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ \\;]+)", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Component:
    """A package that is delivered. `sha512` in hexadecimal digits, or empty."""

    purl: str
    name: str
    version: str
    part: str
    sha512: str = ""


def python(requirements: str) -> Iterator[Component]:
    """What a locked requirements file pins."""
    for name, version in _PIN.findall(requirements):
        yield Component(f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}", name, version, "control plane")


def console(lock: dict[str, Any]) -> Iterator[Component]:
    """What a package-lock.json pins, without what only development needs."""
    for place, package in lock["packages"].items():
        if not place or package.get("dev") or package.get("link"):
            continue
        name, version = place.rpartition("node_modules/")[2], package["version"]
        kind, _, digest = package.get("integrity", "").partition("-")
        sha512 = base64.b64decode(digest).hex() if kind == "sha512" else ""
        yield Component(f"pkg:npm/{quote(name, safe='/')}@{version}", name, version, "console", sha512)


def go(modules: Iterable[str], part: str) -> Iterator[Component]:
    """Lines of `path version`; the program's own module has no version and is left out."""
    for line in modules:
        name, _, version = line.partition(" ")
        if version:
            yield Component(f"pkg:golang/{name}@{version}", name, version, part)


def bill(components: Iterable[Component], *, version: str) -> dict[str, Any]:
    """The same for the same lock files: it has no time and no random number in it."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "ringmaster", "version": version}},
        "components": [_component(each) for each in sorted(set(components))],
    }


def _component(component: Component) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{component.purl}#{component.part.replace(' ', '-')}",
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
        "properties": [{"name": "ringmaster:part", "value": component.part}],
    }
    if component.sha512:
        found["hashes"] = [{"alg": "SHA-512", "content": component.sha512}]
    return found


def _modules(folder: Path) -> list[str]:
    """The modules whose packages are built into the folder's programs; tools and tests of others are not."""
    template = "{{with .Module}}{{.Path}} {{.Version}}{{end}}"
    command = ["go", "list", "-deps", "-f", template, "./..."]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return sorted(set(filter(None, listed.stdout.splitlines())))


def main() -> int:
    """Writes .cache/sbom.json."""
    place = layout()
    root = place.checkout
    components = [
        *python((root / "requirements.txt").read_text()),
        *console(json.loads((root / "frontend" / "package-lock.json").read_text())),
        *go(_modules(root / "images" / "agent"), "agent"),
        *go(_modules(root / "infra" / "terraform-provider"), "Terraform provider"),
    ]
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    file = place.cache / "sbom.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bill(components, version=version), indent=2) + "\n")
    print(f"{len(set(components))} packages: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
