terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

# RINGMASTER_CQL_ROLE and RINGMASTER_CQL_PASSWORD name the role of the database that reads and changes it.

variable "cluster_id" { description = "Id of a cluster that exists." }

resource "ringmaster_keyspace" "shop" {
  cluster_id  = var.cluster_id
  name        = "shop"
  replication = { local-local-1 = 3 }
}

resource "ringmaster_table" "orders" {
  cluster_id     = var.cluster_id
  keyspace       = ringmaster_keyspace.shop.name
  name           = "orders"
  columns        = { customer = "uuid", at = "timestamp", items = "map<text, int>", note = "text" }
  partition_key  = ["customer"]
  clustering_key = ["at"]
  descending     = ["at"]
  compaction     = { class = "LeveledCompactionStrategy" }
}
