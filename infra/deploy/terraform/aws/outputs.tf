output "console_url" {
  description = "Where people open the console."
  value       = "https://${var.console_host}"
}

output "console_target" {
  description = "What the name `console_host` points at (CNAME or alias)."
  value       = aws_lb.console.dns_name
}

output "enrol_url" {
  description = "Where new machines ask for their certificates."
  value       = "https://${var.enrol_host}:8444/enrol/v1"
}

output "enrol_target" {
  description = "What the name `enrol_host` points at (CNAME or alias)."
  value       = aws_lb.enrol.dns_name
}

output "egress" {
  description = "CIDR blocks that calls to agents come from. The machines have them as RINGMASTER_AWS_AGENTS_FROM and RINGMASTER_GCP_AGENTS_FROM."
  value       = split(",", local.agents_from)
}

output "groups" {
  description = "Names of the two groups of machines."
  value       = { for part, group in aws_autoscaling_group.machine : part => group.name }
}

output "identities" {
  description = "ARNs of the machines' roles. Attach to `worker` what else your installation needs, for example the bucket of backups."
  value       = { for part, role in aws_iam_role.machine : part => role.arn }
}

output "network" {
  description = "Id of the VPC."
  value       = aws_vpc.this.id
}

output "logs" {
  description = "Name of the group of logs."
  value       = aws_cloudwatch_log_group.this.name
}
