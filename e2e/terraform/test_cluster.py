"""ringmaster_cluster: everything in place or refused with the server's reason, and no way to lose data."""

import os
import re
import time
from typing import Any

import pytest

from e2e.terraform.conftest import Product
from e2e.terraform.late_answers import late_answers
from e2e.terraform.programs import Terraform
from infra.local.layout import layout

CLUSTER = "ringmaster_cluster.it"
DATACENTERS = """[{
    region = "fake-1", zones = ["fake-1a", "fake-1b", "fake-1c"], machine_type = "fake.small", nodes_per_zone = 1
  }]"""


def cluster(name: str, **attributes: str) -> str:
    """A configuration; attributes are given as Terraform writes them."""
    given = {
        "name": f'"{name}"',
        "engine": '"cassandra"',
        "engine_version": '"5.0.5"',
        "cloud": '"fake"',
        "datacenters": DATACENTERS,
        **attributes,
    }
    lines = "\n".join(f"  {key} = {value}" for key, value in given.items())
    return f'resource "ringmaster_cluster" "it" {{\n{lines}\n}}\n'


IN_PLACE: list[tuple[dict[str, str], dict[str, Any], str]] = [
    # What is written, what the API then says, and what the plan warned of.
    ({"name": '"renamed"'}, {"name": "renamed"}, ""),
    ({"tags": '{ team = "shop" }'}, {"options": {"tags": {"team": "shop"}}}, ""),
    (
        {"healing": '{ mode = "tell", grace_seconds = 900 }'},
        {"healing": {"mode": "tell", "grace_seconds": 900, "replacements_per_day": 3}},
        "",
    ),
    (
        {"settings": "{ read_timeout_ms = 7000 }"},
        {"settings": {"read_timeout_ms": 7000}},
        "changes in place",
    ),
    (
        {"datacenters": DATACENTERS.replace("nodes_per_zone = 1", "nodes_per_zone = 2")},
        {"nodes_total": 6},
        "Add 3 nodes to fake-fake-1",
    ),
    ({"datacenters": DATACENTERS}, {"nodes_total": 3}, "Remove 3 nodes"),
    (
        {"datacenters": DATACENTERS.replace("fake.small", "fake.large")},
        {"nodes_total": 3},
        "fake.large",
    ),
    ({"engine_version": '"5.0.9"'}, {"engine_version": "5.0.9"}, "5.0.9"),
    (
        {
            "datacenters": DATACENTERS.replace("fake.small", "fake.large").replace(
                "}]",
                '}, { region = "fake-2", zones = ["fake-2a"], machine_type = "fake.small", nodes_per_zone = 1 }]',
            )
        },
        {"nodes_total": 4},
        "Add the data centre fake-fake-2",
    ),
    ({"datacenters": DATACENTERS.replace("fake.small", "fake.large")}, {"nodes_total": 3}, "Remove the data centre"),
    ({"maintenance_windows": "WINDOWS"}, {}, ""),
    ({"termination_protection": "false"}, {"termination_protection": False}, ""),
]

WINDOWS = """[{
    weekdays = ["sunday", "monday"], starts_at = "02:30", minutes = 90, time_zone = "Europe/Vienna"
  }]"""

IN_PLACE = [
    ({key: WINDOWS if one == "WINDOWS" else one for key, one in each.items()}, said, warned)
    for each, said, warned in IN_PLACE
]


def test_a_cluster_is_applied_and_every_attribute_changes_in_place(product: Product, terraform: Terraform):
    written: dict[str, str] = {}
    terraform.write(cluster("placed"))
    planned = terraform.plan()
    assert planned.changes == {CLUSTER: "create"}
    assert "placed: 3 nodes, ready in about" in planned.warning()
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert terraform.plan().code == 0
    before = terraform.values(CLUSTER)
    assert (before["state"], before["termination_protection"]) == ("active", True)
    rows = []
    for attributes, said, warned in IN_PLACE:
        written |= attributes
        terraform.write(cluster(**{"name": "placed", **_name(written)}, **_rest(written)))
        planned = terraform.plan()
        assert planned.changes == {CLUSTER: "update"}, (attributes, planned.text)
        assert warned in planned.warning(), attributes
        steps = re.findall(r"^\d+\. (.*)$", planned.warning(), re.MULTILINE)
        rows.append(_row(attributes, "in place", "; ".join(steps) or "at once, no node notices"))
        applied = terraform.apply()
        assert applied.code == 0, (attributes, applied.text)
        found = product.call("GET", f"/clusters/{before['id']}")
        assert {key: found[key] for key in said} == said, attributes
        assert terraform.plan().code == 0, attributes
    assert terraform.values(CLUSTER)["id"] == before["id"]
    assert terraform.destroy().code == 0
    assert product.call("GET", f"/clusters/{before['id']}")["state"] == "deleted"
    _documented("Changed in place", rows)


DOCUMENT = layout().checkout / "docs" / "terraform-cluster.md"


def _row(attributes: dict[str, str], result: str, why: str) -> str:
    """Of the table in the docs: what was written, and what came of it."""
    said = "; ".join(f"{key} = {' '.join(value.split())}" for key, value in attributes.items())
    return f"| `{said}` | {result} | {why.replace('|', chr(92) + '|')} |"


def _documented(section: str, rows: list[str]) -> None:
    """The section of the docs is what was seen. With RINGMASTER_WRITE_DOCS=1 it is made so."""
    table = "\n".join(["| another value | | what the plan says |", "|---|---|---|", *rows])
    text = DOCUMENT.read_text()
    head, found, rest = text.partition(f"## {section}\n\n")
    assert found, f"docs/terraform-cluster.md has no section {section}"
    now, gap, after = rest.partition("\n\n## ")
    if os.environ.get("RINGMASTER_WRITE_DOCS"):
        DOCUMENT.write_text(f"{head}{found}{table}\n{gap[1:]}{after}" if gap else f"{head}{found}{table}\n")
        return
    assert now.rstrip("\n") == table, "Run this test with RINGMASTER_WRITE_DOCS=1, and look at what changed."


def _name(written: dict[str, str]) -> dict[str, str]:
    return {"name": written["name"].strip('"')} if "name" in written else {}


def _rest(written: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in written.items() if key != "name"}


def test_what_cannot_be_done_is_refused_by_the_plan_at_its_attribute(product: Product, terraform: Terraform):
    terraform.write(cluster("refusing", maintenance_windows=WINDOWS))
    assert terraform.apply().code == 0
    assert terraform.plan().code == 0
    rows = []
    for attributes, where, reason in (
        ({"image_build": '"nobody-built-it"'}, "image_build", "nobody-built-it"),
        ({"engine": '"scylla"', "engine_version": "null"}, "engine", "The engine of refusing is cassandra and stays"),
        ({"cloud": '"local"'}, "cloud", "The provider of refusing is fake and stays"),
        ({"cloud_account": '"acc_1"'}, "cloud_account", "The cloud account of refusing"),
        ({"engine_version": '"4.1.0"'}, "engine_version", "There is no version of cassandra 4.1.0"),
        ({"settings": "{ nonsense = 1 }"}, "settings", "nonsense"),
        ({"settings": '{ read_timeout_ms = "soon" }'}, "settings", "Read timeout is a whole number"),
        ({"datacenters": DATACENTERS.replace(', "fake-1c"', "")}, "", "its zones stay as they were ordered"),
        ({"datacenters": DATACENTERS.replace("fake.small", "mars.large")}, "", "There is no machine type"),
        ({"datacenters": DATACENTERS.replace("nodes_per_zone = 1", "nodes_per_zone = 31")}, "", "30"),
        ({"datacenters": "[]"}, "datacenters", "A cluster has at least one data centre"),
        ({"healing": '{ mode = "pray" }'}, "healing", "'act' or 'tell'"),
        ({"name": "Not A Name"}, "name", "must start with a lower-case letter"),
        ({"tags": '{ team = "a\\nb" }'}, "tags", ""),
        ({"maintenance_windows": WINDOWS.replace("Vienna", "Atlantis")}, "maintenance_windows", "Europe/Atlantis"),
    ):
        terraform.write(cluster(**{"name": "refusing", "maintenance_windows": WINDOWS, **attributes}))
        planned = terraform.plan()
        assert planned.code == 1, (attributes, planned.text)
        assert reason in planned.error(), (attributes, planned.error())
        assert [where] == [at for at, _ in planned.errors][:1] or not where, (attributes, planned.errors)
        told = [line for line in planned.errors[0][1].splitlines() if line and not line.startswith("(")]
        rows.append(_row(attributes, "refused", " ".join(dict.fromkeys(told))))
    terraform.write(cluster("refusing", maintenance_windows=WINDOWS))
    assert terraform.plan().code == 0
    _documented("Refused", rows)


def test_a_cluster_is_protected_from_destroy_until_that_is_switched_off(product: Product, terraform: Terraform):
    terraform.write(cluster("protected"))
    assert terraform.apply().code == 0
    refused = terraform.destroy()
    assert refused.code == 1
    assert "The cluster protected is not deleted" in refused.error()
    assert "protect" in refused.error()
    terraform.write("")
    assert terraform.plan().code == 1
    found = product.cluster_named("protected")
    assert found is not None
    assert found["state"] == "active"


def test_an_order_that_cannot_be_carried_out_is_refused_by_the_plan(terraform: Terraform):
    terraform.write(cluster("unordered", engine_version='"9.9.9"'))
    planned = terraform.plan()
    assert planned.code == 1
    assert planned.errors[0][0] == "engine_version"
    terraform.write(cluster("unordered", datacenters=DATACENTERS.replace("fake-1c", "fake-1z")))
    assert "fake-1z" in terraform.plan().error()


def test_an_interrupted_apply_is_gone_on_with(product: Product, terraform: Terraform):
    terraform.write(cluster("interrupted", settings="{ read_timeout_ms = 7000 }"))
    stopped = terraform.interrupted(lambda: product.cluster_named("interrupted") is not None)
    assert stopped.code != 0
    left = product.cluster_named("interrupted")
    assert left is not None
    planned = terraform.plan()
    assert planned.changes == {CLUSTER: "update"}, planned.text
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert terraform.plan().code == 0
    found = product.call("GET", f"/clusters/{left['id']}")
    assert (found["state"], found["settings"]) == ("active", {"read_timeout_ms": 7000})


def test_an_order_that_is_not_answered_yet_is_heard_to_its_end(product: Product, terraform: Terraform):
    terraform.write(cluster("unanswered", settings="{ read_timeout_ms = 7000 }"))
    with late_answers(product.url, "POST", "/api/v1/clusters") as late:
        terraform.environment = {**terraform.environment, "RINGMASTER_URL": late.url}

        def go_on() -> None:
            time.sleep(2)  # Terraform has told the provider to stop by then.
            late.release.set()

        stopped = terraform.interrupted(late.answered.is_set, go_on)
        assert stopped.code != 0
        planned = terraform.plan()
        assert planned.changes == {CLUSTER: "update"}, planned.text
        assert terraform.apply().code == 0
        assert terraform.plan().code == 0
    found = product.cluster_named("unanswered")
    assert found is not None
    assert (found["id"], found["state"]) == (terraform.values(CLUSTER)["id"], "active")


def test_one_that_exists_is_imported_and_another_of_its_name_is_refused_with_the_way(
    product: Product, terraform: Terraform, tmp_path_factory: pytest.TempPathFactory
):
    terraform.write(cluster("imported", maintenance_windows=WINDOWS, tags='{ team = "shop" }'))
    assert terraform.apply().code == 0
    other = Terraform(tmp_path_factory.mktemp("other"), terraform.environment)
    other.write(cluster("imported", maintenance_windows=WINDOWS, tags='{ team = "shop" }'))
    found = product.cluster_named("imported")
    assert found is not None
    refused = other.plan()
    assert refused.code == 1
    assert f"`terraform import` it as {found['id']}" in refused.error()
    other.do("import", "-input=false", CLUSTER, found["id"])
    planned = other.plan()
    assert planned.code == 0, planned.text


def test_what_others_changed_is_seen(product: Product, terraform: Terraform):
    terraform.write(cluster("drifting"))
    assert terraform.apply().code == 0
    found = product.cluster_named("drifting")
    assert found is not None
    product.call("PATCH", f"/clusters/{found['id']}", {"tags": {"by": "hand"}, "termination_protection": False})
    assert terraform.plan().changes == {CLUSTER: "update"}
    assert terraform.apply().code == 0
    again = product.call("GET", f"/clusters/{found['id']}")
    assert (again["options"]["tags"], again["termination_protection"]) == ({}, True)


def test_a_wrong_token_and_no_address_are_told(terraform: Terraform):
    terraform.write(cluster("nobody"))
    terraform.environment = {**terraform.environment, "RINGMASTER_TOKEN": "rmt_wrong"}
    assert "HTTP 401" in terraform.plan().error()
    terraform.environment = {**terraform.environment, "RINGMASTER_URL": "somewhere"}
    assert "is no address" in terraform.plan().error()
    terraform.environment = {**terraform.environment, "RINGMASTER_TOKEN": ""}
    assert "Make a token in the console" in terraform.plan().error()


def test_every_attribute_that_can_be_written_is_in_the_table():
    page = (DOCUMENT.parent / "terraform" / "resource-cluster.md").read_text()
    written = set(re.findall(r"^\| `(\w+)` \| [^|]+ \| (?:required|optional)", page, re.MULTILINE))
    assert len(written) > 10
    told = set(re.findall(r"^\| `(\w+) = ", DOCUMENT.read_text(), re.MULTILINE))
    assert written <= told, written - told
