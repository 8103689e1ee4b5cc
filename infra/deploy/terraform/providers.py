"""Providers of the clouds that are built from their sources, where their releases cannot be downloaded.

They are years older than what the modules are for: `older` takes from a copy of a module what they do not know yet.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from infra.deploy.terraform.configuration import FOLDER
from infra.local.layout import CHECKOUT, layout

_PROGRAMS = {
    "aws": "github.com/terraform-providers/terraform-provider-aws",
    "gcp": "github.com/hashicorp/terraform-provider-google",
}

_REGISTRY = """resource "google_artifact_registry_repository_iam_member" "machine" {
  for_each   = local.registry == null ? toset([]) : local.parts
  project    = local.registry[1]
  location   = local.registry[0]
  repository = local.registry[2]
  role       = "roles/artifactregistry.reader"
  member     = local.accounts[each.key]
}
"""

# File of the module, what it says, and what a provider of those days calls the same.
OLDER: dict[str, list[tuple[str, str, str]]] = {
    "aws": [
        ("network.tf", 'domain     = "vpc"', "vpc = true"),
        ("stores.tf", "db_name  ", "name  "),
        ("stores.tf", "manage_master_user_password = true", 'password = "of the emulator only"'),
        (
            "stores.tf",
            "aws_db_instance.this.master_user_secret[0].secret_arn",
            '"arn:aws:secretsmanager:eu-west-1:123456789012:secret:rds!db-1-AbCdEf"',
        ),
        ("stores.tf", "  description       ", "  replication_group_description "),
        ("stores.tf", "num_cache_clusters  ", "number_cache_clusters "),
        ("stores.tf", '"7.1"', '"5.0.6"'),
        ("machines.tf", "auto_rollback          = true", ""),
    ],
    "gcp": [
        ("identity.tf", _REGISTRY, ""),
        ("machines.tf", "    google_artifact_registry_repository_iam_member.machine,\n", ""),
        ("machines.tf", 'join("\\n", google_redis_instance.this.server_ca_certs[*].cert)', '"a certificate"'),
        ("stores.tf", 'edition                     = "ENTERPRISE"', ""),
        ("stores.tf", "deletion_protection_enabled = var.deletion_protection", ""),
        ("stores.tf", 'ssl_mode        = "ENCRYPTED_ONLY"', "require_ssl = true"),
        ("network.tf", "  region  = local.region\n  labels  = local.labels", "  region  = local.region"),
        ("network.tf", "  labels        = local.labels", ""),
        (
            "balancers.tf",
            '-console"\n  project = var.project\n  labels  = local.labels',
            '-console"\n  project = var.project',
        ),
        ("balancers.tf", "  region  = local.region\n  labels  = local.labels", "  region  = local.region"),
        ("balancers.tf", 'EXTERNAL_MANAGED"\n  # A stream', 'EXTERNAL"\n  # A stream'),
        ("balancers.tf", 'EXTERNAL_MANAGED"\n  ip_address', 'EXTERNAL"\n  ip_address'),
        ("balancers.tf", "_service.enrol.id\n  labels                = local.labels", "_service.enrol.id"),
        ("balancers.tf", "_proxy.console.id\n  labels                = local.labels", "_proxy.console.id"),
        ("stores.tf", 'deletion_policy = "ABANDON"', ""),
        ("stores.tf", 'transit_encryption_mode = "SERVER_AUTHENTICATION"', ""),
    ],
}


def older_copy(cloud: str, folder: Path) -> Path:
    """Of a module and all that it reads, for an older provider: the folder of its example."""
    shutil.copytree(CHECKOUT / "infra" / cloud, folder / "infra" / cloud)
    modules = folder / "infra" / "deploy" / "terraform"
    for each in (cloud, "machine"):
        shutil.copytree(FOLDER / each, modules / each)
    older(cloud, modules / cloud)
    return modules / cloud / "examples" / "complete"


def older(cloud: str, folder: Path) -> None:
    """Rewrites a copy of a module. Raises ValueError when the list above names what the module does not say."""
    for name, new, old in OLDER[cloud]:
        file = folder / name
        text = file.read_text()
        if text.count(new) != 1:
            raise ValueError(f"{name} says {new!r} {text.count(new)} times")
        file.write_text(text.replace(new, old))


def settings(cloud: str) -> Path:
    """A file for TF_CLI_CONFIG_FILE. Builds the provider the first time: minutes, and 3 GB of memory."""
    folder = layout().cache / "terraform-clouds"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build(cloud, folder / cloud)
    file = folder / f"{cloud}.terraformrc"
    source = {"aws": "hashicorp/aws", "gcp": "hashicorp/google"}[cloud]
    file.write_text(
        f'provider_installation {{\n  dev_overrides {{ "{source}" = "{folder / cloud}" }}\n  direct {{}}\n}}\n'
    )
    return file


def _build(cloud: str, folder: Path) -> None:
    module = _PROGRAMS[cloud]
    program = folder / module.rpartition("/")[2]
    source = FOLDER / "provider-sources" / cloud
    newest = max((source / name).stat().st_mtime for name in ("go.mod", "go.sum"))
    if program.exists() and program.stat().st_mtime > newest:
        return
    # One package at a time: the largest takes gigabytes by itself.
    command = ["go", "build", "-p", "1", "-trimpath", "-ldflags=-s -w", "-o", str(program), module]
    done = subprocess.run(
        command, cwd=source, env={**os.environ, "CGO_ENABLED": "0"}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} could not be built:\n{done.stderr}")
