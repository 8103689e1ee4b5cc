"""`python -m infra.deploy.terraform.record aws PACKAGE.tgz`: what today's provider knows, for what our module uses.

A provider's own program cannot be had everywhere; the declarations that cdktf generated from its schema are a package
of npm (`npm pack @cdktf/provider-aws@21.22.1`). Run it again with a newer package, or when a module uses a new kind.
"""

import argparse
import json
import re
import tarfile
from pathlib import Path
from typing import Any

from infra.deploy.terraform.configuration import CLOUDS, SCHEMAS, resources

_PREFIXES = {"aws": "aws_", "gcp": "google_"}
_INTERFACE = re.compile(r"^export interface (\w+)[^{]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
# Terraform's own name is in the address of the documentation; a question mark says that it may be left out.
_PROPERTY = re.compile(r"/docs/resources/\w+#(\w+) [^}]*\}(?:(?!\*/).)*?\*/\s*readonly (\w+)(\??): ([^;]+);", re.DOTALL)
_GETTER = re.compile(r"^    get (\w+)\(\):", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(prog="record", description=__doc__)
    parser.add_argument("cloud", choices=CLOUDS)
    parser.add_argument("package", type=Path)
    words = parser.parse_args()
    kinds = sorted({each.kind for each in resources(words.cloud)})
    with tarfile.open(words.package) as package:
        found = {kind: _kind(_read(package, words.cloud, kind)) for kind in kinds}
        readme = _text(package, "package/README.md")
    version = re.search(r"bindings for (\S+) provider version (\S+)", readme)
    if version is None:
        parser.error("that is no package of cdktf's bindings")
    document = {"provider": version[1], "version": version[2], "resources": found}
    SCHEMAS.mkdir(exist_ok=True)
    (SCHEMAS / f"{words.cloud}.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def _read(package: tarfile.TarFile, cloud: str, kind: str) -> str:
    folder = kind.removeprefix(_PREFIXES[cloud]).replace("_", "-")
    return _text(package, f"package/lib/{folder}/index.d.ts")


def _text(package: tarfile.TarFile, name: str) -> str:
    file = package.extractfile(name)
    if file is None:
        raise FileNotFoundError(name)
    return file.read().decode()


def _kind(text: str) -> dict[str, Any]:
    """Of one resource: arguments (a block's are nested), those that must be there, and what can be read of it."""
    interfaces = dict(_INTERFACE.findall(text))
    config = re.findall(r"^export interface (\w+) extends cdktf.TerraformMetaArguments", text, re.MULTILINE)[0]
    resource = text[text.index("extends cdktf.TerraformResource") :]
    return {
        **_described(interfaces, config),
        "attributes": sorted(_snake(name) for name in _GETTER.findall(resource) if not name.endswith("Input")),
    }


def _described(interfaces: dict[str, str], name: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    required = []
    for terraform, _, optional, kind in _PROPERTY.findall(interfaces[name]):
        nested = re.match(r"(\w+)", kind)
        inside = nested is not None and nested[1] in interfaces
        arguments[terraform] = _described(interfaces, nested[1]) if inside and nested else None
        if not optional:
            required.append(terraform)
    return {"arguments": arguments, "required": sorted(required)}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


if __name__ == "__main__":
    main()
