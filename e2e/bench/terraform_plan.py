"""What a plan costs that has nothing to do: 100 clusters with all that can stand around each.

The real Terraform with our provider against the whole control plane on simulated machines. All is applied first; then
a plan is made several times, each of which must be empty. Calls are those that the API counted (`/metrics`), and a
resource is one of the configuration. Prints one JSON object as its last line; fatal are a plan that is not empty and
more than 1.2 calls per resource.

    python -m e2e.bench.terraform_plan [--clusters 100] [--rounds 3] [--parallelism 10]
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from e2e.simulated import Simulated, simulated
from e2e.terraform.programs import Said, Terraform, environment

MOST_CALLS = 1.2
_COUNTED = re.compile(r"^ringmaster_http_requests_total\{(.*)\} (\S+)$", re.MULTILINE)
_APPLY_SECONDS = 3600

CONFIGURATION = """
provider "ringmaster" {}
locals { clusters = toset([for number in range(COUNT) : format("plan-%03d", number)]) }
resource "ringmaster_cluster" "all" {
  for_each               = local.clusters
  name                   = each.key
  engine                 = "cassandra"
  cloud                  = "fake"
  tags                   = { team = "shop" }
  termination_protection = false
  datacenters            = [{
    region = "fake-1", zones = ["fake-1a"], machine_type = "fake.small", nodes_per_zone = 1
  }]
}
resource "ringmaster_allowlist_entry" "office" {
  for_each   = ringmaster_cluster.all
  cluster_id = each.value.id
  cidr       = "192.0.2.0/24"
}
resource "ringmaster_cql_role" "app" {
  for_each   = ringmaster_cluster.all
  cluster_id = each.value.id
  name       = "app"
}
resource "ringmaster_cql_grant" "app" {
  for_each    = ringmaster_cql_role.app
  cluster_id  = each.value.cluster_id
  role        = each.value.name
  resource    = "data"
  permissions = ["SELECT", "MODIFY"]
}
resource "ringmaster_backup_schedule" "nightly" {
  for_each   = ringmaster_cluster.all
  cluster_id = each.value.id
  name       = "nightly"
  cron       = "30 2 * * *"
  keep_count = 7
}
resource "ringmaster_repair_schedule" "all" {
  for_each   = ringmaster_cluster.all
  cluster_id = each.value.id
  intensity  = 30
}
resource "ringmaster_alert_rule" "down" {
  for_each    = ringmaster_cluster.all
  cluster_id  = each.value.id
  rule        = "node-down"
  for_seconds = 300
}
resource "ringmaster_budget" "all" {
  for_each   = ringmaster_cluster.all
  name       = each.key
  micros     = 250 * 1000000
  cluster_id = each.value.id
}
resource "ringmaster_webhook" "programs" {
  name   = "programs"
  url    = "https://hooks.example.org/ringmaster"
  topics = ["operations"]
}
"""
PER_CLUSTER = CONFIGURATION.count("for_each")


def main() -> int:
    arguments = _arguments()
    # The limits of callers would make the plan wait, and the apply fail no less than it should.
    for whose in ("CALLER", "ORGANISATION"):
        os.environ[f"RINGMASTER_RATE_LIMIT_{whose}"] = "off"
    with tempfile.TemporaryDirectory(prefix="rm-plan-") as folder, simulated() as product:
        return run(arguments, product, Path(folder))


def run(arguments: argparse.Namespace, product: Simulated, folder: Path) -> int:
    terraform = Terraform(folder, environment(product.url, product.token), seconds=_APPLY_SECONDS)
    terraform.write(CONFIGURATION.replace("COUNT", str(arguments.clusters)))
    began = time.perf_counter()
    applied = terraform.apply(f"-parallelism={arguments.parallelism}")
    _expect(applied, 0)
    print(f"applied in {time.perf_counter() - began:.0f} s", flush=True)
    resources = arguments.clusters * PER_CLUSTER + 1
    seconds, calls = [], []
    for number in range(arguments.rounds):
        before, began = counted(product), time.perf_counter()
        _expect(terraform.plan(f"-parallelism={arguments.parallelism}"), 0)
        seconds.append(time.perf_counter() - began)
        calls.append(counted(product) - before)
        print(f"plan {number + 1}: {seconds[-1]:.1f} s, {calls[-1]} calls", flush=True)
    ratio = statistics.median(calls) / resources
    print(
        json.dumps(
            {
                "name": "terraform_plan",
                "ours": round(statistics.median(seconds), 2),
                "other": None,
                "unit": "s per plan",
                "ratio": round(ratio, 3),
                "runs": arguments.rounds,
                "notes": (
                    f"{arguments.clusters} clusters, {resources} resources, {statistics.median(calls):.0f} calls of "
                    "the API; ratio: calls per resource"
                ),
            }
        )
    )
    return 0 if ratio <= MOST_CALLS else 1


def counted(product: Simulated) -> int:
    """Requests under /api/v1 that were answered so far."""
    with urllib.request.urlopen(f"{product.url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return round(sum(float(value) for labels, value in _COUNTED.findall(text) if "api/v1" in labels))


def _expect(said: Said, code: int) -> None:
    if said.code != code:
        sys.exit(f"terraform_plan: terraform ended with {said.code}: {said.error() or said.changes}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parallelism", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
