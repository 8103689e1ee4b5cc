import ast
import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from cryptography import x509

from backend.clusters.models import Cluster
from backend.clusters.snippets import TRUSTSTORE_PASSWORD
from backend.conftest import ApiClient

ADDRESSES = ["127.1.0.1", "127.2.0.1", "127.3.0.1"]


def test_it_says_how_to_reach_the_cluster(api: ApiClient, active: Cluster):
    shown = api.get(f"/clusters/{active.id}/connection").json()
    assert shown == shown | {
        "ready": True,
        "contact_points": ADDRESSES,
        "port": 9042,
        "datacenter": "local-local-1",
        "username": "admin",
        "tls": True,
        "ca_certificate": active.ca_certificate,
        "password_revealed": False,
    }
    assert [snippet["id"] for snippet in shown["snippets"]] == ["cqlsh", "python", "java", "go", "node", "spark"]


def test_it_says_how_to_reach_the_dynamodb_api_where_there_is_one(api: ApiClient, active: Cluster):
    assert api.get(f"/clusters/{active.id}/connection").json()["dynamodb"] is None
    Cluster.objects.filter(id=active.id).update(settings={"alternator_write_isolation": "only_rmw_uses_lwt"})
    assert api.get(f"/clusters/{active.id}/connection").json()["dynamodb"] == {
        "endpoints": [f"https://{address}:8043" for address in ADDRESSES],
        "write_isolation": "only_rmw_uses_lwt",
        "access_key": "admin",
    }
    Cluster.objects.filter(id=active.id).update(settings={"alternator_write_isolation": "off", "alternator_port": 8000})
    assert api.get(f"/clusters/{active.id}/connection").json()["dynamodb"] is None


def test_there_is_nothing_to_paste_before_there_are_addresses(api: ApiClient, creating: Cluster):
    shown = api.get(f"/clusters/{creating.id}/connection").json()
    assert (shown["ready"], shown["contact_points"], shown["snippets"]) == (False, [], [])


def snippets(api: ApiClient, cluster: Cluster) -> dict[str, str]:
    return {s["id"]: s["code"] for s in api.get(f"/clusters/{cluster.id}/connection").json()["snippets"]}


def test_snippets_name_this_cluster_and_never_the_password(api: ApiClient, active: Cluster):
    codes = snippets(api, active)
    password = api.post(f"/clusters/{active.id}/credentials/reveal").json()["password"]
    for kind, code in codes.items():
        assert ADDRESSES[0] in code
        assert "admin" in code
        assert password not in code
        assert "{{" not in code
        assert ("local-local-1" in code) == (kind != "cqlsh")


def test_spark_has_the_settings_for_big_reads_and_writes(api: ApiClient, active: Cluster):
    code = snippets(api, active)["spark"]
    for setting in ("input.split.size_in_mb=1", "connection.compression=LZ4", "output.batch.grouping.key=none"):
        assert f"--conf spark.cassandra.{setting}" in code


def test_the_python_snippet_is_python_and_checks_the_nodes(api: ApiClient, active: Cluster):
    code = snippets(api, active)["python"]
    ast.parse(code)
    assert 'ssl.create_default_context(cafile="ca.crt")' in code


@pytest.mark.parametrize("kind", ["cqlsh", "spark"])
def test_shell_snippets_are_sound(api: ApiClient, active: Cluster, kind: str):
    subprocess.run(["/bin/bash", "-n"], input=snippets(api, active)[kind], text=True, check=True)


def test_the_node_snippet_is_sound(api: ApiClient, active: Cluster, tmp_path: Path):
    file = tmp_path / "connect.mjs"
    file.write_text(snippets(api, active)["node"])
    subprocess.run([str(shutil.which("node")), "--check", str(file)], check=True)


def test_the_go_snippet_is_sound_and_formatted(api: ApiClient, active: Cluster, tmp_path: Path):
    file = tmp_path / "main.go"
    file.write_text(snippets(api, active)["go"])
    done = subprocess.run([str(shutil.which("gofmt")), "-l", str(file)], check=True, capture_output=True, text=True)
    assert done.stdout == ""


def bundle(api: ApiClient, cluster: Cluster) -> zipfile.ZipFile:
    answer = api.get(f"/clusters/{cluster.id}/connection/bundle")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == 'attachment; filename="orders-connection.zip"'
    return zipfile.ZipFile(io.BytesIO(answer.content))


def test_the_bundle_holds_all_but_the_password(api: ApiClient, active: Cluster):
    files = bundle(api, active)
    assert files.namelist() == ["ca.crt", "truststore.p12", "cqlshrc", "connection.json", "README.txt"]
    assert files.read("ca.crt").decode() == active.ca_certificate
    facts = json.loads(files.read("connection.json"))
    assert (facts["contact_points"], facts["port"]) == (ADDRESSES, 9042)
    assert TRUSTSTORE_PASSWORD in files.read("README.txt").decode()
    password = api.post(f"/clusters/{active.id}/credentials/reveal").json()["password"]
    assert all(password.encode() not in files.read(name) for name in files.namelist())


def test_java_reads_the_trust_store(api: ApiClient, active: Cluster, tmp_path: Path):
    bundle(api, active).extract("truststore.p12", tmp_path)
    listed = subprocess.run(
        [
            str(shutil.which("keytool")),
            "-list",
            "-keystore",
            str(tmp_path / "truststore.p12"),
            "-storepass",
            TRUSTSTORE_PASSWORD,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "trustedCertEntry" in listed.stdout
    assert "1 entry" in listed.stdout


def test_there_is_no_bundle_before_the_cluster_is_active(api: ApiClient, creating: Cluster):
    answer = api.get(f"/clusters/{creating.id}/connection/bundle")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_not_active")


def test_the_authority_can_be_had_alone(api: ApiClient, active: Cluster):
    answer = api.get(f"/clusters/{active.id}/connection/ca")
    assert answer["Content-Type"] == "application/x-pem-file"
    names = x509.load_pem_x509_certificate(answer.content).subject.rfc4514_string()
    assert "orders" in names
