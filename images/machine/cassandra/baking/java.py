"""The Java that runs the engine: where it is and which one, the same answer as the agent gives itself."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path


class BakeError(Exception):
    """Why the tree could not be made, in words for the person who asked for it."""


@dataclass(frozen=True, kw_only=True)
class Java:
    """`version` is the vendor's full one: class-data archives fit no other."""

    home: Path
    version: str

    def program(self, name: str) -> Path:
        return self.home / "bin" / name


def find_java() -> Java:
    """From JAVA_HOME, else from the path. BakeError."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "/nonexistent")
    if not program.exists():
        raise BakeError("No Java found: install OpenJDK 17 (package openjdk-17-jdk-headless) or set JAVA_HOME.")
    real_home = program.resolve().parent.parent
    facts = _release(real_home)
    if facts.get("JAVA_VERSION", "").split(".")[0] != "17":
        found = facts.get("JAVA_VERSION", "an unknown version")
        raise BakeError(f"Cassandra 5.0 runs on Java 17; {program} is {found}. Set JAVA_HOME to a Java 17.")
    for needed in ("javac", "keytool", "jcmd"):
        if not (real_home / "bin" / needed).exists():
            raise BakeError(f"{real_home} has no {needed}: a full JDK is needed (package openjdk-17-jdk-headless).")
    return Java(home=real_home, version=f"{facts.get('IMPLEMENTOR', 'unknown')} {facts['JAVA_RUNTIME_VERSION']}")


def _release(home: Path) -> dict[str, str]:
    try:
        lines = (home / "release").read_text().splitlines()
    except FileNotFoundError:
        raise BakeError(f"{home} holds no `release` file, so its version is unknown. Use another Java 17.") from None
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name: value.strip('"') for name, _, value in pairs}
