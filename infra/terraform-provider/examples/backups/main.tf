terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

variable "cluster" { description = "Name of a cluster that exists." }

data "ringmaster_cluster" "it" {
  name = var.cluster
}

resource "ringmaster_backup_schedule" "nightly" {
  cluster_id = data.ringmaster_cluster.it.id
  name       = "nightly"
  cron       = "30 2 * * *"
  time_zone  = "Europe/Vienna"
  keep_days  = 30
}

# Any moment of the last week can be restored.
resource "ringmaster_log_archive" "it" {
  cluster_id = data.ringmaster_cluster.it.id
  keep_days  = 7
}

# Every Sunday the newest backup is restored for a trial.
resource "ringmaster_drill_schedule" "weekly" {
  cluster_id = data.ringmaster_cluster.it.id
  cron       = "0 5 * * 0"
  shape      = "one"
}

resource "ringmaster_repair_schedule" "it" {
  cluster_id  = data.ringmaster_cluster.it.id
  every_hours = 168
  intensity   = 50
}

# Made once. To destroy it, set deletion_protection = false and apply that first.
resource "ringmaster_backup" "before_the_move" {
  cluster_id = data.ringmaster_cluster.it.id
  keep_days  = 365
}

# Done once: beside what is there, newer writes win.
resource "ringmaster_restore" "once" {
  backup_id = ringmaster_backup.before_the_move.id
  mode      = "add"
}
