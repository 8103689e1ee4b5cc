terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

variable "cluster" { description = "Name of a cluster that exists." }

data "ringmaster_cluster" "it" {
  name = var.cluster
}

data "ringmaster_prices" "aws" {
  cloud = "aws"
  item  = "machine"
}

resource "ringmaster_alert_rule" "down" {
  cluster_id  = data.ringmaster_cluster.it.id
  rule        = "node-down"
  for_seconds = 300
}

resource "ringmaster_notification_channel" "ops" {
  name      = "ops"
  kind      = "email"
  addresses = ["ops@example.org"]
}

resource "ringmaster_webhook" "programs" {
  name   = "programs"
  url    = "https://hooks.example.org/ringmaster"
  topics = ["operations"]
}

resource "ringmaster_budget" "it" {
  name       = "shop"
  micros     = 250 * 1000000
  cluster_id = data.ringmaster_cluster.it.id
}
