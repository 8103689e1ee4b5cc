# What must not be lost: with the master key, everything that the control plane knows.
resource "google_sql_database_instance" "this" {
  name             = var.name
  project          = var.project
  region           = local.region
  database_version = "POSTGRES_15"
  # Of Terraform, beside prevent_destroy; the one of Google Cloud itself is among the settings.
  deletion_protection = var.deletion_protection

  settings {
    tier                        = var.database_type
    edition                     = "ENTERPRISE"
    availability_type           = "REGIONAL"
    disk_type                   = "PD_SSD"
    disk_size                   = var.database_gib
    disk_autoresize             = true
    deletion_protection_enabled = var.deletion_protection
    user_labels                 = local.labels

    ip_configuration {
      ipv4_enabled    = false
      private_network = google_compute_network.this.id
      ssl_mode        = "ENCRYPTED_ONLY"
    }

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
      transaction_log_retention_days = var.database_backup_days

      backup_retention_settings {
        retained_backups = max(var.database_backup_days, 7)
      }
    }
  }

  # It grows by itself.
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [settings[0].disk_size]
  }

  depends_on = [google_service_networking_connection.stores]
}

# Its user is made by hand, as README.md says: a password that Terraform sets is in its state.
resource "google_sql_database" "this" {
  name            = "ringmaster"
  project         = var.project
  instance        = google_sql_database_instance.this.name
  deletion_policy = "ABANDON"
}

# Keeps nothing: a doorbell. Only this network reaches it, so it has no password, which would be in Terraform's state.
resource "google_redis_instance" "this" {
  name                    = var.name
  project                 = var.project
  region                  = local.region
  tier                    = "STANDARD_HA"
  memory_size_gb          = var.redis_gib
  redis_version           = "REDIS_7_0"
  authorized_network      = google_compute_network.this.id
  connect_mode            = "PRIVATE_SERVICE_ACCESS"
  transit_encryption_mode = "SERVER_AUTHENTICATION"
  labels                  = local.labels

  depends_on = [google_service_networking_connection.stores]
}
