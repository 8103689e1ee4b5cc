"""What is generated for programs and people from backend/openapi.json: the Python client and the command line."""
