"""What Prometheus is started with is read by its own checker."""

import subprocess
from pathlib import Path

from infra.local import programs
from infra.local.layout import CHECKOUT, Layout

DEPLOYED = CHECKOUT / "infra" / "deploy" / "prometheus"


def checked(configuration: Path) -> str:
    result = subprocess.run(
        ["promtool", "check", "config", str(configuration)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_launchers_configuration_is_valid_and_finds_the_rules(tmp_path: Path):
    place = Layout(checkout=CHECKOUT, run=tmp_path, cache=tmp_path, engines=tmp_path)
    names = ("console", "api", "enrol", "prometheus", "prometheus_history")
    ports = {name: 20_000 + number for number, name in enumerate(names)}
    installation = programs.Installation(place=place, ports=ports, sockets=tmp_path)
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text(programs.prometheus_configuration(installation))
    assert "/etc/" not in configuration.read_text()
    assert "/var/lib" not in configuration.read_text()
    place.secrets.mkdir()
    for name in ("prometheus.pem", "agents-ca.crt"):
        (place.secrets / name).touch()
    checked(configuration)


def test_the_configuration_of_what_keeps_history_is_valid():
    checked(DEPLOYED / "history.yml")
