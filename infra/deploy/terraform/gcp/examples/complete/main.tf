# Everything that has no default. README.md says how the secrets are made. In a configuration of your own the source is
# git::https://…/ringmaster.git//infra/deploy/terraform/gcp?ref=v0.1.0: modules take files of the repository.
terraform {
  required_version = ">= 1.5"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0"
    }
  }
}

provider "google" {
  project = "example"
}

module "ringmaster" {
  source = "../.."

  project       = "example"
  zones         = ["europe-west1-b", "europe-west1-c"]
  console_host  = "ringmaster.example.org"
  enrol_host    = "enrol.example.org"
  certificate   = var.certificate
  console_from  = ["192.0.2.0/24"]
  enrol_from    = ["0.0.0.0/0"]
  image         = "europe-west1-docker.pkg.dev/example/ringmaster/control-plane:0.1.0"
  machine_image = var.machine_image

  secrets = {
    "master.key"        = "projects/example/secrets/ringmaster-master-key"
    "django.key"        = "projects/example/secrets/ringmaster-django-key"
    "metrics.token"     = "projects/example/secrets/ringmaster-metrics-token"
    "alerts.token"      = "projects/example/secrets/ringmaster-alerts-token"
    "database.password" = "projects/example/secrets/ringmaster-database-password"
  }
  kms_keys = ["projects/example/locations/europe-west1/keyRings/ringmaster/cryptoKeys/master"]

  environment = {
    RINGMASTER_GCP_PUBLIC_ADDRESSES = "true"
  }
  labels = { team = "databases" }
}

variable "certificate" {
  description = "Name of the certificate for console_host."
  type        = string
}

variable "machine_image" {
  description = "Debian 12."
  type        = string
}

output "ringmaster" {
  value = module.ringmaster
}
