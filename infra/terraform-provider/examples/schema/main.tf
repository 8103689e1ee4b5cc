terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

variable "cloud" { default = "local" }
variable "machine_type" { default = "local.small" }

data "ringmaster_regions" "all" {
  cloud = var.cloud
}

resource "ringmaster_cluster" "web" {
  name   = "web"
  engine = "cassandra"
  cloud  = var.cloud
  datacenters = [{
    region         = data.ringmaster_regions.all.regions[0].name
    zones          = slice(data.ringmaster_regions.all.regions[0].zones, 0, 3)
    machine_type   = var.machine_type
    nodes_per_zone = 1
  }]
}

data "ringmaster_connection" "web" {
  cluster_id = ringmaster_cluster.web.id
}

# A role of the database that lives as long as the run: keyspaces and tables are read and changed as it.
ephemeral "ringmaster_connection" "run" {
  cluster_id = ringmaster_cluster.web.id
  access     = "schema"
}

provider "ringmaster" {
  alias        = "schema"
  cql_role     = ephemeral.ringmaster_connection.run.username
  cql_password = ephemeral.ringmaster_connection.run.password
}

resource "ringmaster_keyspace" "shop" {
  provider    = ringmaster.schema
  cluster_id  = ringmaster_cluster.web.id
  name        = "shop"
  replication = { (data.ringmaster_connection.web.datacenter) = 3 }
}

resource "ringmaster_table" "orders" {
  provider       = ringmaster.schema
  cluster_id     = ringmaster_cluster.web.id
  keyspace       = ringmaster_keyspace.shop.name
  name           = "orders"
  columns        = { customer = "uuid", at = "timestamp", items = "map<text, int>", note = "text" }
  partition_key  = ["customer"]
  clustering_key = ["at"]
  descending     = ["at"]
  compaction     = { class = "LeveledCompactionStrategy" }
}
