# Two service accounts: both read their own secrets and image; only workers speak to clouds.
locals {
  parts    = toset(["api", "worker"])
  accounts = { for part in local.parts : part => "serviceAccount:${google_service_account.machine[part].email}" }
  secrets  = { for each in setproduct(local.parts, keys(var.secrets)) : "${each[0]} ${each[1]}" => { part = each[0], secret = var.secrets[each[1]] } }
  keys     = { for each in setproduct(local.parts, var.kms_keys) : "${each[0]} ${each[1]}" => { part = each[0], key = each[1] } }
  # Of an image in Artifact Registry: location, project and repository.
  registry = try(regex("^([a-z0-9-]+)-docker[.]pkg[.]dev/([^/]+)/([^/]+)/", var.image), null)
  role     = yamldecode(file("${path.module}/../../../gcp/role.yaml"))
}

resource "google_service_account" "machine" {
  for_each     = local.parts
  account_id   = "${var.name}-${each.key}"
  project      = var.project
  display_name = "Ringmaster: ${each.key}"
}

# What the provider `gcp` calls: docs/gcp.md. The same list that a brought project takes.
resource "google_project_iam_custom_role" "clouds" {
  role_id     = replace("${var.name}_clouds", "-", "_")
  project     = var.project
  title       = local.role.title
  description = local.role.description
  stage       = local.role.stage
  permissions = local.role.includedPermissions
}

resource "google_project_iam_member" "clouds" {
  project = var.project
  role    = google_project_iam_custom_role.clouds.id
  member  = local.accounts["worker"]
}

resource "google_project_iam_member" "logs" {
  for_each = local.parts
  project  = var.project
  role     = "roles/logging.logWriter"
  member   = local.accounts[each.key]
}

resource "google_secret_manager_secret_iam_member" "machine" {
  for_each  = local.secrets
  secret_id = each.value.secret
  role      = "roles/secretmanager.secretAccessor"
  member    = local.accounts[each.value.part]
}

resource "google_kms_crypto_key_iam_member" "machine" {
  for_each      = local.keys
  crypto_key_id = each.value.key
  role          = "roles/cloudkms.cryptoKeyDecrypter"
  member        = local.accounts[each.value.part]
}

resource "google_artifact_registry_repository_iam_member" "machine" {
  for_each   = local.registry == null ? toset([]) : local.parts
  project    = local.registry[1]
  location   = local.registry[0]
  repository = local.registry[2]
  role       = "roles/artifactregistry.reader"
  member     = local.accounts[each.key]
}
