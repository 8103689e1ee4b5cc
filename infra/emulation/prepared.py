"""The image that the tests boot: made when there is none of these very sources, and then kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from infra.emulation import base_image, image
from infra.local import stamps
from infra.local.layout import Layout, layout

# Under emulation one of two cores bakes for about six minutes.
_LIMIT = 1500.0
_APT = Path("/etc/apt/sources.list.d/debian.sources")


def node_image(place: Layout) -> Path:
    """The baked image. Raises what `base_image.make` and `image.bake` raise."""
    images = place.cache / "images"
    made, log = images / "node.qcow2", images / "packer.log"
    machine, agent = (place.checkout / "images" / name for name in ("machine", "agent"))
    inputs = [machine / "ringmaster.pkr.hcl", machine / "bake", machine / "systemd", machine / "data", agent]
    inputs.append(Path(image.__file__))
    value = stamps.fingerprint(inputs, facts=[_base_value()])
    if not stamps.is_current(place.cache / "stamps", "node-image", value, [made]):
        base = _base(place, images / "base.qcow2")
        stamps.forget(place.cache / "stamps", "node-image")
        _say("baking the machine image")
        seconds = image.bake(base, _built_agent(place), made, log=log, limit=_LIMIT)
        stamps.record(place.cache / "stamps", "node-image", value)
        _say(f"baked in {seconds:.0f} s")
    return made


def _base(place: Layout, made: Path) -> Path:
    folder = place.cache / "stamps"
    if not stamps.is_current(folder, "base-image", _base_value(), [made]):
        stamps.forget(folder, "base-image")
        _say("making a Debian cloud image")
        base_image.make(made, sources=_APT)
        stamps.record(folder, "base-image", _base_value())
    return made


def _base_value() -> str:
    return stamps.fingerprint([Path(base_image.__file__), _APT])


def _built_agent(place: Layout) -> Path:
    """As `make setup` builds it, of the sources as they are now."""
    target = place.cache / "images" / "agent"
    command = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(target), "./cmd/agent"]
    environment = {"CGO_ENABLED": "0"}
    subprocess.run(
        ["env", *(f"{k}={v}" for k, v in environment.items()), *command],
        cwd=place.checkout / "images/agent",
        check=True,
    )
    return target


def _say(text: str) -> None:
    sys.stdout.write(f"  image │ {text}\n")
    sys.stdout.flush()


def main() -> int:
    """Make what is missing."""
    node_image(layout())
    return 0


if __name__ == "__main__":
    sys.exit(main())
