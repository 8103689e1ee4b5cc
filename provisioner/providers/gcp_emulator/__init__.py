"""A stand-in for the Compute Engine API (and for testIamPermissions), for tests, benchmarks and trials.

Not a product part: nothing outside of tests and e2e imports it. It speaks HTTP on loopback, so the official client is
what talks to it, and it reads every body with that client's own message types: a wrong field is an error 400. What it
does and does not imitate: docs/gcp.md.
"""
