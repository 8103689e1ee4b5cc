variable "name" {
  description = "Names everything that is made, and is its tag `ringmaster`."
  type        = string
  default     = "ringmaster"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "A name has 3 to 20 small letters, digits and hyphens, and begins with a letter."
  }
}

variable "zones" {
  description = "Two or three availability zones of the provider's region, for example [\"eu-west-1a\", \"eu-west-1b\"]. Fixed."
  type        = list(string)

  validation {
    condition     = length(var.zones) >= 2 && length(var.zones) <= 3 && length(distinct(var.zones)) == length(var.zones)
    error_message = "Give two or three different zones."
  }
}

variable "network" {
  description = "The control plane's own addresses: a /20. Outside of what clusters get (RINGMASTER_AWS_NETWORKS), so that the two can be peered. Fixed."
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
  description = "ARN of the certificate for `console_host`, in ACM."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:(acm|iam):", var.certificate))
    error_message = "Give the ARN of a certificate in ACM."
  }
}

variable "console_from" {
  description = "CIDR blocks that may reach console and API. [\"0.0.0.0/0\"] is the world: say so if you mean it."
  type        = list(string)

  validation {
    condition     = length(var.console_from) > 0 && alltrue([for each in var.console_from : can(cidrhost(each, 0))])
    error_message = "Give one CIDR block or more."
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
  description = "The control plane's image where the machines pull it, best by digest: 1.dkr.ecr.eu-west-1.amazonaws.com/ringmaster@sha256:…. Another one rolls the machines."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-zA-Z0-9.:-]*/[a-zA-Z0-9./_-]+(:[a-zA-Z0-9._-]+|@sha256:[0-9a-f]{64})$", var.image))
    error_message = "Give registry/name:tag or registry/name@sha256:digest."
  }
}

variable "machine_image" {
  description = "AMI of Debian 12 that the machines boot from. Another one rolls the machines."
  type        = string

  validation {
    condition     = startswith(var.machine_image, "ami-")
    error_message = "Give the id of an AMI: README.md says how it is found."
  }
}

variable "api_type" {
  description = "Instance type of the machines with API and enrolment, of the AMI's architecture."
  type        = string
  default     = "t3.medium"
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
  description = "Instance type of the machines with a worker and beat, of the AMI's architecture."
  type        = string
  default     = "t3.medium"
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
  description = "ARNs of secrets in Secrets Manager that you made, by file name: master.key, django.key, metrics.token and alerts.token, and any others that `environment` names as /var/lib/ringmaster/secrets/NAME. Their text never passes through Terraform."
  type        = map(string)

  validation {
    condition     = length(setsubtract(["master.key", "django.key", "metrics.token", "alerts.token"], keys(var.secrets))) == 0
    error_message = "There must be master.key, django.key, metrics.token and alerts.token."
  }
  validation {
    condition     = alltrue([for name, arn in var.secrets : can(regex("^[a-z0-9][a-z0-9.-]*$", name)) && name != "pgpass"])
    error_message = "A secret's name is that of a file: small letters, digits, dots and hyphens; pgpass is taken."
  }
  validation {
    condition     = alltrue([for arn in values(var.secrets) : can(regex("^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+$", arn))])
    error_message = "Each must be the ARN of a secret, never the secret itself: Terraform keeps what it is given."
  }
}

variable "kms_keys" {
  description = "ARNs of KMS keys that the machines may decrypt with: the one that closes master.key (docs/security.md), and those of your secrets if you gave them any."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for each in var.kms_keys : can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/", each))])
    error_message = "Give ARNs of keys: arn:aws:kms:REGION:ACCOUNT:key/ID."
  }
}

variable "environment" {
  description = "Further variables of backend/config/environment.py, for example RINGMASTER_AWS_REGIONS. Not for secrets: Terraform's state and the machines' metadata have them."
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
  description = "Instance class of Postgres."
  type        = string
  default     = "db.t4g.medium"
}

variable "database_gib" {
  description = "Its disk, in GiB. It grows by itself to four times that."
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
  default     = 14

  validation {
    condition     = var.database_backup_days >= 1 && var.database_backup_days <= 35
    error_message = "From 1 to 35."
  }
}

variable "redis_type" {
  description = "Node type of Redis."
  type        = string
  default     = "cache.t4g.micro"
}

variable "deletion_protection" {
  description = "AWS refuses to delete database and balancers. Terraform refuses to delete the database whatever this is."
  type        = bool
  default     = true
}

variable "log_days" {
  description = "For how many days CloudWatch keeps the processes' logs."
  type        = number
  default     = 30
}

variable "tags" {
  description = "Tags of everything that is made, beside `ringmaster`."
  type        = map(string)
  default     = {}
}
