# The console's balancer ends TLS; enrolment's passes it on, as enrolment shows a certificate of its own.
resource "google_compute_global_address" "console" {
  name    = "${var.name}-console"
  project = var.project
  labels  = local.labels
}

resource "google_compute_health_check" "ready" {
  name                = "${var.name}-ready"
  project             = var.project
  check_interval_sec  = 10
  timeout_sec         = 5
  healthy_threshold   = 2
  unhealthy_threshold = 3

  http_health_check {
    port         = 8000
    request_path = "/readyz"
  }
}

# A balancer of HTTP takes whoever comes: this lets in who may.
resource "google_compute_security_policy" "console" {
  name    = "${var.name}-console"
  project = var.project

  rule {
    action      = "allow"
    priority    = 1000
    description = "Who may reach console and API"
    match {
      versioned_expr = "SRC_IPS_V1"
      config {
        src_ip_ranges = var.console_from
      }
    }
  }
  rule {
    action      = "deny(403)"
    priority    = 2147483647
    description = "Nobody else"
    match {
      versioned_expr = "SRC_IPS_V1"
      config {
        src_ip_ranges = ["*"]
      }
    }
  }
}

resource "google_compute_backend_service" "console" {
  name                  = "${var.name}-console"
  project               = var.project
  protocol              = "HTTP"
  port_name             = "http"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  # A stream of events is cut after an hour and taken up again where it was.
  timeout_sec                     = 3600
  connection_draining_timeout_sec = 30
  health_checks                   = [google_compute_health_check.ready.id]
  security_policy                 = google_compute_security_policy.console.id

  backend {
    group           = google_compute_region_instance_group_manager.machine["api"].instance_group
    balancing_mode  = "UTILIZATION"
    capacity_scaler = 1
  }
}

resource "google_compute_url_map" "console" {
  name            = "${var.name}-console"
  project         = var.project
  default_service = google_compute_backend_service.console.id
}

resource "google_compute_ssl_policy" "console" {
  name            = "${var.name}-console"
  project         = var.project
  profile         = "MODERN"
  min_tls_version = "TLS_1_2"
}

resource "google_compute_target_https_proxy" "console" {
  name             = "${var.name}-console"
  project          = var.project
  url_map          = google_compute_url_map.console.id
  ssl_certificates = [var.certificate]
  ssl_policy       = google_compute_ssl_policy.console.id
}

resource "google_compute_global_forwarding_rule" "console" {
  name                  = "${var.name}-console"
  project               = var.project
  load_balancing_scheme = "EXTERNAL_MANAGED"
  ip_address            = google_compute_global_address.console.address
  port_range            = "443"
  target                = google_compute_target_https_proxy.console.id
  labels                = local.labels
}

resource "google_compute_address" "enrol" {
  name    = "${var.name}-enrol"
  project = var.project
  region  = local.region
  labels  = local.labels
}

resource "google_compute_region_health_check" "enrol" {
  name               = "${var.name}-enrol"
  project            = var.project
  region             = local.region
  check_interval_sec = 10
  timeout_sec        = 5

  tcp_health_check {
    port = 8444
  }
}

resource "google_compute_region_backend_service" "enrol" {
  name                  = "${var.name}-enrol"
  project               = var.project
  region                = local.region
  protocol              = "TCP"
  load_balancing_scheme = "EXTERNAL"
  health_checks         = [google_compute_region_health_check.enrol.id]

  backend {
    group          = google_compute_region_instance_group_manager.machine["api"].instance_group
    balancing_mode = "CONNECTION"
  }
}

resource "google_compute_forwarding_rule" "enrol" {
  name                  = "${var.name}-enrol"
  project               = var.project
  region                = local.region
  load_balancing_scheme = "EXTERNAL"
  ip_protocol           = "TCP"
  ip_address            = google_compute_address.enrol.address
  port_range            = "8444"
  backend_service       = google_compute_region_backend_service.enrol.id
  labels                = local.labels
}
