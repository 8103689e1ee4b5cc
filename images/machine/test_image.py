"""What the bake of machine images promises, as far as it can be told without a cloud."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TEMPLATE = HERE / "ringmaster.pkr.hcl"
SCRIPTS = sorted((HERE / "bake").glob("*.sh"))


@pytest.mark.parametrize("engine", ["cassandra", "scylla"])
@pytest.mark.parametrize("architecture", ["x86_64", "arm64"])
@pytest.mark.parametrize("source", ["amazon-ebs.node", "googlecompute.node", "qemu.node"])
def test_packer_finds_nothing_wrong(tmp_path: Path, source: str, architecture: str, engine: str) -> None:
    (tmp_path / "agent").touch()
    variables = {"engine": engine, "architecture": architecture, "agent_binary": str(tmp_path / "agent")}
    chosen = [f"-var={name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        ["packer", "validate", f"-only={source}", *chosen, "."], cwd=HERE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_it_bakes_with_sound_scripts(script: Path) -> None:
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "\nset -eu\n" in script.read_text()


def test_it_runs_every_script_in_the_order_of_their_numbers() -> None:
    named = re.findall(r"bake/(\d\d-[a-z]+\.sh)", TEMPLATE.read_text())
    assert named == [path.name for path in SCRIPTS]


def test_it_asks_for_no_plugins_so_that_old_packers_take_it() -> None:
    assert not re.search(r"^\s*required_plugins", TEMPLATE.read_text(), re.MULTILINE)


def test_it_tags_images_with_all_that_is_needed_to_choose_one() -> None:
    template = TEMPLATE.read_text()
    for tag in ("engine", "engine-version", "agent-version", "architecture", "base", "build-id", "sbom"):
        assert f'"ringmaster:{tag}"' in template


def test_the_agent_tells_of_a_first_boot_that_failed() -> None:
    unit = (HERE / "systemd" / "ringmaster-agent.service").read_text()
    assert "After=network-online.target ringmaster-firstboot.service" in unit
    assert "Requires=" not in unit
    assert "KillMode=process" in unit  # the engine outlives the agent
    assert "StartLimitIntervalSec=0" in unit


def test_no_unit_waits_for_what_comes_after_the_target_that_wants_it() -> None:
    for path in sorted((HERE / "systemd").glob("*.service")):
        (after,) = [line for line in path.read_text().splitlines() if line.startswith("After=")]
        # cloud-final.service is ordered after multi-user.target: systemd would leave the unit out.
        assert "cloud-final" not in after
        assert "multi-user.target" not in after


def _sbom(tmp_path: Path) -> dict[str, Any]:
    made = tmp_path / "sbom.json"
    command = [sys.executable, str(HERE / "bake" / "sbom.py"), "--name", "test", "--jars", str(tmp_path)]
    subprocess.run([*command, "--output", str(made)], check=True, stdin=subprocess.DEVNULL)
    document: dict[str, Any] = json.loads(made.read_text())
    return document


def test_it_lists_packages_and_jars_each_once(tmp_path: Path) -> None:
    lib = tmp_path / "cassandra-5.0.9" / "lib"
    lib.mkdir(parents=True)
    (lib / "guava-32.0.1-jre.jar").write_bytes(b"jar")
    (lib / "odd.jar").write_bytes(b"odd")
    document = _sbom(tmp_path)
    packages = {package["SPDXID"]: package for package in document["packages"]}
    assert len(packages) == len(document["packages"]) == len(document["relationships"])
    named = {(package["name"], package["versionInfo"]) for package in packages.values()}
    assert {("guava", "32.0.1-jre"), ("odd", "NOASSERTION")} <= named
    assert any(package["name"] == "dpkg" for package in packages.values())
    assert document["spdxVersion"] == "SPDX-2.3"
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in packages)
