"""Opens a backup without a control plane: with the organisation's key and nothing else.

    python -m provisioner.agent.open_backup fetch ADDRESSES.json FOLDER
    python -m provisioner.agent.open_backup open --key-file KEY FOLDER INTO

`fetch` takes the answers of `download_backup`, one after the other in one file, and fetches what is not there yet.
`open` takes a folder that is laid out as a store, or a folder store itself, checks signature, manifests and every
object, and writes INTO/NODE/KEYSPACE/TABLE/ the files of each SSTable, as nodetool import and sstableloader take them.
"""

import argparse
import gzip
import hashlib
import hmac
import json
import sys
import urllib.request
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from provisioner.agent.bundle_format import BundleKeys, DamagedObjectError, WrongKeyError, object_name, opened


class CannotOpen(Exception):
    """What is missing or changed, in words."""


def fetch(answers: Path, folder: Path) -> int:
    """How many files came."""
    text, came = answers.read_text(), 0
    for answer in _documents(text):
        for item in answer["items"]:
            path = folder / item["name"]
            if path.exists() and item["bytes"] in (None, path.stat().st_size):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(path.name + ".part")
            with urllib.request.urlopen(item["url"], timeout=60) as source, partial.open("wb") as file:
                while piece := source.read(1 << 20):
                    file.write(piece)
            partial.rename(path)
            came += 1
    return came


def _documents(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        yield document


def open_backup(key: str, folder: Path, into: Path, *, backup: str = "") -> int:
    """How many SSTables were written. `backup`: which, where the folder has several. CannotOpen."""
    signed = sorted(folder.glob(f"manifests/*/{backup or '*'}/manifest.json"))
    if len(signed) != 1:
        names = ", ".join(path.parent.name for path in signed) or "none"
        raise CannotOpen(f"There must be one backup in {folder}, or name one: there are {names}.")
    secret = b64decode(key, validate=True)
    document = _signed(secret, signed[0])
    keys, written = BundleKeys.derive(key), 0
    for node in document["nodes"]:
        if not node["manifest"]:
            continue
        manifest = _sealed(secret, folder, node["manifest"], node["sha256"])
        for values in manifest["bundles"]:
            bundle = dict(zip(manifest["columns"], values, strict=True))
            place = into / node["name"] / bundle["keyspace"] / bundle["table"]
            _write(keys, folder, bundle, place)
            written += 1
    (into / "schema.json").write_text(json.dumps(_schema(secret, folder, document), indent=1))
    return written


def _write(keys: BundleKeys, folder: Path, bundle: dict[str, Any], place: Path) -> None:
    path = folder / object_name(bundle["key"])
    if not path.exists():
        raise CannotOpen(f"The object {bundle['key']} is missing.")
    content = path.read_bytes()
    try:
        if hashlib.sha256(content).hexdigest() != bundle["sha256"]:
            raise DamagedObjectError("its bytes were changed")
        sstable_format, components = opened(keys, bundle["key"], content)
    except (DamagedObjectError, WrongKeyError) as error:
        raise CannotOpen(f"The object {bundle['key']} does not open: {error}.") from error
    version, _, kind = sstable_format.partition("-")
    place.mkdir(parents=True, exist_ok=True)
    # Names of two nodes or generations can be the same; that of the content cannot.
    stem = f"{version}-{bundle['key'][:28]}-{kind}"
    for name, component in components.items():
        (place / f"{stem}-{name}").write_bytes(component)
    listed = "".join(f"{name}\n" for name in [*sorted(components), "TOC.txt"])
    (place / f"{stem}-TOC.txt").write_text(listed)


def _signed(secret: bytes, path: Path) -> dict[str, Any]:
    read = json.loads(path.read_text())
    body = json.dumps(read["document"], sort_keys=True, separators=(",", ":")).encode()
    signing = hmac.digest(secret, b"ringmaster/backup/manifest/1", "sha256")
    if not hmac.compare_digest(hmac.digest(signing, body, "sha256").hex(), read["signature"]):
        raise CannotOpen(f"{path.name} is not signed with this key, or was changed.")
    document: dict[str, Any] = read["document"]
    return document


def _schema(secret: bytes, folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    return _sealed(secret, folder, document["schema"]["name"], document["schema"]["sha256"])


def _sealed(secret: bytes, folder: Path, name: str, sha256: str) -> dict[str, Any]:
    path = folder / name
    sealed = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(sealed).hexdigest() != sha256:
        raise CannotOpen(f"The manifest {name} is missing or was changed.")
    cipher = AESGCM(hmac.digest(secret, b"ringmaster/backup/document/1", "sha256"))
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(cipher.decrypt(sealed[:12], sealed[12:], name.encode())))
    except InvalidTag as error:
        raise CannotOpen(f"The manifest {name} does not open with this key.") from error
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="open_backup", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch")
    fetching.add_argument("answers", type=Path)
    fetching.add_argument("folder", type=Path)
    opening = commands.add_parser("open")
    opening.add_argument("--key-file", type=Path, required=True, help="holds the key as reveal_backup_key gives it")
    opening.add_argument("--backup", default="", help="id, where the folder has several")
    opening.add_argument("folder", type=Path)
    opening.add_argument("into", type=Path)
    given = parser.parse_args(arguments)
    try:
        if given.command == "fetch":
            sys.stdout.write(f"{fetch(given.answers, given.folder)} files fetched\n")
        else:
            key = given.key_file.read_text().strip()
            count = open_backup(key, given.folder, given.into, backup=given.backup)
            sys.stdout.write(f"{count} SSTables written to {given.into}\n")
    except (CannotOpen, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
