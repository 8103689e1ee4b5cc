"""Who may do what, and what is done once: members, roles, service accounts; backups and restores."""

from e2e.terraform.conftest import Product
from e2e.terraform.programs import Terraform
from e2e.terraform.test_cluster import cluster

PEOPLE = """
resource "ringmaster_role" "testers" {
  name        = "testers"
  permissions = ["clusters:read", "operations:write"]
  tags        = { env = ["dev", "test"] }
}
resource "ringmaster_member" "ann" {
  email = "Ann@example.org"
  role  = "viewer"
}
resource "ringmaster_member" "tess" {
  email          = "tess@example.org"
  role           = "custom"
  custom_role_id = ringmaster_role.testers.id
}
resource "ringmaster_service_account" "ci" {
  name    = "ci"
  contact = "ops@example.org"
  role    = "operator"
}
data "ringmaster_members" "all" {}
data "ringmaster_organisation" "ours" {}
data "ringmaster_prices" "aws" {
  cloud = "aws"
  item  = "machine"
}
"""
ANN, TESS, CI, TESTERS = (
    "ringmaster_member.ann",
    "ringmaster_member.tess",
    "ringmaster_service_account.ci",
    "ringmaster_role.testers",
)


def test_people_roles_and_accounts_of_programs_are_kept_as_written(product: Product, terraform: Terraform):
    people = PEOPLE
    terraform.write(people)
    assert (applied := terraform.apply()).code == 0, applied.text
    again = terraform.plan()
    assert again.code == 0, again.text
    invited = terraform.values(ANN)
    assert (invited["state"], invited["invitation_url"][:4]) == ("invited", "http")
    assert terraform.values("data.ringmaster_organisation.ours")["id"].startswith("org_")
    assert {one["item"] for one in terraform.values("data.ringmaster_prices.aws")["prices"]} == {"machine"}

    # One joins: nothing is to be done, and the link is not kept.
    secret = invited["invitation_url"].rpartition("#")[2]
    body = {"secret": secret, "name": "Ann", "password": "correct-horse-battery-7"}
    product.call("POST", "/invitations/accept", body)
    assert terraform.plan().code == 0
    assert terraform.apply().code == 0
    joined = terraform.values(ANN)
    assert (joined["state"], joined["invitation_url"]) == ("member", None)

    for before, after in (
        ('role  = "viewer"', 'role  = "operator"'),
        ('role           = "custom"\n  custom_role_id = ringmaster_role.testers.id', 'role           = "viewer"'),
        ('["clusters:read", "operations:write"]', '["clusters:read"]'),
        ('tags        = { env = ["dev", "test"] }', 'description = "who tests"'),
        ('name    = "ci"', 'name    = "pipeline"'),
    ):
        assert before in people
        people = people.replace(before, after)
    terraform.write(people)
    planned = terraform.plan()
    assert planned.changes == dict.fromkeys((ANN, TESS, CI, TESTERS), "update"), planned.text
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    members = {one["email"]: one for one in product.call("GET", "/members")["items"]}
    assert members["ann@example.org"]["role"] == "operator"

    # What others change is seen.
    account = terraform.values(CI)["id"]
    product.call("PATCH", f"/service-accounts/{account}", {"role": "viewer"})
    product.call("PATCH", f"/members/{members['ann@example.org']['id']}", {"role": "viewer"})
    assert terraform.plan().changes == {ANN: "update", CI: "update"}
    assert terraform.apply().code == 0

    _comes_back(terraform, people, {ANN: "ann@example.org", CI: account, TESTERS: terraform.values(TESTERS)["id"]})
    planned = terraform.plan()
    assert planned.code == 0, planned.text

    gone = terraform.destroy()
    assert gone.code == 0, gone.text
    assert "is disabled, not removed" in gone.warning()
    assert "ann@example.org" not in {one["email"] for one in product.call("GET", "/members")["items"]}
    assert product.call("GET", f"/service-accounts/{account}")["disabled_at"]
    # Its name is taken: it is said how to go on with it.
    terraform.write(people)
    assert f"`terraform import` it as {account}" in terraform.apply().error()
    assert terraform.destroy().code == 0


def _comes_back(terraform: Terraform, configuration: str, ids: dict[str, str]) -> None:
    for address in set(terraform.do("state", "list").split()) & set(ids):
        terraform.do("state", "rm", address)
    blocks = "".join(f'import {{\n  to = {address}\n  id = "{one}"\n}}\n' for address, one in ids.items())
    terraform.write(configuration + blocks)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert not {action for action in applied.changes.values() if action in ("create", "replace", "delete")}
    terraform.write(configuration)


def test_who_is_there_is_imported_and_a_wrong_role_is_refused_by_the_plan(product: Product, terraform: Terraform):
    owner = product.call("GET", "/members")["items"][0]["email"]
    for role, words in (
        (f'email = "{owner}"\n role = "viewer"', f"`terraform import` it as {owner}"),
        ('email = "new@example.org"\n role = "king"', "role"),
        ('email = "new@example.org"\n role = "custom"', "custom"),
        ('email = "nobody"\n role = "viewer"', "email"),
    ):
        terraform.write(f'resource "ringmaster_member" "x" {{\n{role}\n}}\n')
        planned = terraform.plan()
        assert planned.code == 1, role
        assert words in planned.error(), planned.error()
    terraform.write('resource "ringmaster_role" "x" {\n name = "x"\n permissions = ["clusters:fly"]\n}\n')
    assert "permissions" in terraform.apply().error()


GROUPS = """
data "ringmaster_identity_providers" "all" {}
locals {
  corp = one([for each in data.ringmaster_identity_providers.all.identity_providers : each.id if each.name == "Corp"])
}
resource "ringmaster_role" "dba" {
  name        = "dba"
  permissions = ["clusters:read", "operations:write"]
}
resource "ringmaster_group_role" "dba" {
  identity_provider_id = local.corp
  group                = "database-team"
  role                 = "custom"
  custom_role_id       = ringmaster_role.dba.id
  rank                 = 10
}
resource "ringmaster_group_role" "all" {
  identity_provider_id = local.corp
  group                = "everybody"
  role                 = "viewer"
}
"""
DBA, ALL = "ringmaster_group_role.dba", "ringmaster_group_role.all"


def test_roles_of_groups_are_kept_as_written(product: Product, terraform: Terraform):
    groups = GROUPS
    terraform.write(groups)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    assert terraform.values(ALL)["rank"] == 100
    ids = {address: terraform.values(address)["id"] for address in (DBA, ALL)}

    # The role and the rank change in place, what is not possible is refused by the plan.
    for before, after, words in (
        ('role                 = "viewer"', 'role                 = "king"', "role"),
        ('role                 = "viewer"', 'role                 = "custom"', "custom"),
        ("rank                 = 10", "rank                 = 0", "rank"),
        ("custom_role_id       = ringmaster_role.dba.id", 'custom_role_id = "rol_none"', "There is no such role"),
    ):
        terraform.write(groups.replace(before, after))
        refused = terraform.plan()
        assert refused.code == 1, after
        assert words in refused.error(), refused.error()
    for before, after in (
        ('role                 = "custom"\n  custom_role_id       = ringmaster_role.dba.id', 'role = "operator"'),
        ("rank                 = 10", "rank = 20"),
        ('role                 = "viewer"', 'role = "custom"\n  custom_role_id = ringmaster_role.dba.id'),
    ):
        assert before in groups
        groups = groups.replace(before, after)
    terraform.write(groups)
    planned = terraform.plan()
    assert planned.changes == {DBA: "update", ALL: "update"}, planned.text
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    there = {one["group"]: one for one in product.call("GET", "/organisation/group-roles")["items"]}
    assert (there["database-team"]["role"], there["database-team"]["rank"]) == ("operator", 20)
    assert there["everybody"]["custom_role"]["name"] == "dba"

    # What others change is seen; what others delete is made again.
    product.call("PATCH", f"/organisation/group-roles/{ids[DBA]}", {"rank": 5})
    product.call("DELETE", f"/organisation/group-roles/{ids[ALL]}")
    assert terraform.plan().changes == {DBA: "update", ALL: "create"}
    assert terraform.apply().code == 0
    ids[ALL] = terraform.values(ALL)["id"]

    # A state that was lost names the way back.
    terraform.do("state", "rm", ALL)
    assert f"`terraform import` it as {ids[ALL]}" in terraform.plan().error()
    _comes_back(terraform, groups, ids)
    assert (again := terraform.plan()).code == 0, again.text

    # Another group is another one: the plan says who loses what.
    terraform.write(groups.replace('"everybody"', '"everyone"'))
    planned = terraform.plan()
    assert planned.changes == {ALL: "replace"}
    assert "The group everybody gives no role any more" in planned.warning()
    terraform.write(groups)
    gone = terraform.destroy()
    assert gone.code == 0, gone.text
    assert "The group database-team gives no role any more" in gone.warning()
    assert product.call("GET", "/organisation/group-roles")["items"] == []


def test_access_settings_are_kept_as_written_and_stay_when_they_are_forgotten(product: Product, terraform: Terraform):
    path, address = "/organisation/access-settings", "ringmaster_access_settings.ours"
    settings = 'resource "ringmaster_access_settings" "ours" {\n  token_days_max = 90\n}\n'
    terraform.write(settings)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    told = terraform.values(address)
    ours = product.call("GET", "/organisation")["id"]
    assert (told["id"], told["token_days_default"], told["password_sign_in"]) == (ours, 0, True)

    # What the server would refuse is an error of the plan.
    for more, words in (
        ("second_factor_required = true", "second factor"),
        ("token_days_default = 100", "90 at most"),
        ("token_days_default = -1", "token_days_default"),
    ):
        terraform.write(settings.replace("}", f"  {more}\n}}"))
        refused = terraform.plan()
        assert refused.code == 1, more
        assert words in refused.error(), refused.error()

    changed = settings.replace("90", "0").replace("}", "  password_sign_in = false\n}")
    terraform.write(changed)
    assert terraform.plan().changes == {address: "update"}
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    now = product.call("GET", path)
    assert (now["token_days_max"], now["password_sign_in"], now["deletes_need_two"]) == (None, False, False)
    product.call("PATCH", path, {"password_sign_in": True})
    assert terraform.plan().changes == {address: "update"}

    terraform.do("state", "rm", address)
    terraform.write(settings.replace("90", "0"))
    _comes_back(terraform, settings.replace("90", "0"), {address: ours})
    assert (again := terraform.plan()).code == 0, again.text
    gone = terraform.destroy()
    assert gone.code == 0, gone.text
    assert "The access settings stay as they are" in gone.warning()


KEPT = """
resource "ringmaster_backup" "before" {
  cluster_id = ringmaster_cluster.it.id
  keyspaces  = ["shop"]
  keep_days  = 400
}
data "ringmaster_backups" "it" {
  cluster_id = ringmaster_cluster.it.id
  depends_on = [ringmaster_backup.before]
}
data "ringmaster_cluster" "it" { name = ringmaster_cluster.it.name }
data "ringmaster_clusters" "all" { depends_on = [ringmaster_cluster.it] }
data "ringmaster_cql_roles" "it" { cluster_id = ringmaster_cluster.it.id }
"""
RESTORE = """
resource "ringmaster_restore" "back" {
  backup_id = ringmaster_backup.before.id
  mode      = "add"
}
"""
BEFORE, BACK = "ringmaster_backup.before", "ringmaster_restore.back"


def test_a_backup_is_made_once_kept_and_restored(product: Product, terraform: Terraform):
    head = cluster("kept", termination_protection="false")
    terraform.write(head)
    assert terraform.apply().code == 0
    product.with_a_table("kept")
    terraform.write(head + KEPT)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    backup = terraform.values(BEFORE)
    assert (backup["state"], backup["keep_days"], backup["deletion_protection"]) == ("complete", 400, True)
    assert [one["id"] for one in terraform.values("data.ringmaster_backups.it")["backups"]] == [backup["id"]]
    assert terraform.values("data.ringmaster_cluster.it")["nodes_total"] == 3
    assert backup["cluster_id"] in {one["id"] for one in terraform.values("data.ringmaster_clusters.all")["clusters"]}

    # It stays what it was made of, and is not destroyed by mistake.
    for before, after in (('["shop"]', '["web"]'), ("400", "10"), ("keep_days  = 400", "lock_days = 3")):
        terraform.write(head + KEPT.replace(before, after))
        refused = terraform.plan()
        assert refused.code == 1, after
        assert "rite another `ringmaster_backup`" in refused.error(), refused.error()
    terraform.write(head)
    assert "is protected" in terraform.plan().error()

    terraform.write(head + KEPT + RESTORE)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    restore = terraform.values(BACK)
    assert (restore["state"], restore["cluster_id"]) == ("succeeded", backup["cluster_id"])
    terraform.write(head + KEPT + RESTORE.replace('"add"', '"replace"'))
    assert "A restore is something that was done" in terraform.plan().error()

    # A state that was lost does not restore twice.
    terraform.do("state", "rm", BACK)
    terraform.write(head + KEPT + RESTORE)
    assert f"`terraform import` it as {restore['id']}" in terraform.plan().error()
    _comes_back(terraform, head + KEPT + RESTORE, {BACK: restore["id"], BEFORE: backup["id"]})
    assert (again := terraform.plan()).code == 0, again.text

    unprotected = KEPT.replace("keep_days  = 400", "keep_days  = 400\n  deletion_protection = false")
    terraform.write(head + unprotected + RESTORE)
    assert terraform.apply().changes[BEFORE] == "update"
    gone = terraform.destroy()
    assert gone.code == 0, gone.text
    assert "forgotten, not undone" in gone.warning()
    assert product.call("GET", f"/backups/{backup['id']}")["state"] == "deleted"


COPIED = """
resource "ringmaster_backup" "before" {
  cluster_id          = ringmaster_cluster.it.id
  deletion_protection = false
}
resource "ringmaster_restore" "copied" {
  backup_id = ringmaster_backup.before.id
  mode      = "cluster"
  new_cluster = {
    name                   = "copied"
    engine                 = ringmaster_cluster.it.engine
    engine_version         = ringmaster_cluster.it.engine_version
    cloud                  = "fake"
    region                 = "fake-1"
    zones                  = ["fake-1a", "fake-1b", "fake-1c"]
    machine_type           = "fake.small"
    nodes_per_zone         = 1
    termination_protection = false
  }
}
"""


def test_a_backup_is_restored_into_a_new_cluster_which_is_imported(product: Product, terraform: Terraform):
    head = cluster("origin", termination_protection="false")
    terraform.write(head)
    assert terraform.apply().code == 0
    origin = product.with_a_table("origin")
    terraform.write(head + COPIED)
    for before, after, words in (
        ('name                   = "copied"', 'name = "Not a name"', "name"),
        ('machine_type           = "fake.small"', 'machine_type = "fake.none"', "fake.none"),
    ):
        terraform.write(head + COPIED.replace(before, after))
        assert words in terraform.apply().error()
    terraform.write(head + COPIED)
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    restore = terraform.values("ringmaster_restore.copied")
    made = product.cluster_named("copied")
    assert made is not None
    assert (restore["state"], restore["cluster_id"], made["state"]) == ("succeeded", made["id"], "active")
    assert made["id"] != origin

    # From then on it is a cluster as any other.
    copied = head.replace('"ringmaster_cluster" "it"', '"ringmaster_cluster" "copied"').replace('"origin"', '"copied"')
    written = head + COPIED + copied
    terraform.write(written + f'import {{\n  to = ringmaster_cluster.copied\n  id = "{made["id"]}"\n}}\n')
    applied = terraform.apply()
    assert applied.code == 0, applied.text
    assert not {action for action in applied.changes.values() if action in ("create", "replace", "delete")}
    terraform.write(written)
    assert (again := terraform.plan()).code == 0, again.text
    assert (gone := terraform.destroy()).code == 0, gone.text
    assert product.call("GET", f"/clusters/{made['id']}")["state"] == "deleted"


def test_an_interrupted_backup_is_waited_for_by_the_next_apply(product: Product, terraform: Terraform):
    head = cluster("paused", termination_protection="false")
    terraform.write(head)
    assert terraform.apply().code == 0
    found = product.cluster_named("paused")
    assert found is not None
    backup = 'resource "ringmaster_backup" "it" {\n  cluster_id = ringmaster_cluster.it.id\n}\n'
    terraform.write(head + backup)
    path = f"/clusters/{found['id']}/backups"
    stopped = terraform.interrupted(lambda: bool(product.call("GET", path)["items"]))
    assert stopped.code != 0
    assert len(product.call("GET", path)["items"]) == 1
    assert terraform.apply().code == 0
    assert terraform.values("ringmaster_backup.it")["state"] == "complete"
    assert len(product.call("GET", path)["items"]) == 1
