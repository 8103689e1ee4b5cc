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
