"""The modules that install the control plane, without a cloud: held against today's providers, and by our own rules.

What a machine is told is rendered by Terraform itself, then read as cloud-init, systemd and a shell would.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.deploy.terraform import providers
from infra.deploy.terraform.configuration import FOLDER, Block, Resource, complaints, references, resources, schema

CLOUDS = sorted(file.parent.name for file in FOLDER.glob("*/stores.tf"))
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
PARTS = {"api": {"api": "1g", "enrol": "512m"}, "worker": {"worker": "2g", "beat": "512m"}}


def text(cloud: str) -> str:
    return "\n".join(file.read_text() for file in sorted((FOLDER / cloud).rglob("*.tf")))


def terraform(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    return subprocess.run(
        ["terraform", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@every_cloud
def test_todays_provider_knows_every_argument_and_misses_none(cloud: str):
    known = schema(cloud)["resources"]
    found = [said for each in resources(cloud) for said in complaints(each.block, known[each.kind])]
    assert found == []


@every_cloud
def test_todays_provider_has_every_attribute_that_is_read(cloud: str):
    known = schema(cloud)["resources"]
    read = references(cloud, frozenset(known))
    assert len(read) > 15
    assert {(kind, name) for kind, name in read if name not in known[kind]["attributes"]} == set()


@every_cloud
def test_the_record_is_of_what_the_module_uses(cloud: str):
    assert set(schema(cloud)["resources"]) == {each.kind for each in resources(cloud)}


def test_it_would_find_what_a_provider_refuses():
    known = schema("aws")["resources"]["aws_lb"]
    wrong = Block("aws_lb.x", {"nam": "x"}, [("access_logs", Block("aws_lb.x.access_logs", {"prefix": "p"}, []))])
    assert list(complaints(wrong, known)) == ["aws_lb.x: nam is not known", "aws_lb.x.access_logs: bucket is missing"]


@every_cloud
def test_it_is_well_formed(cloud: str):
    done = terraform("fmt", "-check", "-diff", "-recursive", folder=FOLDER)
    assert done.returncode == 0, done.stdout


@every_cloud
def test_no_secret_can_reach_the_state(cloud: str):
    # Whatever draws or reads a secret keeps it: in the state, which is a file.
    kept = r"random_password|random_string|random_id|tls_private_key|_secret_version|secret_string|secret_data"
    assert re.findall(kept, text(cloud)) == []
    assert re.findall(r'^data "', text(cloud), re.MULTILINE) == []
    for each in resources(cloud):
        for block in walk(each.block):
            for name, value in block.arguments.items():
                if re.search(r"password|auth_token|auth_string|auth_enabled|private_key", name):
                    assert (name, value) == ("manage_master_user_password", True)


def walk(block: Block) -> list[Block]:
    return [block, *(each for _, inside in block.blocks for each in walk(inside))]


@every_cloud
def test_secrets_are_given_by_name_only(cloud: str):
    variables = (FOLDER / cloud / "variables.tf").read_text()
    assert "never the secret itself" in variables
    for name in ("RINGMASTER_METRICS_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS"):
        assert name in variables


@every_cloud
def test_everything_that_takes_tags_has_ours(cloud: str):
    known = schema(cloud)["resources"]
    name = {"aws": "tags", "gcp": "labels"}[cloud]
    for each in resources(cloud):
        if name in known[each.kind]["arguments"]:
            assert re.search(rf"local\.{name}\b", str(each.block.arguments.get(name))), each.block.path


def kept(cloud: str) -> list[Resource]:
    return [each for each in resources(cloud) if each.kind in {"aws_db_instance", "google_sql_database_instance"}]


@every_cloud
def test_the_database_is_not_destroyed_by_terraform(cloud: str):
    (database,) = kept(cloud)
    lifecycle = dict(database.block.blocks)["lifecycle"]
    assert lifecycle.arguments["prevent_destroy"] is True


@every_cloud
def test_who_may_reach_it_has_no_default(cloud: str):
    variables = (FOLDER / cloud / "variables.tf").read_text()
    for name in ("console_from", "enrol_from"):
        body = re.search(rf'variable "{name}" \{{\n(.*?)^\}}', variables, re.DOTALL | re.MULTILINE)
        assert body is not None
        assert "default" not in body[1]


@pytest.mark.parametrize("cloud", sorted(providers.OLDER))
def test_what_older_providers_do_not_know_is_where_the_list_says(cloud: str, tmp_path: Path):
    shutil.copytree(FOLDER / cloud, tmp_path / cloud)
    providers.older(cloud, tmp_path / cloud)
    (tmp_path / cloud / providers.OLDER[cloud][0][0]).write_text("")
    with pytest.raises(ValueError, match="0 times"):
        providers.older(cloud, tmp_path / cloud)


def test_both_modules_are_of_one_shape():
    files = {cloud: {file.relative_to(FOLDER / cloud) for file in (FOLDER / cloud).rglob("*.*")} for cloud in CLOUDS}
    assert len({frozenset(each) for each in files.values()}) == 1, files
    assert Path("README.md") in files["aws"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """What machines are told, by cloud and part: rendered by Terraform, without any provider."""
    folder = tmp_path_factory.mktemp("told")
    calls = []
    for cloud in CLOUDS:
        for part, services in PARTS.items():
            calls.append(f"""
module "{cloud}-{part}" {{
  source      = "{FOLDER}/machine"
  cloud       = "{cloud}"
  services    = {json.dumps(services)}
  image       = "registry.example/ringmaster@sha256:{"0" * 64}"
  environment = {{ DATABASE_URL = "postgresql://ringmaster@db:5432/ringmaster", OTHER = "a b" }}
  secrets     = {{ "master.key" = "where-the-master-key-is", "metrics.token" = "where-the-token-is" }}
  settings    = {{ REGION = "r", GROUP = "g", LOG = "l", DATABASE_SECRET = "d" }}
  packages    = ["awscli"]
  commands    = ["echo before"]
}}
output "{cloud}-{part}" {{
  value     = module.{cloud}-{part}.user_data
  sensitive = true
}}
""")
    (folder / "main.tf").write_text("".join(calls))
    for words in (["init", "-input=false"], ["apply", "-auto-approve", "-input=false"]):
        done = terraform(*words, folder=folder)
        assert done.returncode == 0, done.stderr
    outputs = json.loads(terraform("output", "-json", folder=folder).stdout)
    found = {}
    for name, value in outputs.items():
        cloud, _, part = name.partition("-")
        assert value["value"].startswith("#cloud-config\n")
        found[cloud, part] = yaml.safe_load(value["value"])
    return found


def written(document: dict[str, Any], root: Path) -> Path:
    """The files of a document below a folder, as cloud-init writes them."""
    for each in document["write_files"]:
        file = root / each["path"].lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(each["content"])
        file.chmod(int(each["permissions"], 8))
    return root


every_machine = pytest.mark.parametrize("machine", [(cloud, part) for cloud in CLOUDS for part in PARTS])
Told = dict[tuple[str, str], dict[str, Any]]


@every_machine
def test_systemd_finds_nothing_to_complain_of(told: Told, machine: tuple[str, str], tmp_path: Path):
    root = written(told[machine], tmp_path)
    shutil.copytree("/usr/lib/systemd/system", root / "usr" / "lib" / "systemd" / "system", symlinks=True)
    (root / "usr" / "bin").mkdir(parents=True, exist_ok=True)
    (root / "bin").mkdir(exist_ok=True)
    for program in ("usr/bin/docker", "bin/sh"):
        shutil.copy("/bin/true", root / program)
    (root / "etc/systemd/system/docker.service").write_text("[Service]\nExecStart=/usr/bin/docker\n")
    units = sorted(file.name for file in (root / "etc/systemd/system").glob("ringmaster*"))
    assert {f"ringmaster-{service}.service" for service in PARTS[machine[1]]} < set(units)
    done = subprocess.run(
        ["systemd-analyze", "verify", f"--root={root}", *units], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@every_machine
def test_its_script_is_a_shells(told: Told, machine: tuple[str, str], tmp_path: Path):
    root = written(told[machine], tmp_path)
    script, cloud = root / "usr/local/sbin/ringmaster", root / "usr/local/lib/ringmaster/cloud"
    assert os.access(script, os.X_OK)
    for command in (["dash", "-n", script], ["dash", "-n", cloud], ["shellcheck", script, cloud]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@every_machine
def test_both_clouds_answer_what_the_script_asks(told: Told, machine: tuple[str, str], tmp_path: Path):
    cloud = (written(told[machine], tmp_path) / "usr/local/lib/ringmaster/cloud").read_text()
    for name in ("secret", "database_password", "before", "sign_in", "log_options", "told_ready"):
        assert re.search(rf"^{name}\(\) \{{", cloud, re.MULTILINE), name


STUB_DOCKER = """#!/bin/sh
printf '%s\\n' "$*" >> "$STUB/docker"
case "$1" in
  inspect) cat "$STUB/health" ;;
  ps) echo ringmaster-api ;;
esac
"""
STUB_CLOUD = """
secret() { [ -e "$STUB/away" ] && return 1; echo "text of $1"; }
database_password() { cat "$STUB/password"; }
before() { :; }
sign_in() { echo sign-in >> "$STUB/docker"; }
log_options() { echo "--log-driver none"; }
told_ready() { touch "$STUB/ready"; }
"""


@pytest.fixture
def machine(told: Told, tmp_path: Path) -> "Machine":
    """A machine whose cloud and docker only pretend: files are where they would be, below a folder."""
    root = written(told["aws", "api"], tmp_path / "root")
    (root / "usr/local/lib/ringmaster/cloud").write_text(STUB_CLOUD)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in {
        "docker": STUB_DOCKER,
        "systemctl": '#!/bin/sh\necho "systemctl $*" >> "$STUB/docker"\n',
        "chown": "#!/bin/sh\n",
        "curl": "#!/bin/sh\n",
        "install": '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"\n',
    }.items():
        (programs / name).write_text(body)
        (programs / name).chmod(0o755)
    script = root / "usr/local/sbin/ringmaster"
    body = script.read_text()
    for path in ("/etc/ringmaster/", "/usr/local/lib/ringmaster/"):
        body = body.replace(f"{path}", f"{root}{path}")
    script.write_text(body.replace("folder=/run/ringmaster", f"folder={root}/run/ringmaster"))
    (tmp_path / "password").write_text("a:b\\c\n")
    (tmp_path / "health").write_text("healthy\n")
    return Machine(root, tmp_path, programs)


class Machine:
    def __init__(self, root: Path, stub: Path, programs: Path) -> None:
        self.run_folder = root / "run" / "ringmaster"
        self.script = root / "usr/local/sbin/ringmaster"
        self.stub = stub
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}", "STUB": str(stub)}

    def do(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.script), *words], env=self.environment, capture_output=True, text=True, timeout=30, check=False
        )

    def docker(self) -> list[str]:
        return (self.stub / "docker").read_text().splitlines()


def test_it_fetches_secrets_then_the_image_then_migrates(machine: Machine):
    done = machine.do("prepare")
    assert done.returncode == 0, done.stderr
    assert (machine.run_folder / "secrets/master.key").read_text() == "text of where-the-master-key-is"
    assert (machine.run_folder / "metrics/metrics.token").read_text() == "text of where-the-token-is"
    for file in ("secrets/master.key", "secrets/pgpass", "metrics/metrics.token"):
        assert (machine.run_folder / file).stat().st_mode & 0o777 == 0o400
    signed_in, pulled, migrated, bootstrapped = machine.docker()
    assert signed_in == "sign-in"
    assert pulled.startswith("pull ")
    assert migrated.endswith("-m backend.manage migrate --no-input")
    assert "-m backend.manage bootstrap --enrol-certificate-file" in bootstrapped
    for line in (migrated, bootstrapped):
        assert "--read-only --user 10001:10001 --cap-drop ALL" in line
        assert "text of" not in line


def test_it_goes_no_further_without_a_secret(machine: Machine):
    (machine.stub / "away").touch()
    assert machine.do("prepare").returncode != 0
    assert not (machine.stub / "docker").exists()


def test_a_password_is_written_as_libpq_reads_it_and_again_when_it_changed(machine: Machine):
    assert machine.do("prepare").returncode == 0
    file = machine.run_folder / "secrets/pgpass"
    assert file.read_text() == "*:*:*:ringmaster:a\\:b\\\\c\n"
    before = file.stat().st_ino
    assert machine.do("password").returncode == 0
    assert file.stat().st_ino == before
    (machine.stub / "password").write_text("another\n")
    assert machine.do("password").returncode == 0
    assert file.read_text() == "*:*:*:ringmaster:another\n"
    (machine.stub / "password").write_text("")
    assert machine.do("password").returncode != 0
    assert file.read_text() == "*:*:*:ringmaster:another\n"


def test_a_service_runs_with_its_health_known(machine: Machine):
    assert machine.do("run", "api", "1g").returncode == 0
    (line,) = machine.docker()
    assert "--name ringmaster-api --memory 1g" in line
    assert "http://127.0.0.1:8000/healthz" in line
    assert line.endswith("ringmaster@sha256:" + "0" * 64 + " api")


def test_what_does_not_answer_is_started_anew(machine: Machine):
    assert machine.do("watch").returncode == 0
    assert machine.docker()[-1] == "systemctl restart ringmaster-api"


def test_it_is_ready_once_all_of_it_is(machine: Machine):
    (machine.stub / "health").write_text("starting\n")
    assert machine.do("healthy").returncode != 0
    (machine.stub / "health").write_text("healthy\n")
    assert machine.do("ready").returncode == 0
    assert (machine.stub / "ready").exists()


def test_a_word_that_it_does_not_know_is_refused(machine: Machine):
    done = machine.do("frobnicate")
    assert done.returncode == 2
    assert "say first-owner" in done.stderr
    assert machine.do("first-owner", "Example").returncode == 2
