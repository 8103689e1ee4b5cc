"""Machine images of the local provider: engine trees in a cache folder, made and checksummed by the bake script.

- `<cache>/<engine>-<version>/manifest.json`: the tree is complete (the bake writes it last)
- `<cache>/.bake-<engine>-<version>.lock`: held by the bake that runs
- `<cache>/.bake-<engine>-<version>.log`: what it said, JSON lines {"progress", "message"} and whatever its tools say
- `<cache>/.bake-<engine>-<version>.exit`: its exit code, until somebody has been told
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.providers.base import Image, ImageState, InvalidRequest, NotFound, ProviderError
from provisioner.providers.local.locks import is_held, locked

_IMAGE_ID = re.compile(r"[a-z]+-[0-9][0-9a-z.]{0,30}")

# What a bake may know of the process that asked for it; its tools need ways to the package registry, not our secrets.
_INHERITED = re.compile(
    r"PATH|HOME|JAVA_HOME|LANG|TZ|TMPDIR|M2_HOME|MAVEN_[A-Z_]+|(http|https|no|all)_proxy", re.IGNORECASE
)

# The lock's descriptor goes on to the bake: the lock lasts until the last of its processes has ended.
_RUN = """
exec 9>"$1.lock"
flock -n 9 || exit 0
shift_to=$1; shift
"$@" >"$shift_to.log" 2>&1 </dev/null
echo "$?" >"$shift_to.exit"
"""


@dataclass(frozen=True, kw_only=True)
class ImageCache:
    """`bake_script` is `<engine>/bake` and takes version and cache folder; beside it is `versions/<version>.lock`."""

    cache_dir: Path
    bake_script: Path

    def has(self, image_id: str) -> bool:
        return bool(_IMAGE_ID.fullmatch(image_id)) and (self.cache_dir / image_id / "manifest.json").is_file()

    def find(self, *, engine: str, version: str) -> Image:
        """READY, or BUILDING and then a bake runs. NotFound; ProviderError with the last words of a failed bake."""
        image_id = f"{engine}-{version}"
        if not _IMAGE_ID.fullmatch(image_id):
            raise InvalidRequest(f"{version!r} is no version of an engine.")
        if self.has(image_id):
            return Image(id=image_id, state=ImageState.READY)
        self._check_known(engine, version)
        self.cache_dir.mkdir(parents=True, exist_ok=True)
        bake = self.cache_dir / f".bake-{image_id}"
        with locked(bake.with_name(f"{bake.name}.ask")):
            if not is_held(_beside(bake, "lock")):
                # It may have finished between the look above and this one.
                if self.has(image_id):
                    return Image(id=image_id, state=ImageState.READY)
                _tell_failure(bake, image_id)
                self._start(bake, engine, version)
        return _building(bake, image_id)

    def _check_known(self, engine: str, version: str) -> None:
        recipes = self.bake_script.parent
        if recipes.name != engine or not (recipes / "versions" / f"{version}.lock").is_file():
            raise NotFound(
                f"There is no recipe for {engine} {version}.", hint="Order a version that the catalogue lists."
            )

    def _start(self, bake: Path, engine: str, version: str) -> None:
        environment = {name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)}
        _beside(bake, "log").write_text("")
        command = [str(self.bake_script), version, str(self.cache_dir)]
        subprocess.run(
            ["setsid", "--fork", "/bin/sh", "-c", _RUN, "bake", str(bake), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def _beside(bake: Path, ending: str) -> Path:
    return bake.with_name(f"{bake.name}.{ending}")


def _tell_failure(bake: Path, image_id: str) -> None:
    """Raise what the last bake ended with, once; the next call starts another."""
    exit_file = _beside(bake, "exit")
    if not exit_file.exists():
        return
    code = exit_file.read_text().strip()
    exit_file.unlink()
    lines = [line for line in _beside(bake, "log").read_text(errors="replace").splitlines() if line.strip()]
    last = lines[-1] if lines else f"exit code {code}"
    said = _parsed(last).get("message", last)
    raise ProviderError(f"Making the image {image_id} failed: {said}", hint=f"See {_beside(bake, 'log')}.")


def _building(bake: Path, image_id: str) -> Image:
    progress, message = 0.0, "starting"
    for line in _beside(bake, "log").read_text(errors="replace").splitlines():
        told = _parsed(line)
        progress = float(told.get("progress", progress))
        message = str(told.get("message", message))
    return Image(id=image_id, state=ImageState.BUILDING, progress=min(progress, 1.0), message=message)


def _parsed(line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}
