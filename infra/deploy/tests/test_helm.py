"""The chart as helm itself lints and renders it; the objects as Kubernetes would decode them, and by our own rules."""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from infra.local.layout import CHECKOUT, layout

CHART = CHECKOUT / "infra" / "deploy" / "helm" / "ringmaster"
PROGRAMS = layout().cache / "bin"
NEEDED = {
    "existingSecret": "ringmaster-secrets",
    "publicUrl": "https://ringmaster.example",
    "enrolUrl": "https://enrol.example:8444/enrol/v1",
}
EVERYTHING = NEEDED | {
    "ingress": {"enabled": True, "host": "ringmaster.example", "tlsSecret": "tls", "className": "nginx"},
    "serviceMonitor": {"enabled": True},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "environment": {"RINGMASTER_AWS_REGIONS": "eu-west-1"},
    "networkPolicy": {"apiFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/ringmaster"}},
    "enrol": {"service": {"annotations": {"a": "b"}}},
}
OF_OTHERS = {"ServiceMonitor"}


def helm(*words: str, values: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAMS / "helm"), *words, str(CHART), "--values", "-", "--kube-version", "1.31.0"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    result = helm("template", "prod", values=values)
    assert result.returncode == 0, result.stderr
    return [each for each in yaml.safe_load_all(result.stdout) if each]


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    return rendered(EVERYTHING)


def of(objects: Sequence[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def pods(objects: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {**of(objects, "Deployment"), **of(objects, "Job")}
    return {name: each["spec"]["template"] for name, each in found.items()}


def containers(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        each
        for pod in pods(objects).values()
        for each in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
    ]


def test_helm_finds_nothing_to_complain_of():
    result = helm("lint", "--strict", values=EVERYTHING)
    assert result.returncode == 0, result.stdout


def decoded(objects: Sequence[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    text = "---\n".join(yaml.safe_dump(each) for each in objects if each["kind"] not in OF_OTHERS)
    return subprocess.run([str(PROGRAMS / "tools")], input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("values", [NEEDED, EVERYTHING], ids=["needed", "everything"])
def test_kubernetes_knows_every_field(values: Mapping[str, Any]):
    objects = rendered(values)
    result = decoded(objects)
    assert result.returncode == 0, result.stderr
    assert Counter(result.stdout.split()) == Counter(each["kind"] for each in objects if each["kind"] not in OF_OTHERS)


def test_it_would_find_a_field_that_kubernetes_does_not_know(objects: list[dict[str, Any]]):
    wrong = json.loads(json.dumps(objects))
    of(wrong, "Deployment")["prod-api"]["spec"]["replica"] = 3
    assert 'unknown field "spec.replica"' in decoded(wrong).stderr


def test_what_runs(objects: list[dict[str, Any]]):
    replicas = {name: each["spec"]["replicas"] for name, each in of(objects, "Deployment").items()}
    assert replicas == {"prod-api": 2, "prod-enrol": 2, "prod-worker": 2, "prod-beat": 1}
    assert set(of(objects, "Job")) == {"prod-migrate"}
    assert set(of(objects, "PodDisruptionBudget")) == {"prod-api", "prod-enrol", "prod-worker"}


def test_migrations_come_before_an_upgrade(objects: list[dict[str, Any]]):
    job = of(objects, "Job")["prod-migrate"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    account = of(objects, "ServiceAccount")["prod"]["metadata"]["annotations"]
    weights = [int(each["helm.sh/hook-weight"]) for each in (account, job["metadata"]["annotations"])]
    assert weights == sorted(weights)
    assert account["eks.amazonaws.com/role-arn"]


def test_every_container_is_nobody_special_with_a_root_that_cannot_be_written(objects: list[dict[str, Any]]):
    assert len(containers(objects)) == 7
    for each in containers(objects):
        security = each["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == 10001
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert each["resources"]["limits"]["memory"]
        assert "/tmp" in {mount["mountPath"] for mount in each["volumeMounts"]}
    for pod in pods(objects).values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod["spec"].keys()
        assert all("hostPath" not in volume for volume in pod["spec"]["volumes"])


def test_everything_that_lasts_is_probed(objects: list[dict[str, Any]]):
    for name, pod in ((name, each["spec"]["template"]) for name, each in of(objects, "Deployment").items()):
        (container,) = pod["spec"]["containers"]
        assert container["livenessProbe"]
        if name in ("prod-api", "prod-enrol"):
            assert container["readinessProbe"]
    api = pods(objects)["prod-api"]["spec"]["containers"][0]
    assert api["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert api["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_no_secret_is_in_an_object(objects: list[dict[str, Any]]):
    assert not of(objects, "Secret")
    for each in containers(objects):
        for variable in each["env"]:
            if variable["name"] in ("DATABASE_URL", "REDIS_URL", "RINGMASTER_METRICS_TOKEN"):
                assert variable["valueFrom"]["secretKeyRef"]["name"] == "ringmaster-secrets"
                assert "value" not in variable


def test_every_selector_finds_its_pods_and_no_others(objects: list[dict[str, Any]]):
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(objects).items()}

    def found(selector: dict[str, str]) -> set[str]:
        return {name for name, has in labels.items() if selector.items() <= has.items()}

    for name, each in of(objects, "Deployment").items():
        assert found(each["spec"]["selector"]["matchLabels"]) == {name}
    for name, each in of(objects, "Service").items():
        assert found(each["spec"]["selector"]) == {name}
    for kind, field in (("NetworkPolicy", "podSelector"), ("PodDisruptionBudget", "selector")):
        for name, each in of(objects, kind).items():
            assert found(each["spec"][field]["matchLabels"]) == {name}
    assert set(of(objects, "NetworkPolicy")) == set(labels)


def test_what_is_wrong_is_refused_by_name():
    refused = helm(
        "template", "prod", values={"api": {"replicas": -1}, "environment": {"DATABASE_URL": "postgresql://"}}
    )
    assert refused.returncode != 0
    for word in ("existingSecret", "publicUrl", "enrolUrl", "api.replicas", "environment"):
        assert word in refused.stderr
    without_host = helm("template", "prod", values=NEEDED | {"ingress": {"enabled": True}})
    assert "host" in without_host.stderr


def test_every_variable_that_is_set_is_one_that_the_product_reads(objects: list[dict[str, Any]]):
    from backend.config.environment import Env

    # Read by the containers' entry point.
    known = {name.upper() for name in Env.model_fields} | {"RINGMASTER_ENROL_FOLDER", "RINGMASTER_WORKER_PROCESSES"}
    assert {variable["name"] for each in containers(objects) for variable in each["env"]} <= known
