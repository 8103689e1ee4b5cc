"""The machine image as `images/machine` bakes it, made by Packer under QEMU's software emulation.

Without an engine: baking one starts it, and under emulation that takes longer than it waits. `images/machine/cassandra`
tests that part on this computer's own processor.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

BUILD_ID = "emulated"
_MACHINE = Path(__file__).resolve().parents[2] / "images" / "machine"


class BakeError(RuntimeError):
    """Packer failed, or took too long. The text ends with what it printed last."""


def make_key(folder: Path) -> Path:
    """A private key to log in with; its public half is beside it, with the ending .pub."""
    key = folder / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "emulation", "-f", str(key)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return key


def bake(base: Path, agent: Path, target: Path, *, log: Path, limit: float) -> float:
    """Bake `target`, a qcow2 file, from the cloud image `base`; how many seconds it took.

    What Packer says goes to `log`, the machine's console into a file beside it. Raises BakeError after `limit` seconds.
    """
    began = time.monotonic()
    work = target.parent / f"{target.stem}-work"
    subprocess.run(["rm", "-rf", str(work)], check=True)
    seed = work / "seed"
    seed.mkdir(parents=True)
    key = make_key(work)
    (seed / "meta-data").write_text("instance-id: bake\n")
    (seed / "user-data").write_text(f"#cloud-config\nssh_authorized_keys:\n  - {key.with_suffix('.pub').read_text()}")
    variables = {
        "engine": "none",
        "engine_version": "0",
        "agent_binary": agent,
        "build_id": BUILD_ID,
        "sbom_file": target.with_suffix(".spdx.json"),
        "manifest_file": work / "manifest.json",
        "qemu_base": base,
        "qemu_accelerator": "none",
        "qemu_seed": seed,
        "qemu_ssh_key": key,
        "qemu_serial": f"file:{log.with_suffix('.console')}",
        "qemu_output": work / "output",
    }
    command = ["packer", "build", "-color=false", "-timestamp-ui", "-only=qemu.node"]
    command += [f"-var={name}={value}" for name, value in variables.items()]
    with log.open("w") as file:
        done = subprocess.Popen(
            [*command, "."],
            cwd=_MACHINE,
            env={**os.environ, "PACKER_CACHE_DIR": str(work), "CHECKPOINT_DISABLE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
        try:
            code = done.wait(limit)
        except subprocess.TimeoutExpired:
            done.terminate()  # Packer ends its machine
            done.wait(30)
            raise BakeError(f"not done within {limit:.0f} s\n{_end(log)}") from None
    if code != 0:
        raise BakeError(f"packer ended with {code}\n{_end(log)}")
    (image,) = (work / "output").glob("*.qcow2")
    image.replace(target)
    subprocess.run(["rm", "-rf", str(work)], check=True)
    return time.monotonic() - began


def _end(log: Path) -> str:
    return "\n".join([f"the end of {log}:", *log.read_text(errors="replace").splitlines()[-40:]])
