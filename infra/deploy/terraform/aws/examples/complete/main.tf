# Everything that has no default, and clusters in one region of AWS. In a configuration of your own the source is
# git::https://…/ringmaster.git//infra/deploy/terraform/aws?ref=v0.1.0: modules take files of the repository. README.md says how the secrets are made.
terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.50"
    }
  }
}

provider "aws" {
  region = "eu-west-1"
}

module "ringmaster" {
  source = "../.."

  zones         = ["eu-west-1a", "eu-west-1b"]
  console_host  = "ringmaster.example.org"
  enrol_host    = "enrol.example.org"
  certificate   = var.certificate
  console_from  = ["192.0.2.0/24"]
  enrol_from    = ["0.0.0.0/0"]
  image         = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/ringmaster:0.1.0"
  machine_image = var.machine_image

  secrets = {
    "master.key"    = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:ringmaster/master.key-AbCdEf"
    "django.key"    = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:ringmaster/django.key-AbCdEf"
    "metrics.token" = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:ringmaster/metrics.token-AbCdEf"
    "alerts.token"  = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:ringmaster/alerts.token-AbCdEf"
  }
  kms_keys = ["arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"]

  environment = {
    RINGMASTER_AWS_REGIONS          = "eu-west-1"
    RINGMASTER_AWS_PUBLIC_ADDRESSES = "true"
  }
  tags = { team = "databases" }
}

variable "certificate" {
  description = "ARN of the certificate for console_host."
  type        = string
}

variable "machine_image" {
  description = "Debian 12 in this region."
  type        = string
}

output "ringmaster" {
  value = module.ringmaster
}
