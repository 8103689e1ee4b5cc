"""The command line: built from commands.json, which `make generate` makes from backend/openapi.json."""
