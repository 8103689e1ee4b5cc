# A network of its own. Machines have no addresses outside: they go out by NAT, and are reached through balancers.
locals {
  labels = merge(var.labels, { ringmaster = var.name })
  region = regex("^[a-z]+-[a-z]+[0-9]+", var.zones[0])
  # Of Google's own: balancers and their health checks, and who comes by IAP.
  balancers = ["35.191.0.0/16", "130.211.0.0/22"]
  checks    = ["35.191.0.0/16", "130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22"]
  shells    = ["35.235.240.0/20"]
}

resource "google_compute_network" "this" {
  name                    = var.name
  project                 = var.project
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "machines" {
  name                     = "${var.name}-machines"
  project                  = var.project
  region                   = local.region
  network                  = google_compute_network.this.id
  ip_cidr_range            = var.network
  private_ip_google_access = true
}

# Addresses that stay: agents believe them.
resource "google_compute_address" "out" {
  count   = length(var.zones)
  name    = "${var.name}-out-${count.index}"
  project = var.project
  region  = local.region
  labels  = local.labels
}

resource "google_compute_router" "this" {
  name    = var.name
  project = var.project
  region  = local.region
  network = google_compute_network.this.id
}

resource "google_compute_router_nat" "out" {
  name                               = var.name
  project                            = var.project
  region                             = local.region
  router                             = google_compute_router.this.name
  nat_ip_allocate_option             = "MANUAL_ONLY"
  nat_ips                            = google_compute_address.out[*].self_link
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
  # Workers speak to many agents at once.
  min_ports_per_vm = 2048
}

# The stores are Google's machines, in a network of Google's that is peered with ours.
resource "google_compute_global_address" "stores" {
  name          = "${var.name}-stores"
  project       = var.project
  network       = google_compute_network.this.id
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 20
  labels        = local.labels
}

resource "google_service_networking_connection" "stores" {
  network                 = google_compute_network.this.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.stores.name]
}

# What no rule lets in stays out.
resource "google_compute_firewall" "console" {
  name                    = "${var.name}-console"
  project                 = var.project
  network                 = google_compute_network.this.id
  direction               = "INGRESS"
  source_ranges           = local.balancers
  target_service_accounts = [google_service_account.machine["api"].email]

  allow {
    protocol = "tcp"
    ports    = ["8000"]
  }
}

resource "google_compute_firewall" "enrol" {
  name                    = "${var.name}-enrol"
  project                 = var.project
  network                 = google_compute_network.this.id
  direction               = "INGRESS"
  source_ranges           = distinct(concat(var.enrol_from, local.checks))
  target_service_accounts = [google_service_account.machine["api"].email]

  allow {
    protocol = "tcp"
    ports    = ["8444"]
  }
}

# Shells come through Identity-Aware Proxy only, which asks for rights of its own.
resource "google_compute_firewall" "shells" {
  name                    = "${var.name}-shells"
  project                 = var.project
  network                 = google_compute_network.this.id
  direction               = "INGRESS"
  source_ranges           = local.shells
  target_service_accounts = [for each in google_service_account.machine : each.email]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}
