"""What Prometheus and Alertmanager are started with is read by their own checkers."""

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


def installed(folder: Path) -> programs.Installation:
    place = Layout(checkout=CHECKOUT, run=folder, cache=folder, engines=folder)
    names = ("console", "api", "enrol", "prometheus", "prometheus_history", "alertmanager")
    ports = {name: 20_000 + number for number, name in enumerate(names)}
    return programs.Installation(place=place, ports=ports, sockets=folder)


def test_alertmanager_is_told_where_the_api_is_and_its_configuration_is_valid(tmp_path: Path):
    text = programs.alertmanager_configuration(installed(tmp_path))
    assert "http://127.0.0.1:20001/metrics/alerts" in text
    assert "/var/lib" not in text
    file = tmp_path / "alertmanager.yml"
    file.write_text(text)
    result = subprocess.run(["amtool", "check-config", str(file)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_launchers_configuration_is_valid_and_finds_the_rules(tmp_path: Path):
    installation = installed(tmp_path)
    configuration = tmp_path / "prometheus.yml"
    configuration.write_text(programs.prometheus_configuration(installation))
    assert "/etc/" not in configuration.read_text()
    assert "/var/lib" not in configuration.read_text()
    place = installation.place
    place.secrets.mkdir()
    for name in ("prometheus.pem", "agents-ca.crt"):
        (place.secrets / name).touch()
    checked(configuration)


def test_the_configuration_of_what_keeps_history_is_valid():
    checked(DEPLOYED / "history.yml")
