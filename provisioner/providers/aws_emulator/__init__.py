"""EC2 on loopback, for tests, benchmarks and end-to-end runs: moto, and what it lacks. No product code imports this."""
