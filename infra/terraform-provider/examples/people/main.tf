terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}

resource "ringmaster_role" "testers" {
  name        = "testers"
  description = "Who tests, on clusters for tests"
  permissions = ["clusters:read", "operations:write"]
  tags        = { env = ["dev", "test"] }
}

resource "ringmaster_member" "tess" {
  email          = "tess@example.org"
  role           = "custom"
  custom_role_id = ringmaster_role.testers.id
}

resource "ringmaster_service_account" "pipeline" {
  name    = "pipeline"
  contact = "ops@example.org"
  role    = "operator"
}

output "invitation" {
  value     = ringmaster_member.tess.invitation_url
  sensitive = true
}

data "ringmaster_identity_providers" "all" {}

# People of a group at the identity provider, where the installation has one.
resource "ringmaster_group_role" "testers" {
  for_each             = { for each in data.ringmaster_identity_providers.all.identity_providers : each.name => each.id }
  identity_provider_id = each.value
  group                = "testers"
  role                 = "custom"
  custom_role_id       = ringmaster_role.testers.id
}
