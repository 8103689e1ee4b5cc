"""The units as systemd's own checker reads them, under a root of their own."""

import shutil
import subprocess
from pathlib import Path

import pytest

from infra.local.layout import CHECKOUT

UNITS = CHECKOUT / "infra" / "deploy" / "systemd"
SERVICES = [
    *("ringmaster-migrate.service", "ringmaster-api@8000.service", "ringmaster-enrol.service"),
    *("ringmaster-worker@1.service", "ringmaster-beat.service"),
]
# Of 10, in systemd's own judgement. What is left: they use the network, and Python asks for more system calls.
EXPOSURE = 1.5


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    shutil.copytree(UNITS, folder / "etc" / "systemd" / "system")
    shutil.copytree("/usr/lib/systemd/system", folder / "usr" / "lib" / "systemd" / "system", symlinks=True)
    program = folder / "opt" / "ringmaster" / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    shutil.copy("/bin/true", program)
    return folder


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


def test_every_unit_is_checked():
    found = {file.name for file in UNITS.glob("*.service")}
    assert found == {name.replace("@8000", "@").replace("@1", "@") for name in SERVICES}


def test_systemd_finds_nothing_to_complain_of(root: Path):
    result = analyze("verify", f"--root={root}", *SERVICES, "ringmaster.target")
    assert (result.returncode, result.stderr) == (0, "")


def test_it_would_find_a_word_that_it_does_not_know(root: Path):
    broken = root / "etc" / "systemd" / "system" / "broken.service"
    broken.write_text((UNITS / "ringmaster-beat.service").read_text().replace("PrivateTmp=", "PrivateTemp="))
    assert "'PrivateTemp'" in analyze("verify", f"--root={root}", "broken.service").stderr


@pytest.mark.parametrize("name", SERVICES)
def test_it_is_hardened(root: Path, name: str):
    words = ("security", "--offline=true", f"--root={root}", f"--threshold={int(EXPOSURE * 10)}", "--no-pager", name)
    result = analyze(*words)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name", sorted(file.name for file in UNITS.glob("*.service")))
def test_it_is_started_again_limited_and_has_no_secret_in_it(name: str):
    text = (UNITS / name).read_text()
    assert "User=ringmaster" in text
    assert "LoadCredential=master.key:" in text
    if name != "ringmaster-migrate.service":
        assert "Restart=always" in text
        assert "MemoryMax=" in text
        assert "Requires=ringmaster-migrate.service" in text
    assert "PASSWORD" not in text


def test_the_example_of_an_environment_is_enough_to_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from backend.config.environment import Env

    lines = [line for line in (UNITS / "environment.example").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        monkeypatch.setenv(*line.split("=", 1))
    for name in ("SECRET", "MASTER"):
        file = tmp_path / name
        # 32 bytes in base64, and more than 32 characters.
        file.write_text("A" * 43 + "=")
        monkeypatch.setenv(f"RINGMASTER_{name}_KEY_FILE", str(file))
    assert Env().public_host == "ringmaster.example"
