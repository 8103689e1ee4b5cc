output "user_data" {
  description = "A #cloud-config document. No secret is in it, but providers call some certificates of authorities that."
  sensitive   = true
  value       = "#cloud-config\n${yamlencode(local.document)}"
}
