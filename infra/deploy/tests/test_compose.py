"""Every service of docker-compose.yml is held to the same rules, as docker-compose itself reads the file."""

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from infra.local.layout import CHECKOUT

# They end, and are waited for.
ONE_SHOT = {"keys", "migrate"}
IMAGES = {
    "ringmaster/control-plane": "control-plane",
    "ringmaster/worker": "control-plane",
    "ringmaster/postgres": "postgres",
    "ringmaster/redis": "redis",
    "ringmaster/prometheus": "prometheus",
    "ringmaster/alertmanager": "alertmanager",
}


def _read() -> dict[str, Any]:
    compose = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
    found = subprocess.run(
        [*compose, "--file", str(CHECKOUT / "docker-compose.yml"), "config"],
        capture_output=True,
        text=True,
        check=True,
        cwd=CHECKOUT,
    )
    document: dict[str, Any] = yaml.safe_load(found.stdout)
    return document


COMPOSE = _read()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
every_service = pytest.mark.parametrize("name", sorted(SERVICES))


def dockerfile(name: str) -> str:
    return (CHECKOUT / "infra" / "deploy" / f"{IMAGES[SERVICES[name]['image']]}.Dockerfile").read_text()


def mounts(name: str) -> dict[str, str]:
    """Where what is mounted: volume or path by the place in the container."""
    found = {}
    for volume in SERVICES[name].get("volumes", []):
        if isinstance(volume, str):
            source, target = volume.split(":")[:2]
        else:
            source, target = volume["source"], volume["target"]
        found[target] = source
    return found


def test_it_has_all_parts_of_the_product():
    assert set(SERVICES) == ONE_SHOT | {
        *("api", "enrol", "worker", "beat", "postgres", "redis"),
        *("prometheus", "prometheus-history", "alertmanager"),
    }


@every_service
def test_it_runs_as_nobody_special_with_a_root_that_cannot_be_written(name: str):
    service = SERVICES[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    for where in service["tmpfs"]:
        assert "size=" in where
    assert re.search(r"useradd --uid 10001 ", dockerfile(name))


@every_service
def test_it_has_limits_and_its_log_has_an_end(name: str):
    service = SERVICES[name]
    assert service["mem_limit"]
    assert float(service["cpus"]) > 0
    assert service["pids_limit"] > 0
    assert service["logging"]["options"]["max-size"]


@every_service
def test_it_is_started_again_and_its_health_is_known(name: str):
    service = SERVICES[name]
    if name in ONE_SHOT:
        assert service["restart"] == "no"
        return
    assert service["restart"] == "unless-stopped"
    assert service.get("healthcheck", {}).get("test") or "HEALTHCHECK" in dockerfile(name)


@every_service
def test_no_secret_is_written_into_the_file(name: str):
    for variable, value in (SERVICES[name].get("environment") or {}).items():
        if re.search(r"PASSWORD|SECRET|TOKEN|KEY", variable):
            assert variable.endswith("_FILE"), f"{variable} should be a file"
        assert not re.search(r"://[^/]*:[^/]*@", str(value)), f"{variable} has a password in its address"


def test_keys_of_the_control_plane_are_seen_by_the_control_plane_only():
    own = {name for name in SERVICES if "secrets" in mounts(name).values()}
    assert own == {"keys", "migrate", "api", "enrol", "worker", "beat"}
    assert mounts("postgres")["/var/lib/ringmaster/secrets"] == "stores"
    assert mounts("redis")["/var/lib/ringmaster/secrets"] == "stores"
    assert mounts("prometheus")["/var/lib/ringmaster/secrets"] == "metrics"


def test_stores_are_reached_by_the_control_plane_only():
    assert COMPOSE["networks"]["stores"]["internal"] is True
    for name in ("postgres", "redis"):
        assert set(SERVICES[name]["networks"]) == {"stores"}
    for name in ("prometheus", "prometheus-history", "alertmanager"):
        assert "stores" not in SERVICES[name].get("networks", {})


def test_only_the_console_is_published_and_on_loopback():
    published = {name: service["ports"] for name, service in SERVICES.items() if service.get("ports")}
    assert set(published) == {"api"}
    assert str(published["api"]).find("127.0.0.1") >= 0


@every_service
def test_what_it_writes_is_in_a_volume_that_is_declared(name: str):
    for where, volume in mounts(name).items():
        if volume.startswith(("/", ".")):
            assert where == "/var/lib/ringmaster/engines"
        else:
            assert volume in COMPOSE["volumes"]


def test_every_data_folder_of_an_image_is_a_volume():
    for name in ("postgres", "prometheus", "prometheus-history", "alertmanager"):
        declared = re.findall(r"^VOLUME (\S+)", dockerfile(name), re.MULTILINE)
        assert declared
        assert set(declared) <= set(mounts(name))


def test_what_it_needs_is_there_before():
    for name in ("api", "enrol", "worker", "beat"):
        conditions = {other: each["condition"] for other, each in SERVICES[name]["depends_on"].items()}
        assert conditions == {"migrate": "service_completed_successfully", "redis": "service_healthy"}
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
