"""Which operations of the API console, command line, Terraform and audit log know: found in their code."""
