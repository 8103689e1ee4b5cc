variable "name" {
  description = "Names everything that is made, and is its label `ringmaster`."
  type        = string
  default     = "ringmaster"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "A name has 3 to 20 small letters, digits and hyphens, and begins with a letter."
  }
}

variable "project" {
  description = "The project that everything is made in, and clusters unless RINGMASTER_GCP_PROJECT says another."
  type        = string
}

variable "zones" {
  description = "Two or three zones of one region, for example [\"europe-west1-b\", \"europe-west1-c\"]. Fixed."
  type        = list(string)

  validation {
    condition     = length(var.zones) >= 2 && length(var.zones) <= 3 && length(distinct(var.zones)) == length(var.zones)
    error_message = "Give two or three different zones."
  }
}

variable "network" {
  description = "The control plane's own addresses: a /20. Outside of what clusters get (the provider `gcp` takes theirs from 10.0.0.0/8), so that the two can be peered. Fixed."
  type        = string
  default     = "172.20.0.0/20"

  validation {
    condition     = can(cidrhost(var.network, 0)) && endswith(var.network, "/20")
    error_message = "Give a CIDR block of /20."
  }
}

variable "console_host" {
  description = "Name under which people open the console and programs the API. You point it at the output `console_target`."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]*[.][a-z]+$", var.console_host))
    error_message = "Give a host's name, without https:// and port."
  }
}

variable "enrol_host" {
  description = "Name under which new machines enrol, on port 8444. You point it at the output `enrol_target`."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]*[.][a-z]+$", var.enrol_host))
    error_message = "Give a host's name, without https:// and port."
  }
}

variable "certificate" {
  description = "Name of the global SSL certificate for `console_host`: projects/P/global/sslCertificates/N."
  type        = string

  validation {
    condition     = can(regex("^projects/[^/]+/global/sslCertificates/[^/]+$", var.certificate))
    error_message = "Give projects/P/global/sslCertificates/N."
  }
}

variable "console_from" {
  description = "CIDR blocks that may reach console and API. [\"0.0.0.0/0\"] is the world: say so if you mean it."
  type        = list(string)

  validation {
    condition     = length(var.console_from) > 0 && length(var.console_from) <= 10 && alltrue([for each in var.console_from : can(cidrhost(each, 0))])
    error_message = "Give one to ten CIDR blocks: a rule of Cloud Armor takes no more."
  }
}

variable "enrol_from" {
  description = "CIDR blocks that new machines come from. With public addresses that is anywhere: [\"0.0.0.0/0\"]; a machine needs a one-time token there."
  type        = list(string)

  validation {
    condition     = length(var.enrol_from) > 0 && alltrue([for each in var.enrol_from : can(cidrhost(each, 0))])
    error_message = "Give one CIDR block or more."
  }
}

variable "image" {
  description = "The control plane's image where the machines pull it, best by digest: europe-west1-docker.pkg.dev/P/ringmaster/control-plane@sha256:…. Another one rolls the machines."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-zA-Z0-9.:-]*/[a-zA-Z0-9./_-]+(:[a-zA-Z0-9._-]+|@sha256:[0-9a-f]{64})$", var.image))
    error_message = "Give registry/name:tag or registry/name@sha256:digest."
  }
}

variable "machine_image" {
  description = "Debian 12 that the machines boot from: projects/debian-cloud/global/images/debian-12-bookworm-v…. Another one rolls the machines."
  type        = string

  validation {
    condition     = can(regex("^projects/[^/]+/global/images/[^/]+$", var.machine_image))
    error_message = "Give the name of an image, not of a family: README.md says how it is found."
  }
}

variable "api_type" {
  description = "Machine type of the machines with API and enrolment, of the image's architecture."
  type        = string
  default     = "e2-medium"
}

variable "api_count" {
  description = "How many of them."
  type        = number
  default     = 2

  validation {
    condition     = var.api_count >= 1 && var.api_count <= 50 && floor(var.api_count) == var.api_count
    error_message = "From 1 to 50."
  }
}

variable "worker_type" {
  description = "Machine type of the machines with a worker and beat, of the image's architecture."
  type        = string
  default     = "e2-medium"
}

variable "worker_count" {
  description = "How many of them. Of several beats one rings."
  type        = number
  default     = 2

  validation {
    condition     = var.worker_count >= 1 && var.worker_count <= 50 && floor(var.worker_count) == var.worker_count
    error_message = "From 1 to 50."
  }
}

variable "secrets" {
  description = "Names of secrets in Secret Manager that you made, by file name: master.key, django.key, metrics.token, alerts.token and database.password, and any others that `environment` names as /var/lib/ringmaster/secrets/NAME. Their text never passes through Terraform."
  type        = map(string)

  validation {
    condition     = length(setsubtract(["master.key", "django.key", "metrics.token", "alerts.token", "database.password"], keys(var.secrets))) == 0
    error_message = "There must be master.key, django.key, metrics.token, alerts.token and database.password."
  }
  validation {
    condition     = alltrue([for name, secret in var.secrets : can(regex("^[a-z0-9][a-z0-9.-]*$", name)) && name != "pgpass"])
    error_message = "A secret's name is that of a file: small letters, digits, dots and hyphens; pgpass is taken."
  }
  validation {
    condition     = alltrue([for secret in values(var.secrets) : can(regex("^projects/[a-z0-9-]+/secrets/[A-Za-z0-9_-]+$", secret))])
    error_message = "Each must be projects/P/secrets/N, never the secret itself: Terraform keeps what it is given."
  }
}

variable "kms_keys" {
  description = "Names of keys in Cloud KMS that the machines may decrypt with: the one that closes master.key (docs/security.md)."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for each in var.kms_keys : can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", each))])
    error_message = "Give names of keys: projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
}

variable "environment" {
  description = "Further variables of backend/config/environment.py, for example RINGMASTER_GCP_PUBLIC_ADDRESSES. Not for secrets: Terraform's state and the machines' metadata have them."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name, value in var.environment : can(regex("^[A-Z][A-Z0-9_]*$", name)) && !can(regex("[\\n\\r]", value))])
    error_message = "Names are of capitals, digits and underscores; values have one line."
  }
  validation {
    condition     = length(setintersection(keys(var.environment), ["DATABASE_URL", "REDIS_URL", "RINGMASTER_METRICS_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "DEBUG"])) == 0
    error_message = "DATABASE_URL and REDIS_URL are the module's. RINGMASTER_METRICS_TOKEN and OTEL_EXPORTER_OTLP_HEADERS are secrets, DEBUG is not for here."
  }
}

variable "database_type" {
  description = "Tier of Postgres."
  type        = string
  default     = "db-custom-2-7680"
}

variable "database_gib" {
  description = "Its disk, in GiB. It grows by itself."
  type        = number
  default     = 50

  validation {
    condition     = var.database_gib >= 20 && var.database_gib <= 4096
    error_message = "From 20 to 4096."
  }
}

variable "database_backup_days" {
  description = "For how many days the database can be brought back to any moment."
  type        = number
  default     = 7

  validation {
    condition     = var.database_backup_days >= 1 && var.database_backup_days <= 7
    error_message = "From 1 to 7, which is what Cloud SQL keeps logs for."
  }
}

variable "redis_gib" {
  description = "Memory of Redis, in GiB."
  type        = number
  default     = 1
}

variable "deletion_protection" {
  description = "Google Cloud refuses to delete the database. Terraform refuses to delete it whatever this is."
  type        = bool
  default     = true
}

variable "labels" {
  description = "Labels of everything that takes some, beside `ringmaster`."
  type        = map(string)
  default     = {}
}
