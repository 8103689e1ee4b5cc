locals {
  # Who comes by a private way (peering) comes from the network itself.
  agents_from = join(",", concat([for each in google_compute_address.out : "${each.address}/32"], [var.network]))

  environment = merge(
    {
      RINGMASTER_PUBLIC_URL        = "https://${var.console_host}"
      RINGMASTER_ENROL_URL         = "https://${var.enrol_host}:8444/enrol/v1"
      RINGMASTER_ALERTS_TOKEN_FILE = "/var/lib/ringmaster/metrics/alerts.token"
      RINGMASTER_GCP_PROJECT       = var.project
      RINGMASTER_GCP_PRINCIPAL     = google_service_account.machine["worker"].email
      RINGMASTER_AWS_AGENTS_FROM   = local.agents_from
      RINGMASTER_GCP_AGENTS_FROM   = local.agents_from
      # Whom uvicorn believes what it says of others' addresses: the console's balancer, which names itself too.
      FORWARDED_ALLOW_IPS = join(",", concat(local.balancers, [google_compute_global_address.console.address]))
    },
    var.environment,
    {
      DATABASE_URL = "postgresql://ringmaster@${google_sql_database_instance.this.private_ip_address}:5432/ringmaster?sslmode=verify-ca&sslrootcert=/etc/ringmaster/files/database-ca.pem"
      REDIS_URL    = "rediss://${google_redis_instance.this.host}:${google_redis_instance.this.port}/0?ssl_cert_reqs=required&ssl_check_hostname=false&ssl_ca_certs=/etc/ringmaster/files/redis-ca.pem"
    },
  )

  groups = {
    api = {
      type     = var.api_type
      count    = var.api_count
      services = { api = "1g", enrol = "512m" }
    }
    worker = {
      type     = var.worker_type
      count    = var.worker_count
      services = { worker = "2g", beat = "512m" }
    }
  }
}

module "machine" {
  for_each    = local.groups
  source      = "../machine"
  cloud       = "gcp"
  services    = each.value.services
  image       = var.image
  environment = local.environment
  secrets     = { for name, secret in var.secrets : name => secret if name != "database.password" }
  packages    = []
  settings    = { DATABASE_SECRET = var.secrets["database.password"] }
  # Certificates of authorities: anybody may know them.
  files = {
    "database-ca.pem" = google_sql_database_instance.this.server_ca_cert[0].cert
    "redis-ca.pem"    = join("\n", google_redis_instance.this.server_ca_certs[*].cert)
  }
}

resource "google_compute_instance_template" "machine" {
  for_each     = local.groups
  name_prefix  = "${var.name}-${each.key}-"
  project      = var.project
  region       = local.region
  machine_type = each.value.type
  labels       = local.labels

  disk {
    source_image = var.machine_image
    boot         = true
    auto_delete  = true
    disk_type    = "pd-balanced"
    disk_size_gb = 20
    labels       = local.labels
  }

  # No address outside.
  network_interface {
    subnetwork = google_compute_subnetwork.machines.id
  }

  service_account {
    email  = google_service_account.machine[each.key].email
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
  }

  shielded_instance_config {
    enable_secure_boot          = true
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  metadata = {
    user-data              = module.machine[each.key].user_data
    enable-oslogin         = "TRUE"
    block-project-ssh-keys = "TRUE"
    serial-port-enable     = "FALSE"
  }

  lifecycle {
    create_before_destroy = true
  }
}

# Whether the process lives, not whether it is ready: a database that is away must not get every machine replaced.
resource "google_compute_health_check" "alive" {
  name                = "${var.name}-alive"
  project             = var.project
  check_interval_sec  = 15
  timeout_sec         = 5
  healthy_threshold   = 1
  unhealthy_threshold = 8

  http_health_check {
    port         = 8000
    request_path = "/healthz"
  }
}

resource "google_compute_region_instance_group_manager" "machine" {
  for_each                  = local.groups
  name                      = "${var.name}-${each.key}"
  project                   = var.project
  region                    = local.region
  base_instance_name        = "${var.name}-${each.key}"
  target_size               = each.value.count
  distribution_policy_zones = var.zones

  version {
    instance_template = google_compute_instance_template.machine[each.key].id
  }

  dynamic "named_port" {
    for_each = each.key == "api" ? { http = 8000 } : {}
    content {
      name = named_port.key
      port = named_port.value
    }
  }

  # A worker has nothing to ask from outside: it is watched on its machine.
  dynamic "auto_healing_policies" {
    for_each = each.key == "api" ? [google_compute_health_check.alive.id] : []
    content {
      health_check      = auto_healing_policies.value
      initial_delay_sec = 1200
    }
  }

  # A new one in each zone, then the old ones go: fewer at a time Google does not do over zones.
  update_policy {
    type                  = "PROACTIVE"
    minimal_action        = "REPLACE"
    max_surge_fixed       = length(var.zones)
    max_unavailable_fixed = 0
  }

  # A machine fetches all of this when it starts.
  depends_on = [
    google_secret_manager_secret_iam_member.machine,
    google_kms_crypto_key_iam_member.machine,
    google_artifact_registry_repository_iam_member.machine,
    google_project_iam_member.logs,
    google_project_iam_member.clouds,
    google_compute_router_nat.out,
    google_sql_database.this,
  ]
}
