output "console_url" {
  description = "Where people open the console."
  value       = "https://${var.console_host}"
}

output "console_target" {
  description = "What the name `console_host` points at (A)."
  value       = google_compute_global_address.console.address
}

output "enrol_url" {
  description = "Where new machines ask for their certificates."
  value       = "https://${var.enrol_host}:8444/enrol/v1"
}

output "enrol_target" {
  description = "What the name `enrol_host` points at (A)."
  value       = google_compute_address.enrol.address
}

output "egress" {
  description = "CIDR blocks that calls to agents come from. The machines have them as RINGMASTER_AWS_AGENTS_FROM and RINGMASTER_GCP_AGENTS_FROM."
  value       = split(",", local.agents_from)
}

output "groups" {
  description = "Names of the two groups of machines."
  value       = { for part, group in google_compute_region_instance_group_manager.machine : part => group.name }
}

output "identities" {
  description = "E-mails of the machines' service accounts. Give `worker` what else your installation needs, for example the bucket of backups."
  value       = { for part, account in google_service_account.machine : part => account.email }
}

output "network" {
  description = "Id of the VPC network."
  value       = google_compute_network.this.id
}

output "logs" {
  description = "Name of the log."
  value       = "projects/${var.project}/logs/gcplogs-docker-driver"
}
