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

# The plan says how long it takes, what it costs a month, and what applications notice of a change.
resource "ringmaster_cluster" "shop" {
  name   = "shop"
  engine = "cassandra"
  cloud  = var.cloud
  datacenters = [{
    region         = data.ringmaster_regions.all.regions[0].name
    zones          = slice(data.ringmaster_regions.all.regions[0].zones, 0, 3)
    machine_type   = var.machine_type
    nodes_per_zone = 1
  }]
  tags     = { team = "shop", env = "dev" }
  settings = { read_timeout_ms = 7000 }
  maintenance_windows = [{
    weekdays = ["sunday"], starts_at = "02:30", minutes = 120, time_zone = "Europe/Vienna"
  }]
}

resource "ringmaster_allowlist_entry" "office" {
  cluster_id  = ringmaster_cluster.shop.id
  cidr        = "192.0.2.0/24"
  description = "office"
}

resource "ringmaster_cql_role" "app" {
  cluster_id = ringmaster_cluster.shop.id
  name       = "app"
}

resource "ringmaster_cql_grant" "app" {
  cluster_id  = ringmaster_cluster.shop.id
  role        = ringmaster_cql_role.app.name
  resource    = "data"
  permissions = ["SELECT", "MODIFY"]
}

data "ringmaster_connection" "shop" {
  cluster_id = ringmaster_cluster.shop.id
}

output "contact_points" {
  value = data.ringmaster_connection.shop.contact_points
}
