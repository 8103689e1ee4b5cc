"""The engine's jars: fetched with the Maven client, and nothing but what the lock file lists, byte for byte."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from baking.java import BakeError


def read_lock(path: Path) -> dict[str, str]:
    """File name → SHA-256. BakeError when there is none, which means an unknown version."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.lock")))
        raise BakeError(f"There is no lock file for version {path.stem}. Known versions: {known}.") from None
    entries = (line.split() for line in lines if line.strip())
    return {name: digest for digest, name in entries}


def digest_of(lock: dict[str, str]) -> str:
    """One figure for the whole set of jars."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(lock.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def difference(folder: Path, lock: dict[str, str]) -> str:
    """Empty when the folder holds exactly what the lock says; else the first thing that is not so."""
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if missing := sorted(lock.keys() - found):
        return f"{missing[0]} is missing"
    if unknown := sorted(found - lock.keys()):
        return f"{unknown[0]} is not in the lock file"
    for name, wanted in sorted(lock.items()):
        if _digest(folder / name) != wanted:
            return f"{name} has another checksum than the lock file says"
    return ""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(*, pom: Path, version: str, lock: dict[str, str], target: Path) -> None:
    """Put the jars into `target`, whole and verified, or nothing. BakeError.

    Where `target` exists, jars that differ are replaced and missing ones added; others stay, for engines that run.
    """
    if shutil.which("mvn") is None:
        raise BakeError("The Maven client `mvn` is missing (package maven).")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent.parent) as scratch:
        folder = Path(scratch) / "lib"
        command = ["mvn", "-B", "-q", "-f", str(pom), f"-Dcassandra.version={version}", f"-DoutputDirectory={folder}"]
        done = subprocess.run([*command, "dependency:copy-dependencies"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise BakeError(f"Maven could not fetch the jars: {said[0] if said else f'exit code {done.returncode}'}")
        if wrong := difference(folder, lock):
            raise BakeError(f"What Maven fetched is refused: {wrong}.")
        target.mkdir(parents=True, exist_ok=True)
        for name, digest in lock.items():
            # One that is right keeps its date: the archive of the tree as it was is only good with that.
            if not (target / name).exists() or _digest(target / name) != digest:
                (folder / name).replace(target / name)
