"""Write what is installed into an SPDX 2.3 document: Debian's packages as dpkg tells, and the jars of engine trees.

Jars are named by their files, with the SHA-256 of each. The document holds no time: the same image gives the same
document but for `--name`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

_JAR = re.compile(r"^(?P<name>.+?)-(?P<version>[0-9][A-Za-z0-9.+-]*)\.jar$")
_DPKG = ("dpkg-query", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}\n")


def document(name: str, packages: list[dict[str, Any]]) -> dict[str, Any]:
    """The SPDX document that describes these packages, each once."""
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://ringmaster.invalid/sbom/{name}",
        "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: ringmaster-sbom"]},
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": package["SPDXID"],
            }
            for package in packages
        ],
    }


def debian_packages(listing: str) -> list[dict[str, Any]]:
    """One package per line of name, version and architecture, separated by tabs."""
    rows = [line.split("\t") for line in sorted(listing.splitlines()) if line.strip()]
    return [
        _package(f"deb-{name}-{architecture}", name, version, f"pkg:deb/debian/{name}@{version}?arch={architecture}")
        for name, version, architecture in rows
    ]


def jars(folder: Path) -> list[dict[str, Any]]:
    """One package per jar below the folder; none when there is no folder."""
    found = []
    for path in sorted(folder.rglob("*.jar")):
        match = _JAR.match(path.name)
        name, version = (match["name"], match["version"]) if match else (path.stem, "NOASSERTION")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        identifier = f"jar-{path.relative_to(folder)}"
        entry = _package(identifier, name, version, f"pkg:generic/{name}@{version}?checksum=sha256:{digest}")
        found.append(entry | {"checksums": [{"algorithm": "SHA256", "checksumValue": digest}]})
    return found


def _package(identifier: str, name: str, version: str, address: str) -> dict[str, Any]:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", identifier),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": address}
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="sbom", description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--jars", type=Path, required=True, help="folder of engine trees")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    listing = subprocess.run(_DPKG, capture_output=True, text=True, check=True).stdout
    made = document(options.name, [*debian_packages(listing), *jars(options.jars)])
    options.output.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
