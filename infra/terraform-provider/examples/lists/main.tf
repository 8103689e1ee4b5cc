terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

variable "cluster" { description = "Name of a cluster that exists." }

data "ringmaster_cluster" "it" {
  name = var.cluster
}

data "ringmaster_backup_locations" "all" {}
data "ringmaster_api_tokens" "all" {}
data "ringmaster_cql_grants" "it" {
  cluster_id = data.ringmaster_cluster.it.id
}

# Something of a list by its name; where there is none of that name the plan fails.
resource "ringmaster_backup_schedule" "weekly" {
  cluster_id  = data.ringmaster_cluster.it.id
  name        = "weekly"
  cron        = "0 3 * * 0"
  keep_count  = 8
  location_id = { for each in data.ringmaster_backup_locations.all.backup_locations : each.name => each.id }["This installation"]
}

# Tokens that work and never end.
output "endless_tokens" {
  value = [for each in data.ringmaster_api_tokens.all.api_tokens : each.name if each.state == "active" && each.expires_at == null]
}

# Roles of the database that may write everywhere.
output "who_writes_everywhere" {
  value = [for each in data.ringmaster_cql_grants.it.cql_grants : each.role if each.resource == "data" && contains(each.permissions, "MODIFY")]
}
